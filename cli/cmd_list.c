/* list: suites, ops and kernels that are built in. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/kernel_set.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/table.h"
#include "datasets/suite.h"
#include "kernels/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

/* Prints an array of objects as a table with these members, or as JSON. */
static enum wf_status print_list(const struct wf_json *list,
                                 const char *const *member,
                                 size_t columns,
                                 bool json,
                                 struct wf_error *err)
{
    if (json) {
        return wf_print_json(list, err);
    }
    struct wf_table *t = wf_table_create(member, columns);
    if (t == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the table");
    }
    for (const struct wf_json *v = wf_json_first(list); v != NULL;
         v = wf_json_next(v)) {
        const char *cell[WF_TABLE_COLUMNS];
        char number[WF_TABLE_COLUMNS][24];
        for (size_t i = 0; i < columns; i++) {
            int64_t n = 0;
            const struct wf_json *m = wf_json_find(v, member[i]);
            cell[i] = text(v, member[i]);
            if (m != NULL && wf_json_as_i64(m, &n)) {
                snprintf(number[i], sizeof(number[i]), "%" PRId64, n);
                cell[i] = number[i];
            }
        }
        wf_table_row(t, cell);
    }
    (void)wf_table_print(t);
    wf_table_free(t);
    return WF_OK;
}

static enum wf_status list_suites(bool json, struct wf_error *err)
{
    static const char *const member[] = { "name", "cases", "description" };
    char *folder = NULL;
    struct wf_json *list = NULL;
    enum wf_status status = wf_suites_folder(&folder, err);
    if (status == WF_OK) {
        status = wf_suite_list(folder, &list, err);
    }
    if (status == WF_OK) {
        status = print_list(list, member, 3, json, err);
    }
    wf_json_free(list);
    free(folder);
    return status;
}

static enum wf_status set_params(struct wf_json *o,
                                 const struct wf_op *op,
                                 struct wf_error *err)
{
    struct wf_json *names = wf_json_array();
    enum wf_status status = WF_OK;
    for (size_t i = 0; op->params[i] != NULL && status == WF_OK; i++) {
        status = wf_json_push_string(names, op->params[i], err);
    }
    enum wf_status taken = wf_json_set_take(o, "parameters", names, err);
    return status != WF_OK ? status : taken;
}

/* The names that a pack's expressions may use. */
static void print_params(const struct wf_op *op)
{
    int used = printf("\n%s:", op->name);
    for (size_t i = 0; op->params[i] != NULL; i++) {
        if (used + (int)strlen(op->params[i]) > 78) {
            used = printf("\n   ");
        }
        used += printf(" %s", op->params[i]);
    }
    printf("\n");
}

static enum wf_status list_ops(bool json, struct wf_error *err)
{
    static const char *const member[] = { "name", "summary" };
    struct wf_json *list = wf_json_array();
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_op_count() && status == WF_OK; i++) {
        struct wf_json *o = wf_json_object();
        status = wf_json_set_string(o, "name", wf_op_at(i)->name, err);
        if (status == WF_OK) {
            status = wf_json_set_string(o, "summary", wf_op_at(i)->summary, err);
        }
        if (status == WF_OK) {
            status = set_params(o, wf_op_at(i), err);
        }
        enum wf_status pushed = wf_json_push_take(list, o, err);
        status = status != WF_OK ? status : pushed;
    }
    if (status == WF_OK) {
        status = print_list(list, member, 2, json, err);
    }
    for (size_t i = 0; i < wf_op_count() && status == WF_OK && !json; i++) {
        print_params(wf_op_at(i));
    }
    wf_json_free(list);
    return status;
}

static enum wf_status add_kernel(const struct wf_kernel_choice *k,
                                 struct wf_json *list,
                                 struct wf_error *err)
{
    struct wf_buf arch = WF_BUF_INIT;
    struct wf_json *o = wf_json_object();
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < k->kernel->arch_count && status == WF_OK; i++) {
        status =
            wf_buf_printf(&arch, err, "%s%s", i > 0 ? " " : "", k->kernel->arch[i]);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "kernel", k->kernel->name, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "op", k->kernel->op, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "arch", wf_buf_cstr(&arch), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "pack", wf_pack_name(k->pack), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "summary", k->kernel->summary, err);
    }
    wf_buf_free(&arch);
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return status != WF_OK ? status : pushed;
}

static enum wf_status list_kernels(bool json, struct wf_error *err)
{
    static const char *const member[] = { "kernel", "op", "arch", "pack", "summary" };
    struct wf_kernel_set set = { 0 };
    struct wf_json *list = wf_json_array();
    enum wf_status status = wf_kernel_set_open(NULL, 0, NULL, &set, err);
    for (size_t i = 0; i < set.count && status == WF_OK; i++) {
        status = add_kernel(&set.choice[i], list, err);
    }
    if (status == WF_OK) {
        status = print_list(list, member, 5, json, err);
    }
    wf_json_free(list);
    wf_kernel_set_close(&set);
    return status;
}

static int run(const struct wf_args *args)
{
    static const struct {
        const char *name;
        enum wf_status (*list)(bool json, struct wf_error *err);
    } kinds[] = { { "suites", list_suites },
                  { "ops", list_ops },
                  { "kernels", list_kernels } };
    struct wf_error err = { 0 };
    const char *what = wf_args_count(args) > 0 ? wf_args_at(args, 0) : "suites";
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, what) == 0) {
            enum wf_status status = kinds[i].list(wf_args_flag(args, "json"), &err);
            return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
        }
    }
    (void)wf_errorf(&err, WF_EINVAL,
                    "cannot list '%s'; there are suites, ops and kernels", what);
    return wf_exit_error(&err);
}

static const struct wf_opt opts[] = { WF_OPT_JSON };

const struct wf_command wf_command_list = {
    .name = "list",
    .synopsis = "[suites|ops|kernels]",
    .summary = "List suites (default), ops or kernels",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .max_args = 1,
    .run = run,
};
