/* The cases on which generated mutants run: small ones that together execute every
 * instruction of the kernels of pack wavefarm-gfx942 that a small case can reach. */
#ifndef WF_SELFTEST_GENERATE_CASES_H
#define WF_SELFTEST_GENERATE_CASES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct wf_generated_cases; /* opaque */

/* The cases of a kernel, cheapest first; page tables that they need are added to the
 * folder of datasets. ENOTFOUND where the table has none for that kernel. */
enum wf_status wf_generated_cases_create(const char *kernel,
                                         const char *dataset_folder,
                                         struct wf_generated_cases **ret,
                                         struct wf_error *err);
bool wf_generated_has_cases(const char *kernel);
void wf_generated_cases_destroy(struct wf_generated_cases *cases);
size_t wf_generated_cases_count(const struct wf_generated_cases *cases);
/* Canonical or not: what wf_execute takes. Borrowed. */
const char *wf_generated_case(const struct wf_generated_cases *cases, size_t i);

#endif
