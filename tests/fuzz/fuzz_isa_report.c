/* Fuzzes static reports. An input that starts with 'A' is a file (bundle, ELF), the
 * header of a gfx942 object written over its first bytes; any other one is code: flow,
 * loops, hot loops, figures and JSON of a kernel that starts at its first word. */
#include "emulator/exec/code.h"
#include "isa/kernel.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(const uint8_t *data, size_t size)
{
    struct wf_isa_report *r = NULL;
    struct wf_json *json = NULL;
    struct wf_error err = { .text = "" };
    const struct wf_isa_options o = { .hot_loops = 8 };
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, data, size);
    if (size >= 64 && copy[0] == 'A') {
        memcpy(copy, "\177ELF\2\1\1\100\3", 9);
        memcpy(copy + 16, "\3\0\340\0", 4);
        copy[48] = 0x4c;
        copy[49] = 5;
    }
    if (wf_isa_report_parse(copy, size, "fuzz", &o, &r, &err) == WF_OK) {
        if (wf_isa_report_json(r, &json, &err) != WF_OK) {
            abort();
        }
    } else if (err.text[0] == '\0') {
        abort();
    }
    wf_json_free(json);
    wf_isa_report_free(r);
    free(copy);
}

/* Instructions of a loop, by block. */
static void use_loop(const struct isa_flow *f, const struct isa_loop *l)
{
    const struct em_op *body[MAX_WORDS];
    const struct em_op *steady[MAX_WORDS];
    struct isa_tallies t = { NULL, 0 };
    struct isa_mca m = { .asked = true };
    struct wf_buf text = WF_BUF_INIT;
    uint32_t skipped = 0;
    size_t n = 0;
    for (size_t i = 0; i < l->block_count; i++) {
        const struct em_op *op;
        uint32_t at = f->block[l->block[i]].first;
        while ((op = isa_flow_next(f, &f->block[l->block[i]], &at)) != NULL) {
            if (n == MAX_WORDS) {
                abort(); /* an instruction is in one block */
            }
            body[n++] = op;
        }
    }
    size_t kept = isa_hot_steady(body, n, steady, &skipped);
    if (kept + skipped != n || isa_tallies_make(steady, kept, &t, NULL) != WF_OK ||
        isa_mca_text(steady, kept, ISA_MCA_TRANS, &text, &m, NULL) != WF_OK) {
        abort();
    }
    free(t.item);
    wf_buf_free(&text);
}

static void code(const uint8_t *data, size_t size)
{
    uint32_t words[MAX_WORDS];
    size_t count = size / 4 < MAX_WORDS ? size / 4 : MAX_WORDS;
    struct em_code *c = NULL;
    struct isa_marks *marks = NULL;
    struct isa_flow flow;
    struct isa_loops loops;
    memcpy(words, data, 4 * count);
    if (count == 0 || em_code_create(words, count, 0, &c, NULL) != WF_OK) {
        return;
    }
    if (isa_marks_create(c, &marks, NULL) == WF_OK) {
        if (isa_flow_build(marks, 0, (uint32_t)count, &flow, NULL) == WF_OK) {
            if (isa_loops_find(&flow, &loops, NULL) == WF_OK) {
                for (size_t i = 0; i < loops.count && i < 16; i++) {
                    use_loop(&flow, &loops.loop[i]);
                }
                isa_loops_fini(&loops);
            }
            isa_flow_fini(&flow);
        }
        isa_marks_free(marks);
    }
    em_code_destroy(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && (data[0] == 'A' || data[0] == 0x7f || data[0] == '_')) {
        report(data, size);
    } else {
        code(data, size);
    }
    return 0;
}
