/* A pack: a folder with pack.json and the files it names. docs/pack.md is the format's
 * description, docs/schemas/pack.schema.json its JSON Schema.
 *
 * The id is the SHA-256 of the canonical form of pack.json, which states the SHA-256 of
 * every file: equal code has an equal id. Provenance (repository, commit, compiler and
 * flags of each kernel) is a record beside the pack, not inside. */
#ifndef WF_PACKS_PACK_H
#define WF_PACKS_PACK_H

#include "core/dtype.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/value.h"
#include "packs/expr.h"
#include "packs/provenance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_kernel_kind {
    WF_KERNEL_CODE_OBJECT,
    WF_KERNEL_LIBRARY,
    WF_KERNEL_PROCESS
};

enum wf_buffer_kind {
    WF_BUFFER_WORKSPACE, /* bytes, initial value, once or each launch */
    WF_BUFFER_DERIVED    /* made from a tensor by a named transform, outside the time */
};

enum wf_buffer_init {
    WF_INIT_NONE,
    WF_INIT_ONCE,
    WF_INIT_EACH
};

struct wf_pack_buffer {
    const char *name;
    enum wf_buffer_kind kind;
    struct wf_expr *bytes;       /* workspace */
    enum wf_buffer_init init;    /* NONE: poisoned, the kernel must not rely on it */
    uint8_t init_byte;           /* value that it is filled with */
    const char *transform;       /* derived: name in transforms.def */
    const char *from;            /* derived: tensor */
    struct wf_pack_param *param; /* derived: the transform's own arguments */
    size_t param_count;
};

struct wf_pack_param {
    const char *name;
    struct wf_expr *value;
};

enum wf_arg_kind {
    WF_ARG_POINTER, /* tensor or buffer, plus a byte offset expression */
    WF_ARG_SCALAR,
    WF_ARG_STRUCT,    /* by value, explicit offsets and size */
    WF_ARG_POINTERS,  /* device array of pointers */
    WF_ARG_TENSOR_MAP /* NVIDIA tensor map, 128 bytes, 64-byte aligned */
};

enum wf_scalar_type {
    WF_SCALAR_I8,
    WF_SCALAR_U8,
    WF_SCALAR_I16,
    WF_SCALAR_U16,
    WF_SCALAR_I32,
    WF_SCALAR_U32,
    WF_SCALAR_I64,
    WF_SCALAR_U64,
    WF_SCALAR_F16,
    WF_SCALAR_BF16,
    WF_SCALAR_F32,
    WF_SCALAR_F64
};

struct wf_pack_arg {
    enum wf_arg_kind kind;
    const char *target; /* POINTER, TENSOR_MAP: tensor or buffer; "" is null */
    struct wf_expr *offset_bytes; /* POINTER: NULL is 0 */
    enum wf_scalar_type scalar;
    struct wf_expr *value; /* SCALAR */
    uint32_t struct_bytes, struct_align;
    struct wf_pack_arg
        *member; /* STRUCT: members, each with its offset; POINTERS: items */
    size_t member_count;
    uint32_t member_offset; /* inside a struct */
    /* TENSOR_MAP: dims, strides (bytes, of dims 1..), box, as expressions, fastest
     * first */
    struct wf_expr *map_dim[5], *map_stride[4], *map_box[5];
    int map_rank;
    enum wf_dtype map_dtype;
    const char *map_swizzle; /* "none" "32B" "64B" "128B" */
};

struct wf_pack_launch {
    const char *symbol;
    const char *code;        /* label in the kernel's `code` table */
    struct wf_expr *grid[3]; /* workgroups */
    struct wf_expr *block[3];
    struct wf_expr *cluster[3];   /* NULL: none */
    struct wf_expr *shared_bytes; /* dynamic LDS; NULL: 0 */
    bool cooperative;
    struct wf_expr *when; /* NULL: always */
    struct wf_pack_arg *arg;
    size_t arg_count;
};

struct wf_pack_code {
    const char *label; /* "main" */
    const char *file;  /* relative path in the pack */
};

