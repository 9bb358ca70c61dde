/* The subject: the process that owns the device and runs other people's code. Private
 * to the program wavefarm-subject (subject_*.c). It knows no case and no expected
 * value: it obeys commands of subject_protocol.h. */
#ifndef WF_RUNNER_SUBJECT_H
#define WF_RUNNER_SUBJECT_H

#include "packs/library_abi.h"
#include "runner/hip_table.h"
#include "runner/subject_wire.h"

#include <pthread.h>

#define SUBJECT_NO_OBJECT    UINT32_MAX
#define SUBJECT_MAX_PATTERNS 16u
#define SUBJECT_MAX_COPIES   64u

struct subject_object {
    void *base;  /* as allocated; NULL: unused */
    char *first; /* of the object itself, after the guard zone */
    uint64_t bytes;
    uint64_t guard_bytes;
    uint64_t base_bytes; /* between the guard zone and the object */
};

struct subject_launch {
    hipFunction_t function;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes;
    bool cooperative;
    unsigned char *args;
    size_t args_bytes;
    void **params; /* pointers into args, for cooperative launches */
    void **arrays; /* device arrays of pointers that belong to it */
    size_t array_count;
};

/* A workspace that is set before every launch sequence, inside the timed region. */
struct subject_each {
    uint32_t object;
    uint32_t byte;
};

struct subject_program {
    struct subject_each *each;
    size_t each_count;
    struct subject_launch *launch;
    size_t launch_count;
    /* Of a library kernel, instead of launches: */
    struct wf_lib_tensor *tensors;
    struct wf_lib_problem problem;
    void *state;
    bool prepared;
    const struct wf_lib_kernel *kernel; /* that prepared it */
};

/* A block of one pattern in device memory, from which fills start. */
struct subject_pattern {
    uint8_t pattern[WF_SP_PATTERN_BYTES];
    uint32_t pattern_bytes;
    void *block;
};

struct subject_param {
    char name[64];
    struct wf_sp_param value;
};

struct subject_library {
    struct subject *owner;
    void *handle; /* NULL: its number is free */
    const struct wf_library_v1 *table;
    const struct wf_lib_kernel *kernel;
    struct wf_buf text; /* op, case and tensor names: borrowed by `problem` */
    struct wf_lib_tensor *tensors;
    size_t tensor_count;
    struct wf_lib_problem problem;
    struct wf_lib_device device;
    char arch[64];
    struct subject_param *params; /* what the judge has answered */
    size_t param_count;
    pthread_mutex_t params_lock;
};

/* The same file loaded a second time: an image of its own. */
struct subject_copy {
    void *of, *handle;
};

struct subject {
    int fd;
    unsigned char *window;
    struct wf_hip hip;
    struct wf_error no_runtime; /* why hip is not loaded */
    int device;
    bool open;
    hipStream_t stream;
    hipEvent_t event[2 * WF_SP_MAX_BATCHES];
    struct subject_object *object; /* WF_SP_MAX_OBJECTS of them */
    struct subject_pattern pattern[SUBJECT_MAX_PATTERNS];
    size_t pattern_count;
    struct wf_sp_fill *reset;
    size_t reset_count;
    hipModule_t code[WF_SP_MAX_CODES];
    struct subject_program *program; /* WF_SP_MAX_PROGRAMS of them */
    struct subject_library library[WF_SP_MAX_LIBRARIES];
    struct subject_copy copy[SUBJECT_MAX_COPIES];
    size_t copy_count;
    bool jailed;
    uint32_t jail;         /* of WF_SP_JAIL */
    bool noting;           /* launches leave their reports */
    struct wf_buf reports; /* JSON texts with commas between them */
};

/* Command handlers: arguments from `in`, result appended to `out`. */
typedef enum wf_status (*subject_handler_fn)(struct subject *s,
                                             struct wire_in *in,
                                             struct wf_buf *out,
                                             struct wf_error *err);

/* subject_device.c */
enum wf_status subject_hello(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err);
enum wf_status subject_device(struct subject *s,
                              struct wire_in *in,
                              struct wf_buf *out,
                              struct wf_error *err);
enum wf_status subject_open(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err);
enum wf_status subject_tick(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err);
void subject_close(struct subject *s);

/* subject_memory.c */
enum wf_status subject_alloc(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err);
enum wf_status subject_free(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err);
enum wf_status subject_write(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err);
enum wf_status subject_read(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err);
enum wf_status subject_fill(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err);
enum wf_status subject_set_reset(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err);
/* Enqueues the reset list. */
enum wf_status subject_reset(struct subject *s, struct wf_error *err);
/* Less what belongs to other sets than `count` from `first` on, of `set_count` in a
 * ring. */
enum wf_status subject_reset_sets(struct subject *s,
                                  uint32_t first,
                                  uint32_t count,
                                  uint32_t set_count,
                                  struct wf_error *err);
/* Enqueues a copy between two objects. */
enum wf_status subject_copy(struct subject *s,
                            const struct wf_sp_step *step,
                            struct wf_error *err);
/* NULL in `ret` for SUBJECT_NO_OBJECT. */
enum wf_status subject_address(const struct subject *s,
                               uint32_t object,
                               char **ret,
                               struct wf_error *err);
void subject_memory_destroy(struct subject *s);
/* CLEAR: everything of the case before, so that the next one begins as in a new
 * subject. */
enum wf_status subject_clear(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err);

/* subject_launch.c */
enum wf_status subject_load_code(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err);
enum wf_status subject_set_program(struct subject *s,
                                   struct wire_in *in,
                                   struct wf_buf *out,
                                   struct wf_error *err);
enum wf_status subject_occupancy(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err);
/* Enqueues the whole launch sequence of a program. */
enum wf_status subject_enqueue(struct subject *s, uint32_t index, struct wf_error *err);
void subject_programs_destroy(struct subject *s);

/* subject_library.c */
enum wf_status subject_lib_load(struct subject *s,
                                struct wire_in *in,
                                struct wf_buf *out,
                                struct wf_error *err);
enum wf_status subject_lib_query(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err);
enum wf_status subject_lib_prepare(struct subject *s,
                                   struct wire_in *in,
                                   struct wf_buf *out,
                                   struct wf_error *err);
enum wf_status subject_lib_launch(const struct subject_program *program,
                                  struct wf_error *err);
/* Ends what LIB_PREPARE made of a program; unprepared is good. */
void subject_lib_release(struct subject_program *program);
/* Their numbers are free again; their code stays in the process: threads that it
 * started may still run in it. */
void subject_libs_forget(struct subject *s);
void subject_lib_destroy(struct subject *s);

/* subject_report.c: what a runtime that models says of its launches. */
enum wf_status subject_option(struct subject *s,
                              struct wire_in *in,
                              struct wf_buf *out,
                              struct wf_error *err);
enum wf_status subject_reports(struct subject *s,
                               struct wire_in *in,
                               struct wf_buf *out,
                               struct wf_error *err);
/* After a launch; does nothing unless `noting`. Such a runtime launches synchronously.
 */
enum wf_status subject_note_launch(struct subject *s, struct wf_error *err);

/* subject_measure.c */
enum wf_status subject_run(struct subject *s,
                           struct wire_in *in,
                           struct wf_buf *out,
                           struct wf_error *err);
enum wf_status subject_script(struct subject *s,
                              struct wire_in *in,
                              struct wf_buf *out,
                              struct wf_error *err);
enum wf_status subject_measure(struct subject *s,
                               struct wire_in *in,
                               struct wf_buf *out,
                               struct wf_error *err);

#endif
