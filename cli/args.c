/* Parsing against a command's table. Values are checked here, so that commands read
 * them without errors. */
#include "cli/args.h"

#include "core/parse.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MIN_NS 1000000LL         /* 1 ms */
#define DEADLINE_MAX_NS 604800000000000LL /* a week */

struct given {
    size_t opt; /* row */
    const char *value;
};

struct wf_args {
    const struct wf_command *command;
    struct given *given;
    size_t given_count;
    const char **positional;
    size_t positional_count;
};

void wf_args_free(struct wf_args *a)
{
    if (a != NULL) {
        free(a->given);
        free(a->positional);
        free(a);
    }
}

static size_t find_opt(const struct wf_command *c, const char *name, size_t len)
{
    for (size_t i = 0; i < c->opt_count; i++) {
        if (strlen(c->opt[i].name) == len && memcmp(c->opt[i].name, name, len) == 0) {
            return i;
        }
    }
    return c->opt_count;
}

static enum wf_status check_value(const struct wf_opt *o,
                                  const char *value,
                                  struct wf_error *err)
{
    int64_t i = 0;
    double d = 0;
    char what[64];
    snprintf(what, sizeof(what), "--%s", o->name);
    switch (o->kind) {
    case WF_OPT_INT:
        return wf_parse_i64(value, what, 0, INT64_MAX, &i, err);
    case WF_OPT_REAL:
        return wf_parse_f64(value, what, -DBL_MAX, DBL_MAX, &d, err);
    case WF_OPT_DURATION:
        return wf_parse_duration_ns(value, what, &i, err);
    case WF_OPT_STRING:
    case WF_OPT_LIST:
    case WF_OPT_FILE:
        return value[0] != '\0'
                   ? WF_OK
                   : wf_errorf(err, WF_EINVAL, "%s is empty; it takes a %s", what,
                               o->metavar);
    case WF_OPT_FLAG:
        break;
    }
    return WF_OK;
}

/* One "--name", "--name=value" or "--name value"; *i moves over a value. */
static enum wf_status take_option(struct wf_args *a,
                                  int argc,
                                  char **argv,
                                  int *i,
                                  struct wf_error *err)
{
    const struct wf_command *c = a->command;
    const char *text = argv[*i] + 2;
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
    size_t row = find_opt(c, text, len);
    if (row == c->opt_count) {
        return wf_errorf(err, WF_EINVAL,
                         "unknown option --%.*s; see 'wavefarm help %s'", (int)len,
                         text, c->name);
    }
    const struct wf_opt *o = &c->opt[row];
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (o->kind == WF_OPT_FLAG) {
        if (value != NULL) {
            return wf_errorf(err, WF_EINVAL, "--%s takes no value", o->name);
        }
    } else if (value == NULL) {
        if (*i + 1 >= argc) {
            return wf_errorf(err, WF_EINVAL, "--%s needs a value: --%s %s", o->name,
                             o->name, o->metavar);
        }
        value = argv[++*i];
    }
    a->given[a->given_count++] = (struct given){ row, value };
    return value != NULL ? check_value(o, value, err) : WF_OK;
}

static enum wf_status check_environment(const struct wf_command *c,
                                        struct wf_error *err)
{
    for (size_t i = 0; i < c->opt_count; i++) {
        const char *v = c->opt[i].env != NULL ? getenv(c->opt[i].env) : NULL;
        if (v != NULL && v[0] != '\0' && check_value(&c->opt[i], v, err) != WF_OK) {
            return wf_error_prefix(err, "environment variable %s", c->opt[i].env);
        }
    }
    return WF_OK;
}

static enum wf_status check_count(const struct wf_args *a, struct wf_error *err)
{
    const struct wf_command *c = a->command;
    int n = (int)a->positional_count;
    if (n < c->min_args) {
        return wf_errorf(err, WF_EINVAL, "missing argument; usage: wavefarm %s %s",
                         c->name, c->synopsis);
    }
    if (c->max_args >= 0 && n > c->max_args) {
        return wf_errorf(err, WF_EINVAL,
                         "unexpected argument '%s'; usage: wavefarm %s %s",
                         a->positional[c->max_args], c->name, c->synopsis);
    }
    return WF_OK;
}

