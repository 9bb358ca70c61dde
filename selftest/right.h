/* Right kernels on cases drawn by seed: the host's, our gfx942 ones, and the honest
 * ones of the manifests. Small shapes, every option that the ops have. */
#ifndef WF_SELFTEST_RIGHT_H
#define WF_SELFTEST_RIGHT_H

#include "selftest/environment.h"
#include "selftest/manifest.h"
#include "selftest/trial.h"

struct wf_right {
    struct wf_selftest_env *env;
    const struct wf_manifest *manifest;
    const char *packs_folder, *mutants_folder;
    uint64_t seed;
    bool (*wants)(void *ctx, const char *name); /* NULL: all */
    void *ctx;
};

/* Trial i; equal seeds give equal trials. ENOTFOUND when no wanted kernel is there. */
enum wf_status wf_right_draw(const struct wf_right *r,
                             size_t i,
                             struct wf_trial *ret,
                             struct wf_error *err);

/* right_cases.c. Texts are kept by the environment. */
enum wf_status wf_right_gemm(struct wf_selftest_env *env,
                             const char *kernel,
                             uint64_t seed,
                             const char **ret,
                             struct wf_error *err);
enum wf_status wf_right_grouped(struct wf_selftest_env *env,
                                const char *kernel,
                                uint64_t seed,
                                const char **ret,
                                struct wf_error *err);
enum wf_status wf_right_attention(struct wf_selftest_env *env,
                                  const char *kernel,
                                  uint64_t seed,
                                  const char **ret,
                                  struct wf_error *err);

#endif
