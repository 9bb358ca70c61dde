/* Launches of a kernel in pack.json; their arguments are pack_arg.c. */
#include "packs/pack_read.h"

#include <string.h>

static const char *const launch_keys[] = { "symbol",      "code",    "grid",
                                           "block",       "cluster", "shared_bytes",
                                           "cooperative", "when",    "args",
                                           NULL };

static enum wf_status read_extent(struct pack_reader *r,
                                  const struct wf_json *json,
                                  const char *key,
                                  size_t least,
                                  struct wf_expr *ret[3])
{
    const struct wf_json *array = NULL;
    enum wf_status st = pack_opt_array(r, json, key, least, 3, &array);
    if (st != WF_OK || array == NULL) {
        return st;
    }
    if (wf_json_count(array) == 0) {
        return pack_fail(r, "%s is empty", key);
    }
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ".%s[%zu]", key, i);
        st = pack_expr(r, v, &ret[i]);
        pack_where_pop(r, mark);
    }
    return st;
}

static enum wf_status find_code(struct pack_reader *r,
                                const struct wf_pack_kernel *k,
                                struct wf_pack_launch *l)
{
    if (l->code == NULL) {
        if (k->code_count != 1) {
            return pack_fail(r, "'code' is missing: the kernel has %zu code objects",
                             k->code_count);
        }
        l->code = k->code[0].label;
        return WF_OK;
    }
    for (size_t i = 0; i < k->code_count; i++) {
        if (strcmp(k->code[i].label, l->code) == 0) {
            return WF_OK;
        }
    }
    return pack_fail(r, "code '%.80s' is not a label in the kernel's 'code'", l->code);
}

static enum wf_status read_entry(struct pack_reader *r,
                                 const struct wf_json *json,
                                 struct wf_pack_launch *l)
{
    enum wf_status st = pack_get_string(r, json, "symbol", &l->symbol);
    if (st == WF_OK && (l->symbol[0] == '\0' || strlen(l->symbol) > 1024)) {
        st = pack_fail(r, "symbol is empty or longer than 1024 characters");
    }
    st = st != WF_OK ? st : pack_opt_string(r, json, "code", &l->code);
    if (st == WF_OK) {
        st = pack_prefix(
            r, wf_json_opt_bool(json, "cooperative", &l->cooperative, r->err));
    }
    return st;
}

static enum wf_status read_sizes(struct pack_reader *r,
                                 const struct wf_json *json,
                                 struct wf_pack_launch *l)
{
    enum wf_status st = read_extent(r, json, "grid", 1, l->grid);
    st = st != WF_OK ? st : read_extent(r, json, "block", 1, l->block);
    st = st != WF_OK ? st : read_extent(r, json, "cluster", 0, l->cluster);
    st = st != WF_OK ? st : pack_opt_expr(r, json, "shared_bytes", &l->shared_bytes);
    return st != WF_OK ? st : pack_opt_expr(r, json, "when", &l->when);
}

static enum wf_status read_launch(struct pack_reader *r,
                                  const struct wf_json *json,
                                  const struct wf_pack_kernel *k,
                                  struct wf_pack_launch *l)
{
    const struct wf_json *args = NULL;
    enum wf_status st = pack_only_keys(r, json, launch_keys);
    st = st != WF_OK ? st : read_entry(r, json, l);
    st = st != WF_OK ? st : find_code(r, k, l);
    st = st != WF_OK ? st : read_sizes(r, json, l);
    st = st != WF_OK ? st : pack_opt_array(r, json, "args", 0, PACK_MAX_ARGS, &args);
    if (st != WF_OK || args == NULL) {
        return st;
    }
    return pack_read_args(r, args, l);
}

enum wf_status pack_read_launches(struct pack_reader *r,
                                  const struct wf_json *json,
                                  struct wf_pack_kernel *k)
{
    const struct wf_json *array = NULL;
    enum wf_status st =
        pack_opt_array(r, json, "launches", 1, PACK_MAX_LAUNCHES, &array);
    if (st != WF_OK) {
        return st;
    }
    k->launch_count = wf_json_count(array);
    k->launch = pack_alloc(r, k->launch_count, sizeof *k->launch, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ": launches[%zu]", i);
        st = read_launch(r, v, k, &k->launch[i]);
        pack_where_pop(r, mark);
    }
    return st;
}
