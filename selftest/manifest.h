/* Manifests of the mutant packs: which kernels are wrong, how, in which cases it shows,
 * and what counts as caught. docs/mutants.md has the format. */
#ifndef WF_SELFTEST_MANIFEST_H
#define WF_SELFTEST_MANIFEST_H

#include "core/error.h"
#include "core/json.h"
#include "core/verdict.h"

#include <stddef.h>
#include <stdint.h>

enum wf_mutant_group {
    WF_MUTANT_WRONG,
    WF_MUTANT_CHEAT,
    WF_MUTANT_RIGHT,
    WF_MUTANT_GROUP_COUNT
};

#define WF_MUTANT_MAX_CASES 32
#define WF_MUTANT_MAX_SAYS  4

/* Strings and values are borrowed from the manifest. */
struct wf_mutant {
    const char *name, *op, *pack, *kernel, *fault;
    enum wf_mutant_group group;
    const struct wf_json *case_of[WF_MUTANT_MAX_CASES];
    const char *case_name[WF_MUTANT_MAX_CASES];
    size_t case_count;
    bool caught[WF_ANSWER_COUNT];
    bool caught_implausible; /* by its time */
    const char *says[WF_MUTANT_MAX_SAYS];
    size_t says_count;
    bool measure;
    int64_t deadline_ns;          /* 0: the default */
    const struct wf_json *tables; /* of its file; NULL: none */
};

struct wf_manifest; /* opaque */

/* Every *.json of the folder. Errors name file and mutant; two of one name, an unknown
 * case, an answer that says nothing about a kernel (NOT_SUPPORTED, ...) are refused. */
enum wf_status wf_manifest_load(const char *folder,
                                struct wf_manifest **ret,
                                struct wf_error *err);
/* One more document, taken over also when it fails; for tests. */
enum wf_status wf_manifest_add(struct wf_manifest *m,
                               struct wf_json *json,
                               const char *source,
                               struct wf_error *err);
struct wf_manifest *wf_manifest_create(void); /* NULL: no memory */
void wf_manifest_free(struct wf_manifest *m);
size_t wf_manifest_count(const struct wf_manifest *m);
const struct wf_mutant *wf_manifest_at(const struct wf_manifest *m, size_t i);

#endif
