#include "selftest/manifest.h"

#include "core/buf.h"
#include "core/file.h"
#include "selftest/trial.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "wavefarm.mutants/1"

struct wf_manifest {
    struct wf_json **file;
    size_t file_count;
    struct wf_mutant *mutant;
    size_t count;
};

struct wf_manifest *wf_manifest_create(void)
{
    return wf_calloc(1, sizeof(struct wf_manifest));
}

void wf_manifest_free(struct wf_manifest *m)
{
    if (m == NULL) {
        return;
    }
    for (size_t i = 0; i < m->file_count; i++) {
        wf_json_free(m->file[i]);
    }
    free(m->file);
    free(m->mutant);
    free(m);
}

size_t wf_manifest_count(const struct wf_manifest *m)
{
    return m->count;
}

const struct wf_mutant *wf_manifest_at(const struct wf_manifest *m, size_t i)
{
    return i < m->count ? &m->mutant[i] : NULL;
}

/* --- one mutant --- */

static enum wf_status read_group(const struct wf_json *json,
                                 struct wf_mutant *ret,
                                 struct wf_error *err)
{
    static const char *const NAMES[] = { "wrong", "cheat", "right" };
    const char *text = NULL;
    enum wf_status st = wf_json_get_string(json, "group", &text, err);
    for (int i = 0; st == WF_OK && i < WF_MUTANT_GROUP_COUNT; i++) {
        if (strcmp(text, NAMES[i]) == 0) {
            ret->group = (enum wf_mutant_group)i;
            return WF_OK;
        }
    }
    return st == WF_OK
               ? wf_errorf(err, WF_EINVAL,
                           "group is \"%.40s\"; there are wrong, cheat and right", text)
               : st;
}

static enum wf_status read_cases(const struct wf_json *json,
                                 const struct wf_json *cases,
                                 struct wf_mutant *ret,
                                 struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status st = wf_json_get_array(json, "cases", &list, err);
    if (st == WF_OK &&
        (wf_json_count(list) == 0 || wf_json_count(list) > WF_MUTANT_MAX_CASES)) {
        st = wf_errorf(err, WF_EINVAL, "%zu cases; 1 to %d are wanted",
                       wf_json_count(list), WF_MUTANT_MAX_CASES);
    }
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        const char *name = wf_json_string(v);
        const struct wf_json *c = name ? wf_json_find(cases, name) : NULL;
        if (c == NULL) {
            return wf_errorf(err, WF_EINVAL, "there is no case \"%.80s\"",
                             name ? name : "");
        }
        ret->case_name[ret->case_count] = name;
        ret->case_of[ret->case_count++] = c;
    }
    return st;
}

static enum wf_status take_answer(const char *text,
                                  struct wf_mutant *ret,
                                  struct wf_error *err)
{
    enum wf_answer answer;
    if (text != NULL && strcmp(text, "IMPLAUSIBLE") == 0) {
        ret->caught_implausible = true;
        return WF_OK;
    }
    if (text == NULL || !wf_answer_parse(text, &answer) || answer == WF_ANSWER_PASS ||
        wf_trial_answer_is_void(answer)) {
        return wf_errorf(err, WF_EINVAL,
                         "caught holds \"%.40s\", which is no answer that says that a "
                         "kernel is wrong",
                         text ? text : "");
    }
    ret->caught[answer] = true;
    return WF_OK;
}

static enum wf_status read_caught(const struct wf_json *json,
                                  struct wf_mutant *ret,
                                  struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(json, "caught");
    const bool right = ret->group == WF_MUTANT_RIGHT;
    if (right != (list == NULL) || (list != NULL && wf_json_count(list) == 0)) {
        return wf_errorf(err, WF_EINVAL,
                         right ? "a right kernel has no \"caught\""
                               : "\"caught\" is missing or empty");
    }
    enum wf_status st = WF_OK;
    const struct wf_json *v = list != NULL ? wf_json_first(list) : NULL;
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        st = take_answer(wf_json_string(v), ret, err);
    }
    return st;
}

static enum wf_status read_says(const struct wf_json *json,
                                struct wf_mutant *ret,
                                struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(json, "says");
    const struct wf_json *v = list != NULL ? wf_json_first(list) : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        if (wf_json_string(v) == NULL || ret->says_count == WF_MUTANT_MAX_SAYS) {
            return wf_errorf(err, WF_EINVAL, "says: at most %d strings",
                             WF_MUTANT_MAX_SAYS);
        }
        ret->says[ret->says_count++] = wf_json_string(v);
    }
    return WF_OK;
}

