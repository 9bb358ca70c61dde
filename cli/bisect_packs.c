#include "cli/bisect_packs.h"

#include "cli/gate_packs.h"
#include "core/buf.h"
#include "core/file.h"
#include "gate/commit_order.h"
#include "packs/identity.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIST_MAX_BYTES ((size_t)1 << 20)
#define MOST_PACKS     5000

void bisect_pack_short(const struct bisect_pack *p, char ret[16])
{
    snprintf(ret, 16, "%.12s", p->commit[0] != '\0' ? p->commit : p->id);
}

void bisect_pack_free(struct bisect_pack *p)
{
    free(p->path);
    free(p->parent);
    free(p->record);
    memset(p, 0, sizeof(*p));
}

void bisect_packs_free(struct bisect_packs *p)
{
    for (size_t i = 0; i < p->count; i++) {
        bisect_pack_free(&p->pack[i]);
    }
    free(p->pack);
    memset(p, 0, sizeof(*p));
}

static const char *text(const struct wf_json *o, const char *key)
{
    const char *s = o != NULL ? wf_json_string(wf_json_find(o, key)) : NULL;
    return s != NULL ? s : "";
}

static bool is_zero(const char *commit)
{
    return strspn(commit, "0") == strlen(commit);
}

enum wf_status bisect_pack_origin(struct bisect_pack *p,
                                  const struct wf_json *record,
                                  struct wf_error *err)
{
    const struct wf_json *parents =
        record != NULL ? wf_json_find(record, "parents") : NULL;
    const size_t n = parents != NULL ? wf_json_count(parents) : 0;
    const char *commit = text(record, "commit");
    snprintf(p->commit, sizeof(p->commit), "%s", is_zero(commit) ? "" : commit);
    snprintf(p->built_at, sizeof(p->built_at), "%.39s", text(record, "built_at"));
    p->parent = wf_calloc(n + 1, sizeof(*p->parent));
    if (p->parent == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the parents of %.12s", p->id);
    }
    for (size_t i = 0; i < n; i++) {
        const char *s = wf_json_string(wf_json_at(parents, i));
        snprintf(p->parent[p->parents++], WF_SHA256_HEX, "%.64s", s != NULL ? s : "");
    }
    return WF_OK;
}

enum wf_status bisect_pack_load(const char *path,
                                const char *kernel,
                                struct bisect_pack *ret,
                                struct wf_error *err)
{
    struct gate_pack g = { 0 };
    struct bisect_pack p = { 0 };
    enum wf_status status = gate_pack_open(path, path, &g, err);
    if (status == WF_OK) {
        const struct wf_pack_kernel *k = wf_pack_kernel(g.pack, kernel);
        p.path = wf_strdup(path);
        snprintf(p.id, sizeof(p.id), "%s", wf_pack_id(g.pack));
        status = p.path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for %s", path)
                                : bisect_pack_origin(&p, g.provenance, err);
        if (status == WF_OK && k != NULL) {
            status = wf_kernel_identity(g.pack, k, p.identity, err);
        }
    }
    gate_pack_close(&g);
    if (status != WF_OK) {
        bisect_pack_free(&p);
        return status;
    }
    *ret = p;
    return WF_OK;
}

enum wf_status bisect_packs_push(struct bisect_packs *packs,
                                 struct bisect_pack *p,
                                 struct wf_error *err)
{
    struct bisect_pack *grown =
        wf_realloc_array(packs->pack, packs->count + 1, sizeof(*grown));
    if (grown == NULL || packs->count == MOST_PACKS) {
        packs->pack = grown != NULL ? grown : packs->pack;
        bisect_pack_free(p);
        return wf_errorf(err, grown == NULL ? WF_ENOMEM : WF_EINVAL,
                         "%zu packs are too many", packs->count + 1);
    }
    packs->pack = grown;
    packs->pack[packs->count++] = *p;
    memset(p, 0, sizeof(*p));
    return WF_OK;
}

