/* Library kernels of gemm over cuBLASLt and hipBLASLt (docs/libraries.md). The two
 * libraries are loaded when they are first asked for; no header of a vendor is needed.
 * What they share is written once; a vendor's file (cublaslt.c, hipblaslt.c) gives the
 * values of its enumerators and its own rules.
 *
 * Orientation. The op is row-major, the libraries are column-major. A row-major matrix
 * of R rows and C columns with leading dimension ld is a column-major matrix of C rows
 * and R columns with the same ld: its transpose. So D = op(A) op(B) is asked for as D'
 * = op(B)' op(A)': the library's A is our B, its m is our N, its bias runs along its m
 * and so along our N, and the transposes keep their letters, each with its operand. */
#ifndef WF_KERNELS_BLASLT_BLASLT_H
#define WF_KERNELS_BLASLT_BLASLT_H

#include "core/dtype.h"
#include "packs/library_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a reason goes; its functions return the code. */
struct blaslt_says {
    char *text;
    size_t bytes;
};
int blaslt_say(const struct blaslt_says *says, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* --- the problem (problem.c) --- */

/* Ours, in our order. */
enum {
    BLASLT_A,
    BLASLT_B,
    BLASLT_C,
    BLASLT_D,
    BLASLT_MATRICES
};

struct blaslt_matrix {
    enum wf_dtype dtype;
    int64_t rows, cols; /* as stored, row-major */
    int64_t ld, stride, offset;
    void *data; /* NULL before prepare, and for a C that is not read */
    uint64_t bytes;
};

enum blaslt_scale {
    BLASLT_UNSCALED,
    BLASLT_SCALE_ROW, /* a factor a row of op(A) and one a column of op(B) */
    BLASLT_SCALE_OTHER
};

enum blaslt_activation {
    BLASLT_LINEAR,
    BLASLT_SILU,
    BLASLT_OTHER_ACTIVATION
};

struct blaslt_vector {
    void *data;
    uint64_t bytes;
};

struct blaslt_problem {
    int64_t m, n, k, batch;
    bool trans_a, trans_b;
    double alpha, beta;
    struct blaslt_matrix matrix[BLASLT_MATRICES];
    bool has_bias;
    enum wf_dtype bias_type;
    enum blaslt_scale scale;
    enum blaslt_activation activation;
    struct blaslt_vector bias, scale_a, scale_b;
};

/* 0, or a WF_LIB_ code with the reason. Also refuses, by what the op promises and no
 * library does, alpha = 0 and K = 0. M or N or batch = 0 is good: nothing to do. */
int blaslt_read_problem(const struct wf_lib_problem *from,
                        const struct wf_lib_device *device,
                        struct blaslt_problem *ret,
                        const struct blaslt_says *says);

static inline bool blaslt_is_integer(const struct blaslt_problem *p)
{
    return p->matrix[BLASLT_A].dtype == WF_I8;
}

static inline bool blaslt_has_nothing_to_do(const struct blaslt_problem *p)
{
    return p->m == 0 || p->n == 0 || p->batch == 0;
}

/* --- the library (load.c) --- */

struct blaslt_functions {
#define BLASLT_FUNCTION(member, name, parameters) int(*member) parameters;
#include "kernels/blaslt/functions.def"
#undef BLASLT_FUNCTION
};

struct blaslt_device {
#define BLASLT_DEVICE(member, cuda, hip, parameters) int(*member) parameters;
#include "kernels/blaslt/device.def"
#undef BLASLT_DEVICE
};

#define BLASLT_NONE    (-1)
#define BLASLT_RESULTS 16 /* candidates that the `best` kernel times */

/* Values of the vendor's enumerators; BLASLT_NONE where it has none. */
struct blaslt_values {
    int op_n, op_t;
    int compute_f32, compute_i32, type_f32, type_i32;
    int batch_count, batch_stride;                   /* of layouts */
    int trans_a, trans_b, epilogue, bias, bias_type; /* of matmul descriptors */
    int epilogue_default, epilogue_bias;
    int workspace;    /* of preferences */
    int alignment[4]; /* of preferences, the library's A B C D: bytes */
};

struct blaslt_library;

struct blaslt_vendor {
    const char *name;         /* "cuBLASLt" */
    const char *prefix;       /* "cublasLt" */
    const char *variable;     /* environment: the file to load instead */
    const char *const *files; /* tried in turn, NULL at the end */
    const char *advice;       /* when none can be loaded */
    uint64_t workspace_bytes; /* what algorithms may use at most */
    size_t algo_bytes;        /* of the algorithm, the first member of a result */
    struct blaslt_values values;
    /* Type of an element, or BLASLT_NONE. */
    int (*type)(enum wf_dtype t);
    /* Type of C's layout where C is not read. */
    enum wf_dtype (*unread_c)(enum wf_dtype d);
    const char *(*status_name)(int status); /* NULL: not known */
    /* Further functions and the version, after the shared ones are there. */
    int (*start)(struct blaslt_library *lib, const struct blaslt_says *says);
    /* What this library does not do. */
    int (*supports)(const struct blaslt_library *lib,
                    const struct blaslt_problem *p,
                    const struct wf_lib_device *device,
                    const struct blaslt_says *says);
    /* Epilogue of a problem that it supports. */
    int (*epilogue)(const struct blaslt_problem *p);
    /* Sets the descriptor's attributes of row scales; 0 or a status, with the
     * attribute's name in *ret_what. The pointers are the library's: scale_a belongs to
     * our B. */
    int (*set_scales)(const struct blaslt_library *lib,
                      void *desc,
                      const void *scale_a,
                      const void *scale_b,
                      const char **ret_what);
    /* One line about an algorithm. */
    void (*describe)(const void *algo, char *text, size_t bytes);
};

struct blaslt_library {
    const struct blaslt_vendor *vendor;
    void *shared_object;
    struct blaslt_functions f;
    struct blaslt_device device; /* all NULL when `device_reason` says why */
    char device_reason[256];
    void *handle;
    int ordinal; /* of the device that the handle belongs to */
    int version; /* as the library states it */
    char version_text[64];
};

/* The vendor of this pack: cublaslt.c or hipblaslt.c. */
extern const struct blaslt_vendor blaslt_vendor;

/* Loads the library once a process, from the file that the vendor's variable names or
 * the first of its files that loads. WF_LIB_UNSUPPORTED with the reason when it cannot
 * be loaded or lacks a function. */
int blaslt_load(const struct blaslt_library **ret, const struct blaslt_says *says);
/* The same, and a handle for the device, made once. The device's context is current in
 * this thread: the runner has selected it before it calls a library. */
int blaslt_open(const struct wf_lib_device *device,
                const struct blaslt_library **ret,
                const struct blaslt_says *says);
/* Status of a call of the library, by name. The code is WF_LIB_UNSUPPORTED for `soft`
 * failures: what the library says of a problem that it does not do. */
int blaslt_status(const struct blaslt_library *lib,
                  const char *function,
                  int status,
                  bool soft,
                  const struct blaslt_says *says);
/* The same of a call that makes an object: success without one is a failure. */
int blaslt_made(const struct blaslt_library *lib,
                const char *function,
                int status,
                const void *object,
                const struct blaslt_says *says);
bool blaslt_find_symbol(void *shared_object, const char *name, void *member);

/* --- one problem on one library (plan.c) --- */

struct blaslt_plan {
    const struct blaslt_library *lib;
    struct blaslt_problem p;
    void *desc, *preference;
    void *layout[BLASLT_MATRICES]; /* by our letters */
    unsigned char *results;        /* as the library fills them */
    int result_count;
    int chosen;
    double alpha_double, beta_double; /* storage for float or int32_t */
};

/* `requested` candidates at most, in the library's order; only those that succeeded and
 * stay within the vendor's workspace are kept. */
int blaslt_plan_create(const struct blaslt_library *lib,
                       const struct blaslt_problem *p,
                       int requested,
                       struct blaslt_plan **ret,
                       const struct blaslt_says *says);
void blaslt_plan_destroy(struct blaslt_plan *plan);
const void *blaslt_plan_algo(const struct blaslt_plan *plan, int result);
uint64_t blaslt_plan_workspace(const struct blaslt_plan *plan, int result);

/* Pointers of one run, by our letters. */
struct blaslt_pointers {
    void *matrix[BLASLT_MATRICES];
    void *workspace;
    void *stream;
};
/* Enqueues candidate `result`. Returns the library's status. */
int blaslt_plan_run(const struct blaslt_plan *plan,
                    int result,
                    const struct blaslt_pointers *x);

/* --- choosing by time (best.c) --- */

struct blaslt_choice {
    int result; /* of the plan */
    int timed;  /* candidates */
    int failed; /* of them, launches that the library refused */
    double best_us, first_us;
};
/* Times every candidate on operands of its own (prepare's tensors are poison, and NaN
 * draws other clocks than numbers do). */
int blaslt_best(const struct blaslt_plan *plan,
                void *workspace,
                void *stream,
                struct blaslt_choice *ret,
                const struct blaslt_says *says);

#endif
