/* Known answers among the pairs (docs/gate-sentinels.md): three kernels against
 * themselves, and one against its form with 3 % more work. */
#include "cli/gate_plan.h"
#include "cli/paths.h"
#include "core/buf.h"
#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_A_ROUND 2

/* X(work, the slower form is measured, too) */
#define SENTINELS(X) X(alu, 1) X(hbm, 0) X(lds, 0)

static const struct {
    const char *work, *kernel, *slower; /* slower: NULL, not measured */
} sentinels[] = {
#define X(work, has_slower) \
    { #work, "sentinel_" #work, (has_slower) ? "sentinel_" #work "_103" : NULL },
    SENTINELS(X)
#undef X
};
#define COUNT (sizeof sentinels / sizeof sentinels[0])

/* "x86-64" is "host" in the packs' names; features of an arch have no part in them. */
static char *pack_folder(const char *parent, const char *arch)
{
    return strcmp(arch, "x86-64") == 0
               ? wf_asprintf("%s/wavefarm-sentinel-host", parent)
               : wf_asprintf("%s/wavefarm-sentinel-%.*s", parent,
                             (int)strcspn(arch, ":"), arch);
}

static bool has_pack(const char *folder)
{
    char *manifest = wf_path_join(folder, "pack.json");
    const bool yes = manifest != NULL && wf_file_exists(manifest);
    free(manifest);
    return yes;
}

enum wf_status gate_sentinel_pack(struct gate_plan *p, struct wf_error *err)
{
    char *parent = NULL;
    enum wf_status status = wf_packs_folder(&parent, err);
    if (status != WF_OK) {
        return status;
    }
    char *folder = pack_folder(parent, p->device.arch);
    if (folder == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    } else if (has_pack(folder)) {
        status = gate_pack_open(folder, "the pack of sentinels",
                                &p->pack[WF_GATE_PACK_SENTINEL], err);
    } else {
        fprintf(
            stderr,
            "wavefarm: there is no pack of sentinels %s: nothing will show that the "
            "device sees a difference\n",
            folder);
    }
    free(folder);
    free(parent);
    return status;
}

static enum wf_status open_cases(struct gate_plan *p, struct wf_error *err)
{
    char *suites = NULL;
    const char *name =
        strcmp(p->device.runtime, "host") == 0 ? "sentinels-small" : "sentinels";
    enum wf_status status = wf_suites_folder(&suites, err);
    if (status == WF_OK) {
        status = wf_suite_load(name, suites, p->store, &p->sentinel_suite, err);
    }
    free(suites);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "cases of the sentinels");
}

static enum wf_status find_case(const struct gate_plan *p,
                                const char *work,
                                size_t *ret,
                                struct wf_error *err)
{
    for (size_t i = 0; i < wf_suite_count(p->sentinel_suite); i++) {
        if (strcmp(wf_suite_case_name(p->sentinel_suite, i), work) == 0) {
            *ret = i;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_ENOTFOUND, "suite %s of the sentinels has no case %s",
                     wf_suite_name(p->sentinel_suite), work);
}

/* The margins are fixed: what must be found does not shrink with what a machine shows;
 * its noise is taken to start from. */
static struct wf_gate_margins margins_of(const struct gate_plan *p,
                                         const char *case_id,
                                         const char *kernel)
{
    char source[GATE_NOISE_SOURCE];
    struct wf_gate_margins known, ret = WF_GATE_MARGINS_DEFAULT;
    gate_noise_margins(p->noise, case_id, kernel, p->device.model, &known, source);
    ret.s0 = known.s0;
    return ret;
}

static enum wf_status add(struct gate_plan *p,
                          size_t i,
                          enum wf_gate_role role,
                          struct wf_error *err)
{
    size_t c = 0;
    const struct wf_pack *pack = p->pack[WF_GATE_PACK_SENTINEL].pack;
    const char *kernel[2] = { sentinels[i].kernel, role == WF_GATE_SENTINEL_SAME
                                                       ? sentinels[i].kernel
                                                       : sentinels[i].slower };
    struct wf_gate_header_pair *h = &p->sentinel[p->sentinel_count];
    enum wf_status status = find_case(p, sentinels[i].work, &c, err);
    for (int arm = 0; arm < 2 && status == WF_OK; arm++) {
        if (wf_pack_kernel(pack, kernel[arm]) == NULL) {
            status = wf_errorf(err, WF_ENOTFOUND, "pack %s has no kernel %s",
                               wf_pack_name(pack), kernel[arm]);
        }
    }
    if (status != WF_OK) {
        return status;
    }
    const struct wf_case *wc = wf_suite_case(p->sentinel_suite, c);
    h->pair = (struct wf_gate_pair){
        .key = gate_plan_text(
            p, wf_asprintf("%s/%s", wf_gate_role_name(role), sentinels[i].work)),
        .case_id = wf_case_id(wc),
        .case_name = sentinels[i].work,
        .op = wf_case_op_name(wc),
        .kernel = { kernel[0], kernel[1] },
        .role = role,
        .margins = margins_of(p, wf_case_id(wc), kernel[0]),
        .blocks = BLOCKS_A_ROUND,
    };
    p->sentinel_count++;
    return h->pair.key != NULL
               ? gate_plan_case(p, wf_case_canonical(wc), &h->case_json, err)
               : wf_errorf(err, WF_ENOMEM, "no memory for a pair");
}

enum wf_status gate_plan_sentinels(struct gate_plan *p, struct wf_error *err)
{
    enum wf_status status = gate_sentinel_pack(p, err);
    if (status != WF_OK || p->pack[WF_GATE_PACK_SENTINEL].pack == NULL) {
        return status;
    }
    p->sentinel = wf_calloc(2 * COUNT, sizeof(*p->sentinel));
    if (p->sentinel == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for sentinels");
    }
    status = open_cases(p, err);
    for (size_t i = 0; i < COUNT && status == WF_OK; i++) {
        status = add(p, i, WF_GATE_SENTINEL_SAME, err);
    }
    for (size_t i = 0; i < COUNT && status == WF_OK; i++) {
        if (sentinels[i].slower != NULL) {
            status = add(p, i, WF_GATE_SENTINEL_SLOWER, err);
        }
    }
    return status;
}
