/* PTX text: its `.target` and its `.entry` directives. */
#include "packs/code_internal.h"
#include "packs/ptx_words.h"

#include <string.h>

/* Strings say nothing here. */
static struct ptx_word next_word(struct ptx_words *s)
{
    struct ptx_word w = ptx_next(s);
    while (w.n > 0 && w.s[0] == '"') {
        w = ptx_next(s);
    }
    return w;
}

static enum wf_status not_code(const struct wf_code_object *c, struct wf_error *err)
{
    return wf_errorf(err, WF_EPARSE, "%s: neither an ELF code object nor PTX text",
                     c->source);
}

static enum wf_status take_target(struct wf_code_object *c,
                                  struct ptx_words *s,
                                  struct wf_error *err)
{
    struct ptx_word w = next_word(s);
    if (w.n >= sizeof c->arch || w.n < 4 || !ptx_starts_with(w, "sm_")) {
        return not_code(c, err);
    }
    memcpy(c->arch, w.s, w.n);
    c->arch[w.n] = '\0';
    return WF_OK;
}

enum wf_status code_read_ptx(struct wf_code_object *c,
                             const void *data,
                             size_t bytes,
                             struct wf_error *err)
{
    struct ptx_words s = { .p = data, .end = (const char *)data + bytes };
    enum wf_status st = WF_OK;
    c->kind = WF_CODE_PTX;
    if (!ptx_is(next_word(&s), ".version")) {
        return not_code(c, err);
    }
    for (struct ptx_word w = next_word(&s); st == WF_OK && w.n > 0; w = next_word(&s)) {
        if (ptx_is(w, ".target")) {
            st = take_target(c, &s, err);
        } else if (ptx_is(w, ".entry")) {
            w = next_word(&s);
            st = ptx_is_name(w) ? code_add_kernel(c, w.s, w.n, err) : not_code(c, err);
        }
    }
    return st == WF_OK && c->arch[0] == '\0' ? not_code(c, err) : st;
}
