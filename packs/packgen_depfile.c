/* Depfiles as compilers write them for make: "target: a b \
 *  c", blanks in names escaped by a backslash. */
#include "packs/packgen.h"

#include "core/file.h"

#include <string.h>

static enum wf_status add_name(const char *root,
                               struct wf_buf *name,
                               struct wf_buf *deps,
                               struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (name->len == 0) {
        return WF_OK;
    }
    if (name->data[0] != '/') {
        st = wf_buf_printf(deps, err, "%s/", root);
    }
    st = st != WF_OK ? st : wf_buf_add(deps, name->data, name->len, err);
    st = st != WF_OK ? st : wf_buf_puts(deps, "\n", err);
    wf_buf_clear(name);
    return st;
}

/* Past the target: the first colon that a blank follows. */
static const char *skip_target(const char *p)
{
    while (*p != '\0' && !(p[0] == ':' && strchr(" \t\n\\", p[1]) != NULL)) {
        p++;
    }
    return *p == ':' ? p + 1 : p;
}

static enum wf_status split(const char *p,
                            const char *root,
                            struct wf_buf *name,
                            struct wf_buf *deps,
                            struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (; st == WF_OK && *p != '\0'; p++) {
        if (p[0] == '\\' && p[1] == '\n') {
            p++;
            st = add_name(root, name, deps, err);
        } else if (p[0] == '\\' && p[1] == ' ') {
            p++;
            st = wf_buf_add(name, p, 1, err);
        } else if (strchr(" \t\n", *p) != NULL) {
            st = add_name(root, name, deps, err);
        } else {
            st = wf_buf_add(name, p, 1, err);
        }
    }
    return st != WF_OK ? st : add_name(root, name, deps, err);
}

enum wf_status packgen_parse_depfile(const char *path,
                                     const char *root,
                                     struct wf_buf *deps,
                                     struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT, name = WF_BUF_INIT;
    enum wf_status st = wf_file_read(path, 16u << 20, &text, err);
    if (st == WF_OK) {
        st = split(skip_target(wf_buf_cstr(&text)), root, &name, deps, err);
    }
    wf_buf_free(&name);
    wf_buf_free(&text);
    return st;
}
