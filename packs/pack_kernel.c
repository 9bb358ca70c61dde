/* A kernel of pack.json: its own members and its buffers. Launches are pack_launch.c.
 *
 * A member that another kind of kernel has is refused, so a library with launches or a
 * code object with a command is an error, not something silently left out. */
#include "packs/pack_read.h"

#include "core/file.h"
#include "packs/names.h"
#include "packs/transform.h"

#include <string.h>

#define COMMON_KEYS                                                                \
    "name", "op", "summary", "kind", "arch", "knobs", "supports", "deterministic", \
        "split", "accumulate", "source"

static const char *const code_object_keys[] = { COMMON_KEYS, "code", "buffers",
                                                "launches", NULL };
static const char *const library_keys[] = { COMMON_KEYS, "library", NULL };
static const char *const process_keys[] = { COMMON_KEYS, "command", NULL };

static const struct {
    const char *text;
    enum wf_kernel_kind kind;
    const char *const *keys;
} kinds[] = {
    { "code-object", WF_KERNEL_CODE_OBJECT, code_object_keys },
    { "library", WF_KERNEL_LIBRARY, library_keys },
    { "process", WF_KERNEL_PROCESS, process_keys },
};

static enum wf_status read_kind(struct pack_reader *r,
                                const struct wf_json *json,
                                struct wf_pack_kernel *k)
{
    const char *text = NULL;
    enum wf_status st = pack_get_string(r, json, "kind", &text);
    if (st != WF_OK) {
        return st;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(text, kinds[i].text) == 0) {
            k->kind = kinds[i].kind;
            return pack_only_keys(r, json, kinds[i].keys);
        }
    }
    return pack_fail(r, "kind '%.60s' is not code-object, library or process", text);
}

static bool is_arch(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n <= 32 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static enum wf_status read_arch_item(struct pack_reader *r,
                                     const struct wf_json *v,
                                     const char **ret)
{
    const char *s = wf_json_string(v);
    if (s == NULL || !is_arch(s)) {
        return pack_fail(r,
                         "'%.60s' is not an architecture such as \"gfx942\" or "
                         "\"sm_90\" (features are not written)",
                         s == NULL ? wf_json_type_name(wf_json_type(v)) : s);
    }
    return pack_copy(r, s, ret);
}

static enum wf_status read_archs(struct pack_reader *r,
                                 const struct wf_json *json,
                                 struct wf_pack_kernel *k)
{
    const struct wf_json *array = NULL;
    enum wf_status st = pack_opt_array(r, json, "arch", 1, PACK_MAX_ARCHS, &array);
    if (st != WF_OK) {
        return st;
    }
    k->arch_count = wf_json_count(array);
    const char **list = pack_alloc(r, k->arch_count, sizeof *list, &st);
    size_t mark = pack_where_push(r, ": arch");
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        st = read_arch_item(r, v, &list[i]);
        for (size_t j = 0; st == WF_OK && j < i; j++) {
            if (strcmp(list[i], list[j]) == 0) {
                st = pack_fail(r, "'%s' is there twice", list[i]);
            }
        }
    }
    pack_where_pop(r, mark);
    k->arch = list;
    return st;
}

static enum wf_status read_code_row(struct pack_reader *r,
                                    const struct wf_json *v,
                                    struct wf_pack_code *ret)
{
    const char *label = wf_json_key(v);
    const char *file = wf_json_string(v);
    if (!wf_name_is_identifier(label)) {
        return pack_fail(r, "label '%.80s' is not a name", label);
    }
    if (file == NULL) {
        return pack_fail(r, "label '%s' needs a file name", label);
    }
    enum wf_status st = pack_copy(r, label, &ret->label);
    return st != WF_OK ? st : pack_file_reference(r, file, &ret->file);
}

static enum wf_status read_code(struct pack_reader *r,
                                const struct wf_json *json,
                                struct wf_pack_kernel *k)
{
    const struct wf_json *map = NULL;
    enum wf_status st = wf_json_get_object(json, "code", &map, r->err);
    if (st != WF_OK) {
        return pack_prefix(r, st);
    }
    k->code_count = wf_json_count(map);
    size_t mark = pack_where_push(r, ": code");
    if (k->code_count == 0 || k->code_count > PACK_MAX_CODES) {
        st = pack_fail(r, "%zu files, not 1 to %d", k->code_count, PACK_MAX_CODES);
    } else {
        k->code = pack_alloc(r, k->code_count, sizeof *k->code, &st);
    }
    const struct wf_json *v = wf_json_first(map);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        st = read_code_row(r, v, &k->code[i]);
    }
    pack_where_pop(r, mark);
    return st;
}

/* "{pack}/adapter.py" refers to a file of the pack. */
static enum wf_status check_command_word(struct pack_reader *r, const char *word)
{
    static const char folder[] = "{pack}/";
    const char *unused = NULL;
    if (strncmp(word, folder, sizeof folder - 1) != 0) {
        return WF_OK;
    }
    return pack_file_reference(r, word + sizeof folder - 1, &unused);
}

static enum wf_status read_command(struct pack_reader *r,
                                   const struct wf_json *json,
                                   struct wf_pack_kernel *k)
{
    const struct wf_json *array = NULL;
    enum wf_status st = pack_opt_array(r, json, "command", 1, PACK_MAX_COMMAND, &array);
    if (st != WF_OK) {
        return st;
    }
    k->command_count = wf_json_count(array);
    const char **list = pack_alloc(r, k->command_count + 1, sizeof *list, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ": command[%zu]", i);
        const char *word = wf_json_string(v);
        if (word == NULL || word[0] == '\0') {
            st = pack_fail(r, "a text that is not empty is expected");
        } else {
            st = pack_copy(r, word, &list[i]);
            st = st != WF_OK ? st : check_command_word(r, word);
        }
        pack_where_pop(r, mark);
    }
    k->command = list;
    return st;
}

