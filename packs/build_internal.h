/* What the files of the build share. It goes: entries to kernels (build_entry.c),
 * kernels to units, one a compilation that differs from all others (build_code.c),
 * units to objects, several at once (build_unit.c), and the pack of it all
 * (build_pack.c). */
#ifndef WF_PACKS_BUILD_INTERNAL_H
#define WF_PACKS_BUILD_INTERNAL_H

#include "packs/build.h"
#include "packs/compiler.h"
#include "packs/kernel_cache.h"
#include "packs/provenance.h"

#include "core/buf.h"
#include "core/sha256.h"

/* Words of a command, owned. */
struct build_words {
    char **word; /* NULL-terminated once there is one */
    size_t count, cap;
    bool failed; /* no memory; told once by whoever uses the list */
};
void build_word(struct build_words *w, const char *word);
void build_word_take(struct build_words *w, char *word); /* NULL: failed */
void build_words_fini(struct build_words *w);

/* What entries are read for. */
struct build_target {
    bool library;     /* kernels of kind library, else of kind code-object */
    const char *arch; /* not of libraries */
    const char *root;
};

/* One compilation, and what became of it. */
struct build_unit {
    const struct compiler *compiler;
    struct build_words flags;
    char *source; /* path relative to the root */
    char *file;   /* in the pack */
    char source_sha256[WF_SHA256_HEX];
    /* Of the kernel that asked first, for messages. */
    const char *entry, *kernel;
    /* After build_unit_run: */
    enum wf_status status;
    struct wf_error error;
    struct wf_buf deps;          /* files that were read, one a line, absolute */
    struct wf_buf output;        /* of the compiler, for people */
    struct wf_error cache_error; /* why the cache was of no use; "" */
    bool from_cache;
    int64_t compile_ns;
};

/* A kernel that an entry asks for. */
struct build_kernel {
    struct wf_json *json;    /* as pack.json wants it, but `code` and `arch` as in the
                                entry; owned */
    struct wf_json *compile; /* the merged "compile"; owned, may be NULL */
    const char *entry;       /* path relative to root; borrowed */
    size_t request;          /* index of the request that it is of */
    char *source;            /* for the record */
    size_t *unit;            /* indices, one for each label of its code */
    size_t unit_count;
    enum wf_status status;
    struct wf_error error;
};

struct build_kernels {
    struct build_kernel *item;
    size_t count, cap;
};

struct build_units {
    struct build_unit *item;
    size_t count, cap;
};

struct build_compilers {
    struct compiler **item; /* each of its own, since units point to them */
    size_t count;
};

struct build {
    const struct wf_build_options *o;
    struct build_kernels kernels;
    struct build_units units;
    struct build_compilers compilers;
    const char *folder; /* of the pack that is being made */
};

void build_kernel_fini(struct build_kernel *k);
void build_kernels_fini(struct build_kernels *k);

/* Reads the entry of a request and appends its kernels. */
enum wf_status build_read_entry(const struct build_target *o,
                                const struct wf_build_kernel *request,
                                struct build_kernels *ret,
                                struct wf_error *err);

/* --- flags (build_flags.c) --- */

bool build_is_amd(const struct build *b);
bool build_allows_spills(const struct build_kernel *k);
const char *build_compiler_name(const struct build *b, const struct build_kernel *k);
enum wf_status build_flags(const struct build *b,
                           const struct build_kernel *k,
                           struct build_words *ret,
                           struct wf_error *err);

/* --- units --- */

/* Fills the kernel's units, making new ones where no earlier one does. */
enum wf_status build_plan_kernel(struct build *b,
                                 struct build_kernel *k,
                                 struct wf_error *err);
/* After all units have run: the kernel's status, and its members in pack.json. */
void build_finish_kernel(struct build *b, struct build_kernel *k);
/* Compiles one unit, or takes it from the cache; any thread. */
void build_unit_run(const struct build *b, struct build_unit *u);
/* All of them, `jobs` at once. */
void build_run_units(struct build *b);
void build_units_fini(struct build_units *u);
void build_compilers_fini(struct build_compilers *c);

/* The key of the unit's object: all that decides about it. `text`: preprocessed, with
 * its macros. EUNSUPPORTED when the object depends on what the text does not show. */
enum wf_status build_key(const struct build *b,
                         const struct build_unit *u,
                         const struct wf_buf *text,
                         char ret[WF_SHA256_HEX],
                         struct wf_error *err);
/* The files of the tree and of the tools that a preprocessed text was made of, one a
 * line, absolute, each once. */
enum wf_status build_deps_of(const struct wf_buf *text,
                             const char *root,
                             struct wf_buf *deps,
                             struct wf_error *err);

/* --- the pack (build_pack.c) --- */

struct build_pack {
    const char *name, *root, *out, *depfile;
    char *folder; /* "<out>.new" */
    struct wf_buf deps;
    struct wf_error *err;
};

enum wf_status build_pack_begin(struct build_pack *p);
/* Writes pack.json of the kernels' `json`, the record and the depfile, and puts the
 * folder in place. record[i] is of kernel[i]. */
enum wf_status build_pack_end(struct build_pack *p,
                              const struct wf_json *const *kernel,
                              const struct wf_provenance_kernel *record,
                              size_t n);
/* After success or failure. */
void build_pack_fini(struct build_pack *p, bool failed);

#endif
