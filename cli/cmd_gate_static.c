/* gate static: the static part of a gate by itself. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/gate_packs.h"
#include "cli/gate_static.h"
#include "cli/output.h"
#include "gate/policy.h"
#include "gate/static.h"

#include <inttypes.h>
#include <stdio.h>

static enum wf_status check(const struct wf_args *args,
                            struct wf_gate_static_options *ret,
                            struct wf_error *err)
{
    *ret = (struct wf_gate_static_options){
        .base_kernel = wf_args_string(args, "base-kernel"),
        .cand_kernel = wf_args_string(args, "cand-kernel"),
        .kernels = wf_args_string(args, "kernels"),
        .mca = !wf_args_flag(args, "no-mca"),
        .mca_program = wf_args_string(args, "mca"),
    };
    if (wf_args_string(args, "base") == NULL || wf_args_string(args, "cand") == NULL) {
        return wf_errorf(err, WF_EINVAL, "give two packs: --base PACK --cand PACK");
    }
    if ((ret->base_kernel == NULL) != (ret->cand_kernel == NULL)) {
        return wf_errorf(err, WF_EINVAL,
                         "--base-kernel and --cand-kernel are given together");
    }
    return WF_OK;
}

static enum wf_status make_line(const struct wf_args *args,
                                const struct wf_gate_static_options *options,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct gate_pack base = { .pack = NULL };
    struct gate_pack cand = { .pack = NULL };
    struct wf_gate_policy *policy = NULL;
    const char *file = wf_args_string(args, "policy");
    enum wf_status st = file != NULL ? wf_gate_policy_read(file, &policy, err) : WF_OK;
    st = st == WF_OK
             ? gate_pack_open(wf_args_string(args, "base"), "--base", &base, err)
             : st;
    st = st == WF_OK
             ? gate_pack_open(wf_args_string(args, "cand"), "--cand", &cand, err)
             : st;
    if (st == WF_OK) {
        st = wf_gate_static_line(base.pack, cand.pack,
                                 policy != NULL ? wf_gate_policy_static(policy) : NULL,
                                 options, ret, err);
    }
    gate_pack_close(&base);
    gate_pack_close(&cand);
    wf_gate_policy_free(policy);
    return st;
}

static int64_t compared(const struct wf_json *line)
{
    int64_t n = 0;
    return wf_json_as_i64(wf_json_find(line, "compared"), &n) ? n : 0;
}

static void print_line(const struct wf_json *line)
{
    const struct wf_json *entries = wf_json_find(line, "entries");
    char text[512];
    for (const struct wf_json *e = wf_json_first(entries); e != NULL;
         e = wf_json_next(e)) {
        wf_static_entry_text(e, text, sizeof(text));
        wf_say("%s", text);
    }
    wf_say("%" PRId64 " figures compared: %zu worse, %zu better, %zu unknown; %s",
           compared(line), wf_static_count(line, "worse"),
           wf_static_count(line, "better"), wf_static_count(line, "unknown"),
           wf_static_is_red(line) ? "red" : "not red");
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_gate_static_options options;
    struct wf_json *line = NULL;
    enum wf_status st = check(args, &options, &err);
    st = st == WF_OK ? make_line(args, &options, &line, &err) : st;
    if (st == WF_OK && wf_args_flag(args, "json")) {
        st = wf_print_json(line, &err);
    } else if (st == WF_OK) {
        print_line(line);
    }
    int code = WF_EXIT_GOOD;
    if (st != WF_OK) {
        code = wf_exit_error(&err);
    } else if (wf_static_is_red(line)) {
        code = WF_EXIT_BAD;
    } else if (compared(line) == 0) {
        fprintf(stderr, "wavefarm: nothing was compared: the packs have no gfx942 "
                        "kernel of the same name that was asked for\n");
        code = WF_EXIT_INFRA;
    }
    wf_json_free(line);
    return code;
}

static const struct wf_opt opts[] = {
    { "base", WF_OPT_FILE, "PACK", NULL, NULL, "pack that is compared with" },
    { "cand", WF_OPT_FILE, "PACK", NULL, NULL, "pack that is judged" },
    { "policy", WF_OPT_FILE, "FILE", NULL, NULL,
      "policy; its member \"static\" counts" },
    { "kernels", WF_OPT_STRING, "GLOB", NULL, NULL, "the candidate's kernels by name" },
    { "base-kernel", WF_OPT_STRING, "NAME", NULL, NULL,
      "with --cand-kernel: compare these two" },
    { "cand-kernel", WF_OPT_STRING, "NAME", NULL, NULL, "the other one" },
    { "no-mca", WF_OPT_FLAG, NULL, NULL, NULL, "do not ask llvm-mca" },
    { "mca", WF_OPT_FILE, "PROGRAM", NULL, "WAVEFARM_LLVM_MCA",
      "instead of llvm-mca-22, llvm-mca-19 or llvm-mca on PATH" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_gate_static = {
    .name = "gate static",
    .synopsis = "",
    .summary = "Compare the machine code of two packs, without a device",
    .details =
        "Figures of 'wavefarm isa', kernel by kernel, under the policy's thresholds. Red\n"
        "by default are only new spills and scratch memory; everything else that is worse\n"
        "is listed. Exit status: 0 nothing is red, 1 something is, 2 usage or bad input,\n"
        "3 nothing could be compared. docs/isa.md explains the thresholds.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
