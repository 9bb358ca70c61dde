/* Suites: a named list of cases.
 *
 *   { "schema": "wavefarm.suite/1", "name": "gemm-five", "description": "...",
 *     "datasets": { "azure": { "sha256": "<hex>" |  "make": { recipe } , ...} },
 *     "defaults": { members that every case gets unless it says otherwise },
 *     "measure": { how times are asked for, datasets/measure.h; a case's own goes over
 * it }, "cases": [ { "name": "2048x10240x1280", "op": "gemm", "M": 2048, ... ,
 *                  "known_best": { ... recorded facts, not part of the id } } ] }
 *
 * A dataset entry with "make" is generated on demand (the recipe is deterministic) and
 * must then have the SHA-256 that "sha256" states, where it states one. A case refers
 * to it as "page_table": "@azure"; the parsed case holds "sha256:<hex>". */
#ifndef WF_DATASETS_SUITE_H
#define WF_DATASETS_SUITE_H

#include "core/error.h"
#include "datasets/dataset.h"
#include "kernels/case.h"

#include <stddef.h>

struct wf_suite; /* opaque */

/* `name_or_path`: a built-in suite ("gemm-five": looked up in `suite_folder`) or a
 * path that ends in ".json". Errors name file, case and field; an unknown suite's
 * error lists the known ones. */
enum wf_status wf_suite_load(const char *name_or_path,
                             const char *suite_folder,
                             struct wf_dataset_store *datasets,
                             struct wf_suite **ret,
                             struct wf_error *err);
void wf_suite_free(struct wf_suite *suite);
const char *wf_suite_name(const struct wf_suite *suite);
size_t wf_suite_count(const struct wf_suite *suite);
const struct wf_case *wf_suite_case(const struct wf_suite *suite, size_t i);
const char *wf_suite_case_name(const struct wf_suite *suite, size_t i); /* unique */
/* The case's "known_best" object (recorded facts: tiles, times, sources), or NULL. */
const struct wf_json *wf_suite_case_known_best(const struct wf_suite *suite, size_t i);
/* How the case's time is asked for (datasets/measure.h), or NULL: nothing is said. */
const struct wf_json *wf_suite_case_measure(const struct wf_suite *suite, size_t i);
/* SHA-256 of the datasets that the suite's cases use. */
size_t wf_suite_dataset_count(const struct wf_suite *suite);
const char *wf_suite_dataset(const struct wf_suite *suite, size_t i);

/* Names of the *.json files in the folder, sorted; a JSON array of
 * {"name","description","cases"}. */
enum wf_status wf_suite_list(const char *suite_folder,
                             struct wf_json **ret,
                             struct wf_error *err);

#endif