static enum wf_status add(struct bisect_packs *p,
                          const char *path,
                          const char *kernel,
                          struct wf_error *err)
{
    struct bisect_pack one = { 0 };
    enum wf_status status = bisect_pack_load(path, kernel, &one, err);
    return status == WF_OK ? bisect_packs_push(p, &one, err) : status;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

/* What in a folder is a pack: a folder with pack.json, an archive. */
static bool is_pack(const char *path)
{
    bool yes = false;
    char *json = wf_path_join(path, "pack.json");
    struct stat st;
    if (json != NULL && stat(path, &st) == 0) {
        yes = S_ISDIR(st.st_mode) ? wf_file_exists(json) : ends_with(path, ".tar.zst");
    }
    free(json);
    return yes;
}

static enum wf_status add_folder(struct bisect_packs *p,
                                 const char *folder,
                                 const char *kernel,
                                 struct wf_error *err)
{
    struct dirent **entry = NULL;
    enum wf_status status = WF_OK;
    const int n = scandir(folder, &entry, NULL, alphasort);
    if (n < 0) {
        return wf_error_errno(err, errno, "cannot list %s", folder);
    }
    for (int i = 0; i < n; i++) {
        char *path = wf_path_join(folder, entry[i]->d_name);
        if (path == NULL) {
            status = wf_errorf(err, WF_ENOMEM, "no memory for a path");
        } else if (status == WF_OK && entry[i]->d_name[0] != '.' && is_pack(path)) {
            status = add(p, path, kernel, err);
        }
        free(path);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* One pack a line; empty lines and those that begin with # are nothing. */
static enum wf_status add_list(struct bisect_packs *p,
                               const char *list,
                               const char *kernel,
                               struct wf_error *err)
{
    struct wf_buf lines = WF_BUF_INIT;
    const char *slash = strrchr(list, '/');
    enum wf_status status = wf_file_read(list, LIST_MAX_BYTES, &lines, err);
    const char *s = wf_buf_cstr(&lines);
    while (status == WF_OK && *s != '\0') {
        const int len = (int)strcspn(s, "\r\n");
        if (len > 0 && s[0] != '#') {
            char *path =
                s[0] == '/' || slash == NULL
                    ? wf_asprintf("%.*s", len, s)
                    : wf_asprintf("%.*s/%.*s", (int)(slash - list), list, len, s);
            status = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                                  : add(p, path, kernel, err);
            free(path);
        }
        s += len;
        s += strspn(s, "\r\n");
    }
    wf_buf_free(&lines);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "%s", list);
}

static size_t find_id(const struct bisect_packs *p, const char *id)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->pack[i].id, id) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Keeps those with the numbers at[0..n), in that order. */
static enum wf_status keep(struct bisect_packs *p,
                           const size_t *at,
                           size_t n,
                           struct wf_error *err)
{
    struct bisect_pack *kept = wf_calloc(n + 1, sizeof(*kept));
    if (kept == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu packs", n);
    }
    for (size_t i = 0; i < n; i++) {
        kept[i] = p->pack[at[i]];
        memset(&p->pack[at[i]], 0, sizeof(*p->pack));
    }
    for (size_t i = 0; i < p->count; i++) {
        p->outside += p->pack[i].id[0] != '\0';
        bisect_pack_free(&p->pack[i]);
    }
    free(p->pack);
    p->pack = kept;
    p->count = n;
    return WF_OK;
}

/* By provenance: along first parents from the bad one to the good one. */
enum wf_status bisect_packs_line(struct bisect_packs *p,
                                 size_t good,
                                 size_t bad,
                                 struct wf_error *err)
{
    const size_t n = p->count;
    size_t count = 0;
    struct wf_commit *c = wf_calloc(n + 1, sizeof(*c));
    size_t *at = wf_calloc(n + 1, sizeof(*at));
    const char **parent = wf_calloc(n + 1, sizeof(*parent));
    enum wf_status status = WF_OK;
    if (c == NULL || at == NULL || parent == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu packs", n);
    }
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        parent[i] = p->pack[i].parents > 0 ? p->pack[i].parent[0] : "";
        c[i] = (struct wf_commit){ .commit = p->pack[i].commit,
                                   .parent = &parent[i],
                                   .parents = p->pack[i].parents > 0,
                                   .at = p->pack[i].built_at };
    }
    if (status == WF_OK) {
        status = wf_commit_line(c, n, good, bad, at, &count, err);
    }
    if (status == WF_OK) {
        status = keep(p, at, count, err);
    }
    free(c);
    free(at);
    free(parent);
    return status;
}

