#include "selftest/right.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/rng.h"

#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 256

/* Parts of all right runs, in 20ths. X(name, share) */
#define SOURCE_LIST(X)   \
    X(HOST_GEMM, 7)      \
    X(HOST_ATTENTION, 5) \
    X(DEVICE, 4)         \
    X(HONEST, 4)

enum source {
#define X(name, share) SOURCE_##name,
    SOURCE_LIST(X)
#undef X
    SOURCE_COUNT
};

static const uint64_t SHARES[] = {
#define X(name, share) share,
    SOURCE_LIST(X)
#undef X
};

static bool wanted(const struct wf_right *r, const char *name)
{
    return r->wants == NULL || r->wants(r->ctx, name);
}

/* --- kernels of our packs --- */

static enum wf_status open_pack(const struct wf_right *r,
                                const char *parent,
                                const char *name,
                                const struct wf_pack **ret,
                                struct wf_error *err)
{
    char *folder = wf_path_join(parent, name);
    enum wf_status st = folder != NULL ? wf_selftest_pack(r->env, folder, ret, err)
                                       : wf_errorf(err, WF_ENOMEM, "no memory");
    free(folder);
    return st;
}

/* Kernels of the pack that are wanted; of one op, or NULL. */
static size_t choices(const struct wf_right *r,
                      const struct wf_pack *pack,
                      const char *op,
                      const struct wf_pack_kernel **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < wf_pack_kernel_count(pack) && n < MAX_KERNELS; i++) {
        const struct wf_pack_kernel *k = wf_pack_kernel_at(pack, i);
        if ((op == NULL || strcmp(k->op, op) == 0) && wanted(r, k->name)) {
            ret[n++] = k;
        }
    }
    return n;
}

typedef enum wf_status (*draw_fn)(struct wf_selftest_env *,
                                  const char *,
                                  uint64_t,
                                  const char **,
                                  struct wf_error *);

static draw_fn drawer_of(const char *op)
{
    static const struct {
        const char *op;
        draw_fn draw;
    } rows[] = { { "gemm", wf_right_gemm },
                 { "grouped_gemm", wf_right_grouped },
                 { "attention", wf_right_attention } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].op, op) == 0) {
            return rows[i].draw;
        }
    }
    return NULL;
}

static enum wf_status draw_own(const struct wf_right *r,
                               const char *pack_name,
                               const char *op,
                               struct wf_rng *rng,
                               struct wf_trial *t,
                               struct wf_error *err)
{
    const struct wf_pack *pack = NULL;
    const struct wf_pack_kernel *list[MAX_KERNELS];
    enum wf_status st = open_pack(r, r->packs_folder, pack_name, &pack, err);
    const size_t n = st == WF_OK ? choices(r, pack, op, list) : 0;
    if (st == WF_OK && n == 0) {
        st = WF_ENOTFOUND;
    }
    if (st != WF_OK) {
        return st;
    }
    const struct wf_pack_kernel *k = list[wf_rng_next_below(rng, n)];
    const uint64_t seed = wf_rng_next(rng);
    const draw_fn draw = drawer_of(k->op);
    if (draw == NULL) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "kernel %s: right runs draw no cases of op %s", k->name,
                         k->op);
    }
    st = draw(r->env, k->name, seed, &t->case_json, err);
    t->pack_folder = wf_pack_folder(pack);
    t->pack_id = wf_pack_id(pack);
    t->kernel = k->name;
    t->device = wf_selftest_device(r->env, k);
    return st;
}

/* --- honest kernels of the manifests --- */

static size_t honest(const struct wf_right *r, const struct wf_mutant **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < wf_manifest_count(r->manifest) && n < MAX_KERNELS; i++) {
        const struct wf_mutant *m = wf_manifest_at(r->manifest, i);
        if (m->group == WF_MUTANT_RIGHT && wanted(r, m->name)) {
            ret[n++] = m;
        }
    }
    return n;
}

static enum wf_status draw_honest(const struct wf_right *r,
                                  struct wf_rng *rng,
                                  struct wf_trial *t,
                                  struct wf_error *err)
{
    const struct wf_mutant *list[MAX_KERNELS];
    const struct wf_pack *pack = NULL;
    const size_t n = honest(r, list);
    if (n == 0) {
        return WF_ENOTFOUND;
    }
    const struct wf_mutant *m = list[wf_rng_next_below(rng, n)];
    const size_t c = wf_rng_next_below(rng, m->case_count);
    enum wf_status st = open_pack(r, r->mutants_folder, m->pack, &pack, err);
    const struct wf_pack_kernel *k =
        st == WF_OK ? wf_pack_kernel(pack, m->kernel) : NULL;
    if (st == WF_OK && k == NULL) {
        st = wf_errorf(err, WF_EINVAL, "pack %s has no kernel %s", m->pack, m->kernel);
    }
    if (st != WF_OK) {
        return st;
    }
    t->pack_folder = wf_pack_folder(pack);
    t->pack_id = wf_pack_id(pack);
    t->kernel = k->name;
    t->device = wf_selftest_device(r->env, k);
    t->measure = m->measure;
    return wf_selftest_case(r->env, m->case_of[c], m->tables, &t->case_json, err);
}

static enum wf_status draw_from(const struct wf_right *r,
                                enum source source,
                                struct wf_rng *rng,
                                struct wf_trial *t,
                                struct wf_error *err)
{
    switch ((int)source) {
    case SOURCE_HOST_GEMM:
        return draw_own(r, "wavefarm-host",
                        wf_rng_next_below(rng, 4) == 0 ? "grouped_gemm" : "gemm", rng,
                        t, err);
    case SOURCE_HOST_ATTENTION:
        return draw_own(r, "wavefarm-host", "attention", rng, t, err);
    case SOURCE_DEVICE:
        return draw_own(r, "wavefarm-gfx942", NULL, rng, t, err);
    default:
        return draw_honest(r, rng, t, err);
    }
}

static enum source source_of(uint64_t twentieth)
{
    int s = 0;
    while (s + 1 < SOURCE_COUNT && twentieth >= SHARES[s]) {
        twentieth -= SHARES[s++];
    }
    return (enum source)s;
}

enum wf_status wf_right_draw(const struct wf_right *r,
                             size_t i,
                             struct wf_trial *ret,
                             struct wf_error *err)
{
    struct wf_rng rng = { r->seed, 1000 + i, 0 };
    const enum source first = source_of(i % 20);
    *ret = (struct wf_trial){ .dataset_folder = r->env->datasets,
                              .seed_offset = wf_rng_next(&rng) >> 1 };
    /* Where nothing of a source is wanted, the next one serves. */
    for (int s = 0; s < SOURCE_COUNT; s++) {
        enum source source = (enum source)(((int)first + s) % SOURCE_COUNT);
        enum wf_status st = draw_from(r, source, &rng, ret, err);
        if (st != WF_ENOTFOUND || (err != NULL && err->status == WF_ENOTFOUND)) {
            return st;
        }
    }
    return wf_errorf(err, WF_ENOTFOUND, "no right kernel has the wanted name");
}
