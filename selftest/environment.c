#include "selftest/environment.h"

#include "core/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status make_folders(struct wf_selftest_env *env, struct wf_error *err)
{
    const char *base = getenv("TMPDIR");
    env->folder = wf_asprintf("%s/wavefarm-selftest-XXXXXX",
                              base != NULL && base[0] ? base : "/tmp");
    if (env->folder == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    if (mkdtemp(env->folder) == NULL) {
        enum wf_status st =
            wf_error_errno(err, errno, "cannot make the folder %s", env->folder);
        free(env->folder);
        env->folder = NULL;
        return st;
    }
    env->datasets = wf_path_join(env->folder, "datasets");
    return env->datasets != NULL ? wf_mkdir_parents(env->datasets, err)
                                 : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}

enum wf_status wf_selftest_env_open(struct wf_selftest_env *ret, struct wf_error *err)
{
    *ret = (struct wf_selftest_env){ .folder = NULL };
    enum wf_status st = wf_device_open("host", &ret->host, err);
    if (st == WF_OK) {
        st = wf_device_open("emulator", &ret->emulator, err);
    }
    if (st == WF_OK) {
        st = make_folders(ret, err);
    }
    if (st == WF_OK) {
        st = wf_dataset_store_open(ret->datasets, &ret->store, err);
    }
    if (st != WF_OK) {
        wf_selftest_env_close(ret);
    }
    return st;
}

void wf_selftest_env_close(struct wf_selftest_env *env)
{
    for (size_t i = 0; i < env->pack_count; i++) {
        wf_pack_free(env->pack[i]);
    }
    for (size_t i = 0; i < env->text_count; i++) {
        free(env->text[i]);
    }
    free(env->pack);
    free(env->text);
    wf_dataset_store_close(env->store);
    if (env->folder != NULL) {
        (void)wf_remove_tree(env->folder, NULL);
    }
    free(env->datasets);
    free(env->folder);
    *env = (struct wf_selftest_env){ .folder = NULL };
}

enum wf_status wf_selftest_pack(struct wf_selftest_env *env,
                                const char *folder,
                                const struct wf_pack **ret,
                                struct wf_error *err)
{
    struct wf_pack *p = NULL;
    for (size_t i = 0; i < env->pack_count; i++) {
        if (strcmp(wf_pack_folder(env->pack[i]), folder) == 0) {
            *ret = env->pack[i];
            return WF_OK;
        }
    }
    struct wf_pack **more =
        wf_realloc_array(env->pack, env->pack_count + 1, sizeof(struct wf_pack *));
    if (more == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a pack");
    }
    env->pack = more;
    enum wf_status st = wf_pack_open(folder, &p, err);
    if (st == WF_OK) {
        env->pack[env->pack_count++] = p;
        *ret = p;
    }
    return st;
}

const struct wf_device *wf_selftest_device(const struct wf_selftest_env *env,
                                           const struct wf_pack_kernel *kernel)
{
    for (size_t i = 0; i < kernel->arch_count; i++) {
        if (strcmp(kernel->arch[i], "gfx942") == 0) {
            return &env->emulator;
        }
    }
    return &env->host;
}

enum wf_status wf_selftest_keep(struct wf_selftest_env *env,
                                char *text,
                                const char **ret,
                                struct wf_error *err)
{
    char **more = NULL;
    if (text != NULL) {
        more = wf_realloc_array(env->text, env->text_count + 1, sizeof(char *));
    }
    if (more == NULL) {
        free(text);
        return wf_errorf(err, WF_ENOMEM, "no memory for a text");
    }
    env->text = more;
    env->text[env->text_count++] = text;
    *ret = text;
    return WF_OK;
}

static enum wf_status resolve(struct wf_selftest_env *env,
                              struct wf_json *c,
                              const char *name,
                              const struct wf_json *tables,
                              struct wf_error *err)
{
    char sha[WF_SHA256_HEX];
    char text[8 + WF_SHA256_HEX];
    struct wf_table *table = wf_calloc(1, sizeof(*table));
    const struct wf_json *spec = tables ? wf_json_find(tables, name) : NULL;
    enum wf_status st =
        table != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a table");
    if (st == WF_OK && spec == NULL) {
        st = wf_errorf(err, WF_EINVAL, "there is no table \"%.80s\"", name);
    }
    if (st == WF_OK) {
        st = wf_table_read(spec, table, err);
    }
    if (st == WF_OK) {
        st = wf_table_store(table, env->store, sha, err);
    }
    if (st == WF_OK) {
        (void)snprintf(text, sizeof(text), "sha256:%s", sha);
        st = wf_json_set_string(c, "page_table", text, err);
    }
    free(table);
    return st;
}

enum wf_status wf_selftest_case(struct wf_selftest_env *env,
                                const struct wf_json *c,
                                const struct wf_json *tables,
                                const char **ret,
                                struct wf_error *err)
{
    struct wf_json *copy = NULL;
    struct wf_buf text = WF_BUF_INIT;
    const char *table = NULL;
    enum wf_status st = wf_json_copy(c, &copy, err);
    if (st == WF_OK) {
        st = wf_json_opt_string(copy, "page_table", &table, err);
    }
    if (st == WF_OK && table != NULL && table[0] == '@') {
        st = resolve(env, copy, table + 1, tables, err);
    }
    if (st == WF_OK) {
        st = wf_json_write(copy, &text, err);
    }
    wf_json_free(copy);
    if (st != WF_OK) {
        wf_buf_free(&text);
        return st;
    }
    return wf_selftest_keep(env, text.data, ret, err);
}
