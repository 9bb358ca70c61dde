/* Reading pack.json: what the files pack_*.c share. Errors say where in the file:
 * "pack.json: kernel gemm_f16: launches[0].args[2].value: ...". */
#ifndef WF_PACKS_PACK_READ_H
#define WF_PACKS_PACK_READ_H

#include "packs/arena.h"
#include "packs/pack.h"

#define PACK_SCHEMA "wavefarm.pack/1"

/* Limits of a pack; a wrong or hostile file meets them, real ones do not. */
#define PACK_MAX_JSON_BYTES (16u << 20)
#define PACK_MAX_KERNELS    1024
#define PACK_MAX_FILES      4096
#define PACK_MAX_KNOBS      64
#define PACK_MAX_BUFFERS    64
#define PACK_MAX_LAUNCHES   256
#define PACK_MAX_ARGS       256
#define PACK_MAX_CODES      64
#define PACK_MAX_ARCHS      32
#define PACK_MAX_COMMAND    64
#define PACK_MAX_BLOB_BYTES 4096 /* kernel arguments of a launch */

struct pack_file {
    const char *path;
    const char *sha256;
};

struct wf_pack {
    struct arena arena;
    char id[WF_SHA256_HEX];
    const char *name;
    const char *folder;
    struct wf_buf canonical; /* of pack.json */
    struct pack_file *file;
    size_t file_count;
    struct wf_pack_kernel *kernel;
    size_t kernel_count;
};

struct pack_reader {
    struct wf_pack *pack;
    struct arena *arena;
    char where[320];
    size_t where_len;
    struct wf_error *err;
};

/* Adds to `where`; the result goes to pack_where_pop. */
size_t pack_where_push(struct pack_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void pack_where_pop(struct pack_reader *r, size_t mark);

/* "where: text". */
enum wf_status pack_fail(struct pack_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts `where` before an error that something below has written. */
enum wf_status pack_prefix(struct pack_reader *r, enum wf_status st);
enum wf_status pack_no_memory(struct pack_reader *r);
void *pack_alloc(struct pack_reader *r, size_t n, size_t size, enum wf_status *st);

enum wf_status pack_only_keys(struct pack_reader *r,
                              const struct wf_json *obj,
                              const char *const *keys);
enum wf_status pack_copy(struct pack_reader *r, const char *s, const char **ret);
/* Members. Strings are copied; opt_ leaves *ret as it is when the member is absent. */
enum wf_status pack_get_string(struct pack_reader *r,
                               const struct wf_json *obj,
                               const char *key,
                               const char **ret);
enum wf_status pack_opt_string(struct pack_reader *r,
                               const struct wf_json *obj,
                               const char *key,
                               const char **ret);
enum wf_status pack_opt_i64(struct pack_reader *r,
                            const struct wf_json *obj,
                            const char *key,
                            int64_t min,
                            int64_t max,
                            int64_t *ret);
/* Array with [least, most] items; absent is allowed when least is 0: *ret NULL. */
enum wf_status pack_opt_array(struct pack_reader *r,
                              const struct wf_json *obj,
                              const char *key,
                              size_t least,
                              size_t most,
                              const struct wf_json **ret);
/* A number or a string. */
enum wf_status pack_expr(struct pack_reader *r,
                         const struct wf_json *v,
                         struct wf_expr **ret);
enum wf_status pack_get_expr(struct pack_reader *r,
                             const struct wf_json *obj,
                             const char *key,
                             struct wf_expr **ret);
enum wf_status pack_opt_expr(struct pack_reader *r,
                             const struct wf_json *obj,
                             const char *key,
                             struct wf_expr **ret);
/* Object of name to expression. */
enum wf_status pack_params(struct pack_reader *r,
                           const struct wf_json *obj,
                           const char *key,
                           size_t most,
                           struct wf_pack_param **ret,
                           size_t *ret_count);
/* A path that pack.json names and that `files` holds; *ret is the pack's own string. */
enum wf_status pack_file_reference(struct pack_reader *r,
                                   const char *path,
                                   const char **ret);

/* The hash of a file of the pack: of a regular one, not of what a link leads to. */
enum wf_status pack_hash_file(const char *folder,
                              const char *path,
                              char ret[WF_SHA256_HEX],
                              struct wf_error *err);
/* pack.json or pack.json.in: a regular file of at most PACK_MAX_JSON_BYTES. */
enum wf_status pack_read_json(const char *path,
                              struct wf_json **ret,
                              struct wf_error *err);

enum wf_status pack_read_kernel(struct pack_reader *r,
                                const struct wf_json *json,
                                size_t index,
                                struct wf_pack_kernel *ret);
enum wf_status pack_read_buffers(struct pack_reader *r,
                                 const struct wf_json *json,
                                 struct wf_pack_kernel *k);
enum wf_status pack_read_launches(struct pack_reader *r,
                                  const struct wf_json *json,
                                  struct wf_pack_kernel *k);
enum wf_status pack_read_args(struct pack_reader *r,
                              const struct wf_json *array,
                              struct wf_pack_launch *launch);

/* Bytes and alignment of an argument in the blob. */
uint32_t pack_arg_bytes(const struct wf_pack_arg *a);
uint32_t pack_arg_align(const struct wf_pack_arg *a);
uint32_t wf_scalar_bytes(enum wf_scalar_type t);
const char *wf_scalar_name(enum wf_scalar_type t);

#endif