enum wf_status wf_args_parse(const struct wf_command *command,
                             int argc,
                             char **argv,
                             struct wf_args **ret,
                             struct wf_error *err)
{
    enum wf_status status = WF_OK;
    bool only_positional = false;
    size_t room = (size_t)argc + 1;
    struct wf_args *a = wf_calloc(1, sizeof(*a));
    if (a == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the command line");
    }
    a->command = command;
    a->given = wf_calloc(room, sizeof(*a->given));
    a->positional = wf_calloc(room, sizeof(*a->positional));
    if (a->given == NULL || a->positional == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for the command line");
    }
    for (int i = 0; i < argc && status == WF_OK; i++) {
        if (!only_positional && strcmp(argv[i], "--") == 0) {
            only_positional = true;
        } else if (!only_positional && strncmp(argv[i], "--", 2) == 0) {
            status = take_option(a, argc, argv, &i, err);
        } else if (!only_positional && argv[i][0] == '-' && argv[i][1] != '\0') {
            status =
                wf_errorf(err, WF_EINVAL,
                          "unknown option %s; options are written --name", argv[i]);
        } else {
            a->positional[a->positional_count++] = argv[i];
        }
    }
    if (status == WF_OK) {
        status = check_environment(command, err);
    }
    if (status == WF_OK) {
        status = check_count(a, err);
    }
    if (status != WF_OK) {
        wf_args_free(a);
        return status;
    }
    *ret = a;
    return WF_OK;
}

size_t wf_args_count(const struct wf_args *a)
{
    return a->positional_count;
}

const char *wf_args_at(const struct wf_args *a, size_t i)
{
    return i < a->positional_count ? a->positional[i] : NULL;
}

bool wf_args_flag(const struct wf_args *a, const char *name)
{
    size_t row = find_opt(a->command, name, strlen(name));
    for (size_t i = 0; i < a->given_count; i++) {
        if (a->given[i].opt == row) {
            return true;
        }
    }
    return false;
}

/* The last one given wins, then the environment, then the table. */
const char *wf_args_string(const struct wf_args *a, const char *name)
{
    size_t row = find_opt(a->command, name, strlen(name));
    for (size_t i = a->given_count; i > 0; i--) {
        if (a->given[i - 1].opt == row) {
            return a->given[i - 1].value;
        }
    }
    if (row == a->command->opt_count) {
        return NULL;
    }
    const struct wf_opt *o = &a->command->opt[row];
    const char *env = o->env != NULL ? getenv(o->env) : NULL;
    return env != NULL && env[0] != '\0' ? env : o->fallback;
}

int64_t wf_args_int(const struct wf_args *a, const char *name)
{
    int64_t v = -1;
    const char *s = wf_args_string(a, name);
    if (s != NULL) {
        (void)wf_parse_i64(s, name, 0, INT64_MAX, &v, NULL);
    }
    return v;
}

enum wf_status wf_args_int_in(const struct wf_args *a,
                              const char *name,
                              int64_t min,
                              int64_t max,
                              int *ret,
                              struct wf_error *err)
{
    int64_t v = wf_args_int(a, name);
    if (v < min || v > max) {
        return wf_errorf(err, WF_EINVAL,
                         "--%s is %" PRId64 "; it takes %" PRId64 " to %" PRId64, name,
                         v, min, max);
    }
    *ret = (int)v;
    return WF_OK;
}

/* A time as people write it: the largest unit that divides it. */
static const char *duration_text(int64_t ns, char *buf, size_t n)
{
    static const struct {
        int64_t ns;
        const char *name;
    } unit[] = { { 3600000000000, "h" }, { 60000000000, "m" }, { 1000000000, "s" },
                 { 1000000, "ms" },      { 1000, "us" },       { 1, "ns" } };
    size_t i = 0;
    while (ns % unit[i].ns != 0) {
        i++;
    }
    snprintf(buf, n, "%" PRId64 "%s", ns / unit[i].ns, unit[i].name);
    return buf;
}

enum wf_status wf_args_duration_in(const struct wf_args *a,
                                   const char *name,
                                   int64_t min_ns,
                                   int64_t max_ns,
                                   int64_t *ret_ns,
                                   struct wf_error *err)
{
    char least[32], most[32];
    int64_t v = wf_args_duration_ns(a, name);
    if (v < min_ns || v > max_ns) {
        return wf_errorf(err, WF_EINVAL, "--%s is %s; it takes %s to %s", name,
                         wf_args_string(a, name),
                         duration_text(min_ns, least, sizeof(least)),
                         duration_text(max_ns, most, sizeof(most)));
    }
    *ret_ns = v;
    return WF_OK;
}

