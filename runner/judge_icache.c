/* Copies of the code for timed launches that find none of it in an instruction cache.
 *
 * Copy c of code object i has the number c * code_count + i. Program p launches copy
 * p % copies on set p % sets; sets are a multiple of copies, or one. */
#include "runner/judge.h"

#include "core/file.h"
#include "packs/code_size.h"
#include "runner/icache.h"

#include <stdlib.h>
#include <string.h>

size_t judge_program_count(const struct judge *j)
{
    return j->sets > j->copies ? j->sets : j->copies;
}

size_t judge_program_set(const struct judge *j, size_t program)
{
    return program % j->sets;
}

static const char *code_file(const struct judge *j, const char *label)
{
    for (size_t i = 0; i < j->kernel->code_count; i++) {
        if (strcmp(j->kernel->code[i].label, label) == 0) {
            return j->kernel->code[i].file;
        }
    }
    return j->kernel->code[0].file;
}

/* Launched before in the same sequence: its code counts once. */
static bool is_again(const struct judge *j, size_t launch)
{
    const struct wf_plan_launch *l = j->plan->launch;
    for (size_t i = 0; i < launch; i++) {
        if (strcmp(l[i].symbol, l[launch].symbol) == 0 &&
            strcmp(l[i].code, l[launch].code) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status launched_bytes(const struct judge *j,
                                     uint64_t *ret,
                                     struct wf_error *err)
{
    enum wf_status st = WF_OK;
    uint64_t sum = 0;
    for (size_t i = 0; st == WF_OK && i < j->plan->launch_count; i++) {
        const struct wf_plan_launch *l = &j->plan->launch[i];
        uint64_t bytes = 0;
        if (is_again(j, i)) {
            continue;
        }
        char *path = wf_path_join(wf_pack_folder(j->pack), code_file(j, l->code));
        st = path ? wf_code_function_bytes(path, l->symbol, &bytes, err)
                  : wf_errorf(err, WF_ENOMEM, "no memory");
        free(path);
        sum += bytes;
    }
    *ret = sum;
    return st;
}

static enum wf_status note(const struct judge *j, uint64_t bytes, struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_u64(obj, "copies", j->copies, err);
    st = st == WF_OK ? wf_json_set_u64(obj, "code_bytes", bytes, err) : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "total_bytes", bytes * j->copies, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "covers",
                                          j->sets > 1 && j->copies == j->sets
                                              ? "the instruction caches of the compute "
                                                "units, and L2: all sets of buffers "
                                                "pass between two uses of a copy"
                                              : "the instruction caches of the compute "
                                                "units; the copies may lie in L2",
                                          err)
                     : st;
    enum wf_status took = wf_json_set_take(j->result->details, "icache", obj, err);
    return st == WF_OK ? took : st;
}

size_t judge_icache_most(const struct judge *j)
{
    size_t most = WF_SP_MAX_CODES / (j->kernel->code_count ? j->kernel->code_count : 1);
    return most < WF_SP_MAX_PROGRAMS ? most : WF_SP_MAX_PROGRAMS;
}

enum wf_status judge_icache_copies(struct judge *j,
                                   size_t *ret,
                                   uint64_t *ret_bytes,
                                   struct wf_error *err)
{
    if (j->kernel->kind != WF_KERNEL_CODE_OBJECT) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "icache cold: only the code of code objects can be loaded "
                         "more than once; a library or a process holds its own");
    }
    enum wf_status st = launched_bytes(j, ret_bytes, err);
    if (st != WF_OK) {
        return wf_error_prefix(err, "icache cold");
    }
    return icache_copies(j->request->device, *ret_bytes, judge_icache_most(j), ret,
                         err);
}

enum wf_status judge_load_copies(struct judge *j,
                                 size_t copies,
                                 uint64_t bytes,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    while (st == WF_OK && j->copies < copies) {
        st = judge_load_copy(j, j->copies, err);
        j->copies += st == WF_OK;
    }
    return st == WF_OK ? note(j, bytes, err) : st;
}
