/* The settings table, its sources and their precedence.
 *
 * Invariant: a value that is kept has passed the parser of its type, so that reading it
 * later cannot fail. */
#include "coordinator/config.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum type {
    TEXT,
    BOOL,
    INT,
    DURATION,
    BYTES
};

struct setting {
    const char *name;
    enum type type;
    const char *def;
    int64_t least, most;
    const char *help;
};

static const struct setting table[WF_SETTING_COUNT] = {
#define SETTING(name, type, def, least, most, help) \
    { #name, type, def, least, most, help },
#include "coordinator/config.def"
#undef SETTING
};

/* Higher wins. */
enum rank {
    RANK_DEFAULT,
    RANK_FILE,
    RANK_ENVIRONMENT,
    RANK_FLAG
};

struct value {
    char *text;
    int64_t number;
    enum rank rank;
    char *origin; /* "flag --listen", "farm.conf:3" */
};

struct wf_config {
    struct value value[WF_SETTING_COUNT];
};

static enum wf_status to_number(const struct setting *s,
                                const char *text,
                                int64_t *ret,
                                struct wf_error *err)
{
    int64_t v = 0;
    uint64_t bytes = 0;
    enum wf_status status = WF_OK;
    switch (s->type) {
    case TEXT:
        return WF_OK;
    case BOOL:
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
            *ret = text[0] == 't';
            return WF_OK;
        }
        return wf_errorf(err, WF_EINVAL, "'%s' must be true or false, not '%s'",
                         s->name, text);
    case INT:
        return wf_parse_i64(text, s->name, s->least, s->most, ret, err);
    case DURATION:
        status = wf_parse_duration_ns(text, s->name, &v, err);
        v /= 1000000;
        break;
    case BYTES:
        status = wf_parse_bytes(text, s->name, &bytes, err);
        v = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
        break;
    default:
        break;
    }
    if (status == WF_OK && (v < s->least || v > s->most)) {
        status = wf_errorf(err, WF_ERANGE, "'%s' = %s is out of range (%lld to %lld%s)",
                           s->name, text, (long long)s->least, (long long)s->most,
                           s->type == DURATION ? " ms" : " bytes");
    }
    if (status == WF_OK) {
        *ret = v;
    }
    return status;
}

static enum wf_status set(struct wf_config *config,
                          size_t i,
                          const char *text,
                          enum rank rank,
                          const char *origin,
                          struct wf_error *err)
{
    struct value *v = &config->value[i];
    int64_t number = 0;
    enum wf_status status = to_number(&table[i], text, &number, err);
    if (status != WF_OK) {
        return wf_error_prefix(err, "%s", origin);
    }
    if (v->text && rank < v->rank) {
        return WF_OK;
    }
    char *copy = wf_strdup(text);
    char *from = wf_strdup(origin);
    if (!copy || !from) {
        free(copy);
        free(from);
        return wf_errorf(err, WF_ENOMEM, "no memory for settings");
    }
    free(v->text);
    free(v->origin);
    *v = (struct value){ copy, number, rank, from };
    return WF_OK;
}

enum wf_status wf_config_create(struct wf_config **ret, struct wf_error *err)
{
    struct wf_config *config = wf_calloc(1, sizeof *config);
    enum wf_status status = config ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    for (size_t i = 0; status == WF_OK && i < WF_SETTING_COUNT; i++) {
        status = set(config, i, table[i].def, RANK_DEFAULT, "default", err);
    }
    if (status != WF_OK) {
        wf_config_destroy(config);
        return status;
    }
    *ret = config;
    return WF_OK;
}

void wf_config_destroy(struct wf_config *config)
{
    if (!config) {
        return;
    }
    for (size_t i = 0; i < WF_SETTING_COUNT; i++) {
        free(config->value[i].text);
        free(config->value[i].origin);
    }
    free(config);
}

static size_t find_name(const char *name, size_t n)
{
    for (size_t i = 0; i < WF_SETTING_COUNT; i++) {
        if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0) {
            return i;
        }
    }
    return WF_SETTING_COUNT;
}