enum wf_status wf_args_deadlines(const struct wf_args *a,
                                 int64_t *ret_deadline_ns,
                                 int64_t *ret_lock_timeout_ns,
                                 struct wf_error *err)
{
    enum wf_status status = wf_args_duration_in(a, "deadline", DEADLINE_MIN_NS,
                                                DEADLINE_MAX_NS, ret_deadline_ns, err);
    return status == WF_OK
               ? wf_args_duration_in(a, "lock-timeout", DEADLINE_MIN_NS,
                                     DEADLINE_MAX_NS, ret_lock_timeout_ns, err)
               : status;
}

enum wf_status wf_args_require(const struct wf_args *a,
                               const char *name,
                               const char *what,
                               struct wf_error *err)
{
    return wf_args_string(a, name) != NULL
               ? WF_OK
               : wf_errorf(err, WF_EINVAL, "--%s is missing: %s", name, what);
}

enum wf_status wf_args_real_in(const struct wf_args *a,
                               const char *name,
                               double min,
                               double max,
                               double *ret,
                               struct wf_error *err)
{
    double v = wf_args_real(a, name);
    if (!(v >= min && v <= max)) {
        return wf_errorf(err, WF_EINVAL, "--%s is %s; it takes %g to %g", name,
                         wf_args_string(a, name), min, max);
    }
    *ret = v;
    return WF_OK;
}

enum wf_status wf_args_mfma(const struct wf_args *a,
                            bool *ret_exact,
                            struct wf_error *err)
{
    const char *mode = wf_args_string(a, "mfma");
    bool exact = strcmp(mode, "exact") == 0;
    if (!exact && strcmp(mode, "fast") != 0) {
        return wf_errorf(err, WF_EINVAL, "--mfma is '%.40s'; it takes fast or exact",
                         mode);
    }
    if (ret_exact != NULL) {
        *ret_exact = exact;
    }
    return WF_OK;
}

enum wf_status wf_args_icache(const struct wf_args *a,
                              bool *ret_cold,
                              struct wf_error *err)
{
    const char *mode = wf_args_string(a, "icache");
    const bool cold = strcmp(mode, "cold") == 0;
    if (!cold && strcmp(mode, "hot") != 0) {
        return wf_errorf(err, WF_EINVAL, "--icache is '%.40s'; it takes hot or cold",
                         mode);
    }
    if (ret_cold != NULL) {
        *ret_cold = cold;
    }
    return WF_OK;
}

enum wf_status wf_args_checks(const struct wf_args *a,
                              int *ret_launches,
                              enum wf_naive *ret_naive,
                              struct wf_error *err)
{
    *ret_launches = 0;
    enum wf_status st = wf_naive_parse(wf_args_string(a, "naive"), ret_naive, err);
    if (st != WF_OK) {
        return wf_error_prefix(err, "--naive");
    }
    return wf_args_int(a, "launches") < 0
               ? WF_OK
               : wf_args_int_in(a, "launches", 2, WF_LAUNCHES_MAX, ret_launches, err);
}

int64_t wf_args_duration_ns(const struct wf_args *a, const char *name)
{
    int64_t v = -1;
    const char *s = wf_args_string(a, name);
    if (s != NULL) {
        (void)wf_parse_duration_ns(s, name, &v, NULL);
    }
    return v;
}

double wf_args_real(const struct wf_args *a, const char *name)
{
    double v = NAN;
    const char *s = wf_args_string(a, name);
    if (s != NULL) {
        (void)wf_parse_f64(s, name, -DBL_MAX, DBL_MAX, &v, NULL);
    }
    return v;
}

size_t wf_args_list_count(const struct wf_args *a, const char *name)
{
    size_t n = 0;
    size_t row = find_opt(a->command, name, strlen(name));
    for (size_t i = 0; i < a->given_count; i++) {
        n += a->given[i].opt == row;
    }
    return n;
}

const char *wf_args_list_at(const struct wf_args *a, const char *name, size_t index)
{
    size_t row = find_opt(a->command, name, strlen(name));
    for (size_t i = 0; i < a->given_count; i++) {
        if (a->given[i].opt == row && index-- == 0) {
            return a->given[i].value;
        }
    }
    return NULL;
}
