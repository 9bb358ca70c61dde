/* wavefarm-coordinator token create|list|revoke. */
#include "coordinator/command.h"

#include "coordinator/auth.h"
#include "coordinator/db.h"
#include "coordinator/migrate.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/parse.h"
#include "core/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct args {
    const char *verb, *role, *name, *id;
    bool json;
};

static int other(void *ctx, int argc, char **argv, int at)
{
    struct args *a = ctx;
    bool more = at + 1 < argc;
    if (strcmp(argv[at], "--role") == 0 && more) {
        a->role = argv[at + 1];
        return 2;
    }
    if (strcmp(argv[at], "--name") == 0 && more) {
        a->name = argv[at + 1];
        return 2;
    }
    if (strcmp(argv[at], "--json") == 0) {
        a->json = true;
        return 1;
    }
    if (argv[at][0] != '-' && !a->id) {
        a->id = argv[at];
        return 1;
    }
    return 0;
}

static enum wf_status create(struct wf_db *db,
                             const struct args *a,
                             struct wf_error *err)
{
    char token[WF_TOKEN_CHARS + 1];
    int64_t id = 0;
    unsigned role = a->role ? wf_role_parse(a->role) : 0;
    if (role == 0) {
        return wf_errorf(err, WF_EINVAL,
                         "--role must be reader, submitter, admin or runner");
    }
    if (!a->name || !*a->name || strlen(a->name) > 200) {
        return wf_errorf(err, WF_EINVAL,
                         "--name must say what the token is for (at most "
                         "200 characters)");
    }
    if (!wf_is_printable(a->name)) {
        return wf_errorf(err, WF_EINVAL,
                         "--name has a control character or a mark that is not shown");
    }
    enum wf_status status = wf_token_create(db, a->name, role, token, &id, err);
    if (status == WF_OK) {
        puts(token);
        fprintf(stderr, "token %lld (%s, %s)\n", (long long)id, wf_role_name(role),
                a->name);
    }
    return status;
}

static enum wf_status row_json(const struct wf_rows *rows,
                               size_t i,
                               struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "id", wf_rows_text(rows, i, 0), err);
    s = s == WF_OK ? wf_json_set_string(o, "name", wf_rows_text(rows, i, 1), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "role", wf_rows_text(rows, i, 2), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "created", wf_rows_text(rows, i, 3), err)
                   : s;
    const char *revoked = wf_rows_null(rows, i, 4) ? NULL : wf_rows_text(rows, i, 4);
    s = s == WF_OK ? wf_json_set_string(o, "revoked", revoked, err) : s;
    s = s == WF_OK ? wf_json_write(o, &text, err) : s;
    if (s == WF_OK) {
        puts(wf_buf_cstr(&text));
    }
    wf_json_free(o);
    wf_buf_free(&text);
    return s;
}

static enum wf_status list(struct wf_db *db, const struct args *a, struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_db_run(db, WF_STMT_TOKEN_LIST, NULL, &rows, err);
    for (size_t i = 0; status == WF_OK && i < wf_rows_count(rows); i++) {
        if (a->json) {
            status = row_json(rows, i, err);
            continue;
        }
        printf("%6s  %-9s  %s  %s%s\n", wf_rows_text(rows, i, 0),
               wf_rows_text(rows, i, 2), wf_rows_text(rows, i, 3),
               wf_rows_text(rows, i, 1), wf_rows_null(rows, i, 4) ? "" : "  (revoked)");
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status revoke(struct wf_db *db,
                             const struct args *a,
                             struct wf_error *err)
{
    int64_t id = 0;
    char what[96];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    if (!a->id || wf_parse_i64(a->id, "token id", 1, INT64_MAX, &id, err) != WF_OK) {
        return wf_errorf(err, WF_EINVAL,
                         "revoke needs the token's number; see token list");
    }
    snprintf(what, sizeof what, "there is no token %lld; see token list",
             (long long)id);
    wf_param_i64(&p, id);
    enum wf_status status = wf_db_one(db, WF_STMT_TOKEN_REVOKE, &p, what, &rows, err);
    if (status == WF_OK) {
        fprintf(stderr, "token %lld (%s) is revoked\n", (long long)id,
                wf_rows_text(rows, 0, 0));
    }
    wf_rows_free(rows);
    return status;
}

int wf_command_token(int argc, char **argv)
{
    struct args a = { 0 };
    struct wf_config *config = NULL;
    struct wf_db *db = NULL;
    struct wf_error err = { 0 };
    if (argc < 1) {
        return wf_command_usage("token");
    }
    a.verb = argv[0];
    bool known = strcmp(a.verb, "create") == 0 || strcmp(a.verb, "list") == 0 ||
                 strcmp(a.verb, "revoke") == 0;
    if (!known) {
        return wf_command_usage("token");
    }
    if (wf_command_config_load(argc - 1, argv + 1, other, &a, &config, &err) != WF_OK) {
        return wf_command_fail(&err, WF_EXIT_USAGE);
    }
    enum wf_status status =
        wf_db_open(wf_config_text(config, WF_SETTING_db), "wavefarm-token", &db, &err);
    if (status == WF_OK) {
        status = wf_schema_check(db, &err);
    }
    if (status == WF_OK) {
        status = a.verb[0] == 'c'   ? create(db, &a, &err)
                 : a.verb[0] == 'l' ? list(db, &a, &err)
                                    : revoke(db, &a, &err);
    }
    wf_db_close(db);
    wf_config_destroy(config);
    if (status != WF_OK) {
        return wf_command_fail(&err,
                               status == WF_EINVAL ? WF_EXIT_USAGE : WF_EXIT_INFRA);
    }
    return 0;
}