/* --- file --- */

static char *trim(char *text)
{
    while (*text && isspace((unsigned char)*text)) {
        text++;
    }
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) {
        text[--n] = '\0';
    }
    return text;
}

static enum wf_status known_names(struct wf_error *err,
                                  const char *where,
                                  const char *key)
{
    char names[512];
    size_t used = 0;
    for (size_t i = 0; i < WF_SETTING_COUNT; i++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "",
                         table[i].name);
        used += n > 0 && (size_t)n < sizeof names - used ? (size_t)n : 0;
    }
    return wf_errorf(err, WF_EINVAL, "%s: unknown setting '%s'; known: %s", where, key,
                     names);
}

static enum wf_status file_line(struct wf_config *config,
                                char *line,
                                const char *where,
                                bool *seen,
                                struct wf_error *err)
{
    char *key = trim(line);
    if (!*key || *key == '#') {
        return WF_OK;
    }
    char *equal = strchr(key, '=');
    if (!equal) {
        return wf_errorf(err, WF_EPARSE, "%s: expected 'key = value', found '%.60s'%s",
                         where, key, *key == '[' ? " (sections are not used)" : "");
    }
    *equal = '\0';
    key = trim(key);
    size_t i = find_name(key, strlen(key));
    if (i == WF_SETTING_COUNT) {
        return known_names(err, where, key);
    }
    if (seen[i]) {
        return wf_errorf(err, WF_EINVAL, "%s: '%s' was set on an earlier line", where,
                         key);
    }
    seen[i] = true;
    return set(config, i, trim(equal + 1), RANK_FILE, where, err);
}

enum wf_status wf_config_file(struct wf_config *config,
                              const char *path,
                              struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    bool seen[WF_SETTING_COUNT] = { false };
    enum wf_status status = wf_file_read(path, 1 << 20, &text, err);
    int number = 0;
    if (status == WF_OK && memchr(wf_buf_cstr(&text), '\0', text.len)) {
        status = wf_errorf(err, WF_EPARSE, "%s: the file has a zero byte", path);
    }
    for (char *line = text.data; status == WF_OK && line && *line;) {
        char where[512];
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        snprintf(where, sizeof where, "%s:%d", path, ++number);
        status = file_line(config, line, where, seen, err);
        line = end ? end + 1 : NULL;
    }
    wf_buf_free(&text);
    return status;
}

/* --- environment and flags --- */

/* "WAVEFARM_" and the name in capitals. */
static void variable_name(const char *setting, char *ret, size_t n)
{
    size_t used = (size_t)snprintf(ret, n, "WAVEFARM_");
    for (const char *c = setting; *c && used + 1 < n; c++) {
        ret[used++] = (char)toupper((unsigned char)*c);
    }
    ret[used] = '\0';
}

enum wf_status wf_config_environment(struct wf_config *config, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < WF_SETTING_COUNT; i++) {
        char name[80];
        variable_name(table[i].name, name, sizeof name);
        const char *value = getenv(name);
        if (value) {
            status = set(config, i, value, RANK_ENVIRONMENT, name, err);
        }
    }
    return status;
}

static size_t find_flag(const char *flag, size_t n)
{
    char name[80];
    if (n >= sizeof name) {
        return WF_SETTING_COUNT;
    }
    for (size_t i = 0; i < n; i++) {
        name[i] = flag[i] == '-' ? '_' : flag[i];
    }
    return find_name(name, n);
}

enum wf_status wf_config_flag(struct wf_config *config,
                              int argc,
                              char *const *argv,
                              int *at,
                              bool *ret_taken,
                              struct wf_error *err)
{
    const char *arg = argv[*at];
    *ret_taken = false;
    if (strncmp(arg, "--", 2) != 0) {
        return WF_OK;
    }
    size_t n = strcspn(arg + 2, "=");
    size_t i = find_flag(arg + 2, n);
    if (i == WF_SETTING_COUNT) {
        return WF_OK;
    }
    char origin[96];
    snprintf(origin, sizeof origin, "--%.*s", (int)n, arg + 2);
    const char *value = arg[2 + n] == '=' ? arg + 3 + n : NULL;
    int used = 1;
    if (!value && table[i].type == BOOL) {
        value = "true";
    } else if (!value) {
        if (*at + 1 >= argc) {
            return wf_errorf(err, WF_EINVAL, "%s needs a value", origin);
        }
        value = argv[*at + 1];
        used = 2;
    }
    *ret_taken = true;
    *at += used;
    return set(config, i, value, RANK_FLAG, origin, err);
}