struct wf_pack_kernel {
    const char *name;
    const char *op;
    const char *summary;
    enum wf_kernel_kind kind;
    const char *const *arch; /* "gfx942", "sm_90", "x86-64"; at least one */
    size_t arch_count;
    struct wf_pack_param *knob; /* constants and expressions over knobs, no cycles */
    size_t knob_count;
    struct wf_expr *supports;  /* NULL: always */
    bool deterministic;        /* declared; false allows differing bits within bounds */
    struct wf_expr *split;     /* partial sums, for the error model; NULL: 1 */
    const char *accumulate;    /* type name, "f32" by default */
    struct wf_pack_code *code; /* CODE_OBJECT */
    size_t code_count;
    const char *library;        /* LIBRARY: file in the pack */
    const char *const *command; /* PROCESS: argv; "{pack}" is the pack's folder */
    size_t command_count;
    const char *source; /* free text shown beside results: repository path; "" */
    struct wf_pack_buffer *buffer;
    size_t buffer_count;
    struct wf_pack_launch *launch;
    size_t launch_count;
    size_t first_expr, expr_count; /* for wf_pack_kernel_expr */
};

struct wf_pack; /* opaque */

/* Reads folder/pack.json and checks format, references between its parts, and the hash
 * of every file it names (a wrong one names file, stated and found hash). */
enum wf_status wf_pack_open(const char *folder,
                            struct wf_pack **ret,
                            struct wf_error *err);
/* pack.json alone, files not looked at (the coordinator's use). */
enum wf_status wf_pack_parse(const struct wf_json *json,
                             const char *source,
                             struct wf_pack **ret,
                             struct wf_error *err);
void wf_pack_free(struct wf_pack *pack);

const char *wf_pack_id(const struct wf_pack *pack); /* 64 hex digits */
const char *wf_pack_name(const struct wf_pack *pack);
const char *wf_pack_folder(const struct wf_pack *pack); /* "" after wf_pack_parse */
const char *wf_pack_canonical(
    const struct wf_pack *pack); /* pack.json that the id hashes */
size_t wf_pack_kernel_count(const struct wf_pack *pack);
const struct wf_pack_kernel *wf_pack_kernel_at(const struct wf_pack *pack, size_t i);
/* Every expression of a kernel of this pack, in the order of reading; NULL past the
 * end. */
const struct wf_expr *wf_pack_kernel_expr(const struct wf_pack *pack,
                                          const struct wf_pack_kernel *kernel,
                                          size_t i);
const struct wf_pack_kernel *wf_pack_kernel(const struct wf_pack *pack,
                                            const char *name);
size_t wf_pack_file_count(const struct wf_pack *pack);
/* SHA-256 of a file it names, or NULL. */
const char *wf_pack_file_sha256(const struct wf_pack *pack, const char *file);

/* Scope with the kernel's knobs, over `next` (case, then device). A knob is evaluated
 * when it is first asked for. */
struct wf_knobs; /* opaque */
enum wf_status wf_knobs_create(const struct wf_pack_kernel *kernel,
                               const struct wf_scope *next,
                               struct wf_knobs **ret,
                               struct wf_error *err);
/* All of them, so that a wrong one that nothing uses is found too. */
enum wf_status wf_knobs_evaluate(struct wf_knobs *knobs, struct wf_error *err);
void wf_knobs_destroy(struct wf_knobs *knobs);
const struct wf_scope *wf_knobs_scope(const struct wf_knobs *knobs);

/* --- making and moving packs --- */
/* Fills in the hashes of `files` in folder/pack.json.in (or pack.json), writes
 * pack.json, and opens the result as a check. */
enum wf_status wf_pack_build(const char *folder,
                             struct wf_pack **ret,
                             struct wf_error *err);
/* {"id", "folder", and the members of pack.json}, for `wavefarm pack show --json`. */
enum wf_status wf_pack_describe(const struct wf_pack *pack,
                                struct wf_json **ret,
                                struct wf_error *err);
/* Reads symbols of the code objects and libraries and compares them with the launches:
 * a wrong symbol names those that are there. ELF (AMDGPU, CUDA cubin, shared objects)
 * and PTX text are understood. */
enum wf_status wf_pack_verify(const struct wf_pack *pack, struct wf_error *err);
/* A .tar.zst with pack.json first and the named files in order, no times or owners:
 * equal packs give equal bytes. */
enum wf_status wf_pack_archive(const struct wf_pack *pack,
                               const char *to_file,
                               struct wf_error *err);
/* Extracts into a temporary folder beside `folder`, opens and checks it, then renames.
 * Refuses absolute paths, "..", links, devices, more than 4096 files or 4 GiB. */
enum wf_status wf_pack_unarchive(const char *from_file,
                                 const char *folder,
                                 const char *expected_id, /* or NULL */
                                 struct wf_error *err);

#endif
