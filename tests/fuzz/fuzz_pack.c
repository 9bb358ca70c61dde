/* Fuzzes pack.json: what reads as a pack is also planned, described, and read again. */
#include "packs/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    (void)ctx;
    (void)err;
    if (strcmp(name, "M") != 0 && strcmp(name, "N") != 0 && strcmp(name, "K") != 0) {
        return WF_ENOTFOUND;
    }
    *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = 64 };
    return WF_OK;
}

static const struct wf_plan_tensor tensors[] = { { "A", WF_F16, 8192 },
                                                 { "B", WF_F16, 8192 },
                                                 { "C", WF_F16, 0 },
                                                 { "I", WF_I32, 260 } };

/* Relocations lie inside the blob, targets exist. */
static void check_launch(const struct wf_plan *plan, const struct wf_plan_launch *l)
{
    for (size_t i = 0; i < l->reloc_count; i++) {
        size_t count = l->reloc[i].is_buffer ? plan->buffer_count : 4;
        if (l->reloc[i].offset + 8 > l->args_bytes || l->reloc[i].index >= count) {
            abort();
        }
    }
    for (size_t i = 0; i < l->pointers_count; i++) {
        if (l->pointers[i].offset + 8 > l->args_bytes) {
            abort();
        }
    }
    for (size_t i = 0; i < l->map_count; i++) {
        if (l->map[i].offset + 128 > l->args_bytes) {
            abort();
        }
    }
}

static void plan_kernel(const struct wf_pack_kernel *k)
{
    const struct wf_scope scope = { .find = find };
    struct wf_plan *plan = NULL;
    if (wf_plan_create(k, tensors, 4, k->arch[0], &scope, &plan, NULL) != WF_OK) {
        return;
    }
    for (size_t i = 0; i < plan->launch_count; i++) {
        check_launch(plan, &plan->launch[i]);
    }
    wf_plan_free(plan);
}

static void read_again(const struct wf_pack *pack)
{
    struct wf_json *json = NULL;
    struct wf_pack *again = NULL;
    const char *text = wf_pack_canonical(pack);
    if (wf_json_parse(text, strlen(text), "again", &json, NULL) != WF_OK ||
        wf_pack_parse(json, "again", &again, NULL) != WF_OK ||
        strcmp(wf_pack_id(again), wf_pack_id(pack)) != 0) {
        abort();
    }
    wf_pack_free(again);
    wf_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_json *json = NULL;
    struct wf_pack *pack = NULL;
    struct wf_error err = { .text = "" };
    if (wf_json_parse((const char *)data, size, "fuzz", &json, NULL) != WF_OK) {
        return 0;
    }
    enum wf_status st = wf_pack_parse(json, "fuzz", &pack, &err);
    wf_json_free(json);
    if (st != WF_OK) {
        if (strncmp(err.text, "fuzz: ", 6) != 0) {
            abort();
        }
        return 0;
    }
    for (size_t i = 0; i < wf_pack_kernel_count(pack); i++) {
        plan_kernel(wf_pack_kernel_at(pack, i));
    }
    read_again(pack);
    wf_pack_free(pack);
    return 0;
}