static enum wf_status read_strings(const struct wf_json *json,
                                   struct wf_mutant *ret,
                                   struct wf_error *err)
{
    enum wf_status st = wf_json_get_string(json, "name", &ret->name, err);
    if (st == WF_OK) {
        st = wf_json_get_string(json, "op", &ret->op, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_string(json, "pack", &ret->pack, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_string(json, "fault", &ret->fault, err);
    }
    ret->kernel = ret->name;
    if (st == WF_OK) {
        st = wf_json_opt_string(json, "kernel", &ret->kernel, err);
    }
    if (st == WF_OK && !wf_name_is_safe(ret->pack)) {
        st = wf_errorf(err, WF_EINVAL, "pack \"%.80s\" is no name of a folder",
                       ret->pack);
    }
    return st;
}

static enum wf_status read_mutant(const struct wf_json *json,
                                  const struct wf_json *cases,
                                  struct wf_mutant *ret,
                                  struct wf_error *err)
{
    static const char *const KEYS[] = { "name",    "group",  "op",          "pack",
                                        "kernel",  "fault",  "cases",       "says",
                                        "measure", "caught", "deadline_ms", NULL };
    int64_t ms = 0;
    enum wf_status st = wf_json_only_keys(json, KEYS, err);
    if (st == WF_OK) {
        st = read_strings(json, ret, err);
    }
    if (st == WF_OK) {
        st = read_group(json, ret, err);
    }
    if (st == WF_OK) {
        st = read_cases(json, cases, ret, err);
    }
    if (st == WF_OK) {
        st = read_caught(json, ret, err);
    }
    if (st == WF_OK) {
        st = read_says(json, ret, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_bool(json, "measure", &ret->measure, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "deadline_ms", 1, 600000, &ms, err);
    }
    ret->deadline_ns = ms * 1000000;
    return st;
}

/* --- documents --- */

static enum wf_status check_name(const struct wf_manifest *m,
                                 const char *name,
                                 struct wf_error *err)
{
    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(m->mutant[i].name, name) == 0) {
            return wf_errorf(err, WF_EINVAL, "there are two of this name");
        }
    }
    return WF_OK;
}

static enum wf_status keep_document(struct wf_manifest *m,
                                    struct wf_json *json,
                                    struct wf_error *err)
{
    struct wf_json **more =
        wf_realloc_array(m->file, m->file_count + 1, sizeof(struct wf_json *));
    if (more == NULL) {
        wf_json_free(json);
        return wf_errorf(err, WF_ENOMEM, "no memory for a manifest");
    }
    m->file = more;
    m->file[m->file_count++] = json;
    return WF_OK;
}

static enum wf_status add_mutants(struct wf_manifest *m,
                                  const struct wf_json *json,
                                  const char *source,
                                  struct wf_error *err)
{
    const struct wf_json *list = NULL, *cases = NULL;
    enum wf_status st = wf_json_get_array(json, "mutants", &list, err);
    if (st == WF_OK) {
        st = wf_json_get_object(json, "cases", &cases, err);
    }
    if (st != WF_OK) {
        return st;
    }
    struct wf_mutant *more =
        wf_realloc_array(m->mutant, m->count + wf_json_count(list), sizeof(*m->mutant));
    if (more == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for mutants");
    }
    m->mutant = more;
    const struct wf_json *v = wf_json_first(list);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        struct wf_error why = { 0 };
        struct wf_mutant one = { .name = "?", .tables = wf_json_find(json, "tables") };
        st = read_mutant(v, cases, &one, &why);
        if (st == WF_OK) {
            st = check_name(m, one.name, &why);
        }
        if (st != WF_OK) {
            return wf_errorf(err, st, "%s: mutant %.80s: %.500s", source, one.name,
                             why.text);
        }
        m->mutant[m->count++] = one;
    }
    return st;
}

enum wf_status wf_manifest_add(struct wf_manifest *m,
                               struct wf_json *json,
                               const char *source,
                               struct wf_error *err)
{
    const char *schema = "";
    enum wf_status st = keep_document(m, json, err);
    if (st == WF_OK) {
        st = wf_json_get_string(json, "schema", &schema, err);
    }
    if (st == WF_OK && strcmp(schema, SCHEMA) != 0) {
        st = wf_errorf(err, WF_EINVAL, "%s: schema is \"%.60s\", not " SCHEMA, source,
                       schema);
    }
    return st == WF_OK ? add_mutants(m, json, source, err) : st;
}

static bool is_json_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static enum wf_status add_file(struct wf_manifest *m,
                               const char *folder,
                               const char *name,
                               struct wf_error *err)
{
    struct wf_json *json = NULL;
    char *path = wf_path_join(folder, name);
    enum wf_status st = path != NULL ? wf_json_parse_file(path, &json, err)
                                     : wf_errorf(err, WF_ENOMEM, "no memory");
    free(path);
    return st == WF_OK ? wf_manifest_add(m, json, name, err) : st;
}

/* In the order of names, so that every machine runs the same list. */
static int only_json(const struct dirent *e)
{
    return is_json_name(e->d_name);
}

enum wf_status wf_manifest_load(const char *folder,
                                struct wf_manifest **ret,
                                struct wf_error *err)
{
    struct dirent **entry = NULL;
    struct wf_manifest *m = wf_manifest_create();
    enum wf_status st = WF_OK;
    int n = m != NULL ? scandir(folder, &entry, only_json, alphasort) : 0;
    if (m == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a manifest");
    }
    if (n < 0) {
        st = wf_error_errno(err, errno, "the folder of the mutants, %s", folder);
    } else if (n == 0) {
        st = wf_errorf(err, WF_ENOTFOUND, "%s holds no manifest", folder);
    }
    for (int i = 0; i < n; i++) {
        if (st == WF_OK) {
            st = add_file(m, folder, entry[i]->d_name, err);
        }
        free(entry[i]);
    }
    free(entry);
    if (st != WF_OK) {
        wf_manifest_free(m);
        return st;
    }
    *ret = m;
    return WF_OK;
}