/* As the list has them, from the good one to the bad one. */
static enum wf_status order_by_list(struct bisect_packs *p,
                                    size_t good,
                                    size_t bad,
                                    struct wf_error *err)
{
    size_t count = 0;
    if (good > bad) {
        return wf_errorf(err, WF_EINVAL,
                         "the list has the bad pack before the good one; it has to be "
                         "in commit order, oldest first");
    }
    size_t *at = wf_calloc(bad - good + 1, sizeof(*at));
    if (at == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the packs");
    }
    for (size_t i = good; i <= bad; i++) {
        at[count++] = i;
    }
    enum wf_status status = keep(p, at, count, err);
    free(at);
    return status;
}

/* The ends are looked for among the packs by id; one that a list lacks is its first
 * (the good one) or its last. */
static enum wf_status arrange(struct bisect_packs *p,
                              const struct bisect_packs *ends,
                              bool by_list,
                              struct wf_error *err)
{
    const size_t good = find_id(p, ends->pack[0].id);
    const size_t bad = find_id(p, ends->pack[1].id);
    if (good == SIZE_MAX || bad == SIZE_MAX) {
        return wf_errorf(err, WF_EINVAL, "the %s pack %s is not among the packs given",
                         good == SIZE_MAX ? "good" : "bad",
                         ends->pack[good == SIZE_MAX ? 0 : 1].path);
    }
    if (by_list) {
        return order_by_list(p, good, bad, err);
    }
    return bisect_packs_line(p, good, bad, err) == WF_OK
               ? WF_OK
               : wf_error_prefix(err, "cannot order the packs by their commits (a list "
                                      "file, oldest first, orders them, too)");
}

enum wf_status bisect_packs_check_ends(const struct bisect_pack *good,
                                       const struct bisect_pack *bad,
                                       const char *kernel,
                                       struct wf_error *err)
{
    const struct bisect_pack *lacks = good->identity[0] == '\0'  ? good
                                      : bad->identity[0] == '\0' ? bad
                                                                 : NULL;
    if (lacks != NULL) {
        return wf_errorf(err, WF_ENOTFOUND, "%s has no kernel '%s'", lacks->path,
                         kernel);
    }
    return strcmp(good->id, bad->id) == 0
               ? wf_errorf(err, WF_EINVAL, "the good and the bad pack are the same")
               : WF_OK;
}

enum wf_status bisect_packs_read(const char *good,
                                 const char *bad,
                                 const char *from,
                                 const char *kernel,
                                 struct bisect_packs *ret,
                                 struct wf_error *err)
{
    struct bisect_packs ends = { 0 }, p = { 0 };
    struct stat st;
    enum wf_status status = add(&ends, good, kernel, err);
    status = status == WF_OK ? add(&ends, bad, kernel, err) : status;
    status = status == WF_OK
                 ? bisect_packs_check_ends(&ends.pack[0], &ends.pack[1], kernel, err)
                 : status;
    if (status == WF_OK && from == NULL) {
        *ret = ends;
        return WF_OK;
    }
    if (status == WF_OK && stat(from, &st) != 0) {
        status = wf_error_errno(err, errno, "--packs %s", from);
    }
    if (status == WF_OK) {
        const bool folder = S_ISDIR(st.st_mode);
        status = folder ? add_folder(&p, from, kernel, err)
                        : add_list(&p, from, kernel, err);
        for (size_t i = 0; i < 2 && status == WF_OK && folder; i++) {
            if (find_id(&p, ends.pack[i].id) == SIZE_MAX) {
                status = add(&p, ends.pack[i].path, kernel, err);
            }
        }
        status = status == WF_OK ? arrange(&p, &ends, !folder, err) : status;
    }
    bisect_packs_free(&ends);
    if (status != WF_OK) {
        bisect_packs_free(&p);
        return status;
    }
    *ret = p;
    return WF_OK;
}