static enum wf_status read_names(struct pack_reader *r,
                                 const struct wf_json *json,
                                 struct wf_pack_kernel *k)
{
    k->summary = "";
    k->source = "";
    enum wf_status st = pack_get_string(r, json, "op", &k->op);
    if (st == WF_OK && !wf_name_is_identifier(k->op)) {
        st = pack_fail(r, "op '%.60s' is not a name", k->op);
    }
    st = st != WF_OK ? st : pack_opt_string(r, json, "summary", &k->summary);
    return st != WF_OK ? st : pack_opt_string(r, json, "source", &k->source);
}

static enum wf_status read_properties(struct pack_reader *r,
                                      const struct wf_json *json,
                                      struct wf_pack_kernel *k)
{
    enum wf_dtype type;
    k->deterministic = true;
    k->accumulate = "f32";
    enum wf_status st =
        pack_params(r, json, "knobs", PACK_MAX_KNOBS, &k->knob, &k->knob_count);
    st = st != WF_OK ? st : pack_opt_expr(r, json, "supports", &k->supports);
    st = st != WF_OK ? st : pack_opt_expr(r, json, "split", &k->split);
    st = st != WF_OK ? st : pack_opt_string(r, json, "accumulate", &k->accumulate);
    if (st == WF_OK && !wf_dtype_parse(k->accumulate, &type)) {
        st = pack_fail(r, "accumulate '%.40s' is not a type", k->accumulate);
    }
    if (st == WF_OK) {
        st = pack_prefix(
            r, wf_json_opt_bool(json, "deterministic", &k->deterministic, r->err));
    }
    return st;
}

static enum wf_status read_library(struct pack_reader *r,
                                   const struct wf_json *json,
                                   struct wf_pack_kernel *k)
{
    const char *file = NULL;
    enum wf_status st = pack_get_string(r, json, "library", &file);
    return st != WF_OK ? st : pack_file_reference(r, file, &k->library);
}

static enum wf_status read_body(struct pack_reader *r,
                                const struct wf_json *json,
                                struct wf_pack_kernel *k)
{
    enum wf_status st;
    switch (k->kind) {
    case WF_KERNEL_LIBRARY:
        return read_library(r, json, k);
    case WF_KERNEL_PROCESS:
        return read_command(r, json, k);
    case WF_KERNEL_CODE_OBJECT:
        break;
    }
    st = read_code(r, json, k);
    st = st != WF_OK ? st : pack_read_buffers(r, json, k);
    return st != WF_OK ? st : pack_read_launches(r, json, k);
}

static enum wf_status read_name(struct pack_reader *r,
                                const struct wf_json *json,
                                struct wf_pack_kernel *k)
{
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return pack_fail(r, "an object is expected, not %s",
                         wf_json_type_name(wf_json_type(json)));
    }
    enum wf_status st = pack_get_string(r, json, "name", &k->name);
    if (st == WF_OK && (!wf_name_is_safe(k->name) || strlen(k->name) > WF_NAME_MAX)) {
        st = pack_fail(r,
                       "name '%.80s' is not [A-Za-z0-9._-], at most %d characters, not "
                       "starting with '.'",
                       k->name, WF_NAME_MAX);
    }
    return st;
}

struct knob_walk {
    const struct wf_pack_kernel *kernel;
    enum {
        KNOB_NEW,
        KNOB_OPEN,
        KNOB_CLOSED
    } state[PACK_MAX_KNOBS];
};

/* The knob through which `i` reaches itself, or NULL. Depth: one call a knob. */
static const char *find_circle(struct knob_walk *w, size_t i)
{
    const struct wf_pack_kernel *k = w->kernel;
    const char *name;
    if (w->state[i] == KNOB_OPEN) {
        return k->knob[i].name;
    }
    if (w->state[i] == KNOB_CLOSED) {
        return NULL;
    }
    w->state[i] = KNOB_OPEN;
    for (size_t n = 0; (name = wf_expr_name(k->knob[i].value, n)) != NULL; n++) {
        size_t next = 0;
        while (next < k->knob_count && strcmp(k->knob[next].name, name) != 0) {
            next++;
        }
        const char *found = next < k->knob_count ? find_circle(w, next) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    w->state[i] = KNOB_CLOSED;
    return NULL;
}

static enum wf_status check_knobs(struct pack_reader *r, const struct wf_pack_kernel *k)
{
    struct knob_walk walk = { .kernel = k };
    for (size_t i = 0; i < k->knob_count; i++) {
        const char *circle = find_circle(&walk, i);
        if (circle != NULL) {
            return pack_fail(r, "knob %s depends on itself", circle);
        }
    }
    return WF_OK;
}

enum wf_status pack_read_kernel(struct pack_reader *r,
                                const struct wf_json *json,
                                size_t index,
                                struct wf_pack_kernel *ret)
{
    size_t mark = pack_where_push(r, ": kernels[%zu]", index);
    enum wf_status st = read_name(r, json, ret);
    pack_where_pop(r, mark);
    if (st != WF_OK) {
        return st;
    }
    mark = pack_where_push(r, ": kernel %s", ret->name);
    ret->first_expr = r->arena->expr_count;
    st = read_kind(r, json, ret);
    st = st != WF_OK ? st : read_names(r, json, ret);
    st = st != WF_OK ? st : read_archs(r, json, ret);
    st = st != WF_OK ? st : read_properties(r, json, ret);
    st = st != WF_OK ? st : read_body(r, json, ret);
    st = st != WF_OK ? st : check_knobs(r, ret);
    ret->expr_count = r->arena->expr_count - ret->first_expr;
    pack_where_pop(r, mark);
    return st;
}