/* --- checks and reading --- */

const char *wf_config_text(const struct wf_config *config, enum wf_setting s)
{
    return config->value[s].text;
}

int64_t wf_config_number(const struct wf_config *config, enum wf_setting s)
{
    return config->value[s].number;
}

enum wf_status wf_config_address(const char *text,
                                 char *ret_host,
                                 size_t n,
                                 int *ret_port,
                                 struct wf_error *err)
{
    int64_t port = 0;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text) {
        return wf_errorf(err, WF_EINVAL,
                         "'%s' is not ADDRESS:PORT (127.0.0.1:8470, 0.0.0.0:8470, "
                         "[::1]:8470)",
                         text);
    }
    size_t len = (size_t)(colon - text);
    const char *host = text;
    if (host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (len >= n) {
        return wf_errorf(err, WF_EINVAL, "the address in '%s' is too long", text);
    }
    enum wf_status status = wf_parse_i64(colon + 1, "port", 0, 65535, &port, err);
    if (status == WF_OK) {
        memcpy(ret_host, host, len);
        ret_host[len] = '\0';
        *ret_port = (int)port;
    }
    return status;
}

static enum wf_status check_address(const struct wf_config *config,
                                    enum wf_setting s,
                                    struct wf_error *err)
{
    char host[64];
    int port;
    enum wf_status status =
        wf_config_address(config->value[s].text, host, sizeof host, &port, err);
    return status == WF_OK ? WF_OK
                           : wf_error_prefix(err, "%s", config->value[s].origin);
}

static bool is_log_level(const char *text)
{
    return strcmp(text, "debug") == 0 || strcmp(text, "info") == 0 ||
           strcmp(text, "warn") == 0 || strcmp(text, "error") == 0;
}

enum wf_status wf_config_check(const struct wf_config *config, struct wf_error *err)
{
    const char *cert = wf_config_text(config, WF_SETTING_tls_cert);
    const char *key = wf_config_text(config, WF_SETTING_tls_key);
    const char *level = wf_config_text(config, WF_SETTING_log_level);
    int64_t ttl = wf_config_number(config, WF_SETTING_session_ttl);
    enum wf_status status = check_address(config, WF_SETTING_listen, err);
    if (status == WF_OK && *wf_config_text(config, WF_SETTING_metrics_listen)) {
        status = check_address(config, WF_SETTING_metrics_listen, err);
    }
    if (status != WF_OK) {
        return status;
    }
    if (!*cert != !*key ||
        (*wf_config_text(config, WF_SETTING_tls_client_ca) && !*cert)) {
        return wf_errorf(
            err, WF_EINVAL,
            "TLS needs both tls_cert and tls_key (and tls_client_ca needs them)");
    }
    if (wf_config_number(config, WF_SETTING_heartbeat) * 3 > ttl) {
        return wf_errorf(
            err, WF_EINVAL,
            "heartbeat must be at most a third of session_ttl (%lld ms), or a "
            "single lost beat ends a session",
            (long long)ttl);
    }
    if (!is_log_level(level)) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: 'log_level' must be debug, info, warn or "
                         "error, not '%s'",
                         config->value[WF_SETTING_log_level].origin, level);
    }
    return WF_OK;
}

void wf_config_explain(const struct wf_config *config, FILE *out)
{
    for (size_t i = 0; i < WF_SETTING_COUNT; i++) {
        const struct value *v = &config->value[i];
        fprintf(out, "%-18s = %-32s # %s; %s\n", table[i].name, v->text, v->origin,
                table[i].help);
    }
}
