/* The judge: makes inputs, drives the subject, compares, measures. Private to the
 * program wavefarm-judge (judge_*.c).
 *
 * Functions return WF_OK to go on. A verdict that ends the task sets `done`. An error
 * return ends the task too: judge_conclude turns it into an answer when it came from
 * the subject while other people's code was in it, else it is the runner's own failure.
 */
#ifndef WF_RUNNER_JUDGE_H
#define WF_RUNNER_JUDGE_H

#include "kernels/op.h"
#include "packs/plan.h"
#include "runner/digest.h"
#include "runner/result.h"
#include "runner/subject_client.h"

#define JUDGE_GUARD_BYTES  4096u /* at least, where there are guard zones */
#define JUDGE_NO_OBJECT    UINT32_MAX
#define JUDGE_POISON_TYPE  0x100u /* no byte */
#define SECOND_NS          ((int64_t)1000000000)
/* Of a pair's arms: the second one's code and programs have numbers from here on; the
 * last objects are for what belongs to no set. */
#define JUDGE_PAIR_NUMBERS (WF_SP_MAX_PROGRAMS / 2)
#define JUDGE_PAIR_SPARE   16u

/* Names that expressions may use about the device; `occupancy` is found when first
 * asked for. */
struct judge_device_scope {
    struct judge *judge;
    bool has_occupancy, asking_occupancy;
    int64_t occupancy;
    char arch[64]; /* without features */
};

/* Bytes of a tensor that the judge fills and looks at: ascending, apart. */
struct judge_range {
    uint64_t at, bytes;
};
struct judge_touch {
    struct judge_range *range;
    size_t count;
    uint64_t bytes; /* sum */
    bool sparse;    /* the tensor is larger */
};

/* One guard zone of an object. */
struct judge_zone {
    uint32_t object;
    uint32_t guard_bytes;
    uint64_t base_bytes; /* between the guard and an offset tensor */
    uint64_t bytes;      /* of the object */
    const char *name;
    enum wf_dtype type;
    bool before;
};

/* Where numbers of the subject begin that two arms of a pair do not share; all 0: a
 * task that has the subject to itself. */
struct judge_base {
    uint32_t buffer; /* objects between the tensors of a set and its buffers */
    uint32_t stride; /* objects of a set; 0: its tensors and buffers */
    uint32_t spare;  /* objects from the end on that are the other's */
    uint32_t program, code, library;
};

struct judge {
    const struct wf_execute_request *request;
    struct result *result;
    const char *subject_program;
    int64_t deadline_ns; /* of wf_monotonic_ns */
    bool done;           /* the verdict is known */
    bool subject_failed; /* the last error came from the subject */
    bool kernel_in;      /* other people's code has been loaded into the subject */
    /* Of a pair: what the twin holds for both. */
    bool has_twins_case, has_twins_tensors, has_twins_reference;
    void (*say)(const char *line); /* progress for the caller */

    struct judge_base base;
    struct judge *twin; /* the other arm of a pair while both are on the device: it has
                           the same tensors and inputs; NULL: there is none */

    struct wf_dataset_store *datasets;
    struct wf_case *c;
    struct wf_pack *pack;
    const struct wf_pack_kernel *kernel;
    struct judge_device_scope device;
    struct wf_scope device_scope, case_scope;
    struct wf_plan_tensor *tensor; /* of the case, in its order */
    size_t tensor_count;
    struct wf_plan *plan;
    uint64_t library_workspace_bytes;

    struct telemetry *telemetry; /* NULL: none */
    struct subject_client *subject;
    bool device_open;
    bool code_loaded;
    bool inputs_written;
    size_t sets;               /* of buffers; 1 unless cold */
    size_t copies;             /* of the loaded code; 1 unless icache cold */
    struct judge_touch *touch; /* of each tensor; NULL until memory is asked for */
    uint64_t guard_key;        /* never leaves the judge */
    uint64_t *input_digest;    /* of each tensor as it was written */
    uint64_t index_digest;  /* of all index tensors: library kernels prepare again when
                               it changes */
    uint64_t output_digest; /* of the first checked launch */
    struct audit *audit;    /* judge_audit.c; NULL: not begun */
    bool has_stale;
    bool spliced; /* timed inputs are those of splice_offset, made of those
                     of splice_base */
    uint64_t splice_base, splice_offset;
    uint64_t stale_digest; /* of the outputs before inputs changed under the kernel */
    struct wf_reference *reference;
    struct judge_reference_key {
        uint64_t seed_offset;
        int64_t split;
        enum wf_dtype accumulate_type;
    } reference_key;
    unsigned workspace_poison; /* byte */
    unsigned output_fill;      /* byte, or JUDGE_POISON_TYPE: the type's own poison */
    bool emulates;             /* the runtime takes options and reports launches */
    uint32_t guard_bytes;      /* before and behind every object; 0 where the runtime
                                  knows the bounds of allocations to the byte */
    struct wf_json *emulation; /* for the result's details; NULL: none yet */
    double emulation_ns;       /* of the first checked launch, on this machine */
};

/* judge_subject.c */
enum wf_status judge_call(struct judge *j,
                          enum wf_sp_command command,
                          const void *payload,
                          size_t n,
                          int64_t limit_ns,
                          struct wf_buf *reply,
                          struct wf_error *err);
enum wf_status judge_get(struct judge *j,
                         enum wf_sp_command command,
                         const void *payload,
                         size_t n,
                         int64_t limit_ns,
                         void *ret,
                         size_t ret_bytes,
                         struct wf_error *err);
/* Starts the subject and opens the device; nothing to do when it is open. */
enum wf_status judge_open_device(struct judge *j, struct wf_error *err);
/* Loads the kernel's code objects or its library; nothing to do when loaded. */
enum wf_status judge_load_code(struct judge *j, struct wf_error *err);
/* Once more the same code objects, under the numbers from copy * code_count. */
enum wf_status judge_load_copy(struct judge *j, size_t copy, struct wf_error *err);
/* The answer that an error from the subject stands for; false: it is the runner's own
 * failure. */
bool judge_conclude(struct judge *j, const struct wf_error *err);

/* judge_setup.c: case, pack, plan. */
enum wf_status judge_setup(struct judge *j, struct wf_error *err);
void judge_teardown(struct judge *j);
/* judge_scope.c */
void judge_scope_init(struct judge *j);

/* judge_objects.c: device buffers, programs. Object numbers of set s. */
uint32_t judge_tensor_object(const struct judge *j, size_t set, size_t tensor);
uint32_t judge_buffer_object(const struct judge *j, size_t set, size_t buffer);
uint32_t judge_pristine_object(const struct judge *j, size_t tensor);
bool judge_has_inout(const struct judge *j);     /* a tensor that is read and written */
size_t judge_set_objects(const struct judge *j); /* numbers that a set takes */
enum wf_status judge_allocate(struct judge *j, size_t sets, struct wf_error *err);
enum wf_status judge_set_programs(struct judge *j, struct wf_error *err);
enum wf_status judge_set_reset(struct judge *j, struct wf_error *err);
uint64_t judge_set_bytes(const struct judge *j); /* of one set of tensors */
/* Workspaces that are set once and kept between launches: the first one's name or NULL;
 * setting them all again. */
const char *judge_kept_workspace(const struct judge *j);
enum wf_status judge_fill_kept(struct judge *j, struct wf_error *err);

/* judge_icache.c: copies of the code. Program p launches copy p % copies on set
 * judge_program_set(p). */
size_t judge_program_count(const struct judge *j);
size_t judge_program_set(const struct judge *j, size_t program);
/* Copies that icache cold needs, and bytes of code that a launch may run. EUNSUPPORTED
 * says why it cannot be had. */
enum wf_status judge_icache_copies(struct judge *j,
                                   size_t *ret,
                                   uint64_t *ret_bytes,
                                   struct wf_error *err);
size_t judge_icache_most(const struct judge *j); /* copies that can be loaded */
enum wf_status judge_load_copies(struct judge *j,
                                 size_t copies,
                                 uint64_t bytes,
                                 struct wf_error *err);

/* The type's poison over a range of tensor i's copy. */
enum wf_status judge_poison_range(struct judge *j,
                                  uint32_t object,
                                  size_t i,
                                  const struct judge_range *r,
                                  struct wf_error *err);
struct judge_zone judge_tensor_zone(const struct judge *j, size_t set, size_t tensor);
struct judge_zone judge_buffer_zone(const struct judge *j, size_t set, size_t buffer);

/* judge_touch.c */
enum wf_status judge_find_touched(struct judge *j, struct wf_error *err);
void judge_forget_touched(struct judge *j);
bool judge_memory_is_sparse(const struct judge *j); /* untouched memory costs nothing */
/* Name of a tensor that is only touched in parts, or NULL. */
const char *judge_sparse_tensor(const struct judge *j);
/* Into the result: bytes touched of sparse tensors; where the answer may come from an
 * offset that wrapped, which tensor passes 32 bits. */
enum wf_status judge_note_layout(struct judge *j, struct wf_error *err);

/* judge_guard.c */
enum wf_status judge_draw_guard_key(struct judge *j, struct wf_error *err);
uint32_t judge_tensor_guard(const struct judge *j, size_t set, size_t tensor);
uint32_t judge_buffer_guard(const struct judge *j, size_t set, uint64_t bytes);
enum wf_status judge_write_guards(struct judge *j,
                                  const struct judge_zone *object,
                                  struct wf_error *err);
/* Of every object; a damaged zone sets the answer. */
enum wf_status judge_check_guards(struct judge *j, struct wf_error *err);

/* judge_library.c */
enum wf_status judge_library_query(struct judge *j, struct wf_error *err);
enum wf_status judge_library_prepare(struct judge *j, struct wf_error *err);

/* judge_inputs.c */
enum wf_status judge_write_inputs(struct judge *j,
                                  uint64_t seed_offset,
                                  struct wf_error *err);
/* Chunks of an object through the window, with what the caller does to each. */
typedef enum wf_status (*judge_chunk_fn)(void *ctx,
                                         uint64_t offset,
                                         unsigned char *bytes,
                                         uint64_t n,
                                         struct wf_error *err);
enum wf_status judge_read_object(struct judge *j,
                                 uint32_t object,
                                 uint64_t bytes,
                                 uint64_t chunk_unit,
                                 judge_chunk_fn take,
                                 void *ctx,
                                 struct wf_error *err);
/* The touched ranges of a tensor; offsets are those of its storage. */
enum wf_status judge_read_tensor(struct judge *j,
                                 size_t set,
                                 size_t tensor,
                                 judge_chunk_fn take,
                                 void *ctx,
                                 struct wf_error *err);

/* judge_verify.c */
enum wf_status judge_make_reference(struct judge *j,
                                    uint64_t seed_offset,
                                    struct wf_error *err);
void judge_drop_reference(struct judge *j);
/* Guard zones, inputs, padding, then the reference, for one set. `what` says which
 * launches wrote it. Sets the answer and `done` when something is wrong. */
enum wf_status judge_verify(struct judge *j,
                            size_t set,
                            const char *what,
                            struct wf_error *err);
/* All of that but the outputs. */
enum wf_status judge_verify_around(struct judge *j, size_t set, struct wf_error *err);
/* Bytes of an output tensor of one set, for a wf_output_source. */
struct judge_output_reader {
    struct judge *j;
    size_t set;
};
enum wf_status judge_read_output(void *ctx,
                                 size_t tensor,
                                 uint64_t offset,
                                 uint64_t n,
                                 void *dst,
                                 struct wf_error *err);
/* Whether the outputs are right by the reference at hand; changes no answer. */
enum wf_status judge_outputs_fit(struct judge *j,
                                 size_t set,
                                 bool *ret,
                                 struct wf_error *err);
/* Takes over what a check found; `what` says whose outputs they are. */
void judge_take_report(struct judge *j,
                       const struct wf_check_report *report,
                       const char *what);
enum wf_status judge_output_digest(struct judge *j,
                                   size_t set,
                                   uint64_t *ret,
                                   struct wf_error *err);

/* judge_repeat.c: what launch number `launch` finds in workspaces and outputs; takes
 * effect with judge_set_reset. */
void judge_set_finds(struct judge *j, size_t launch);
/* The other checked launches, after the first one was found right. */
enum wf_status judge_repeat(struct judge *j, struct wf_error *err);
/* One launch more on the inputs of the timed launches, whose last output is in `set`.
 */
enum wf_status judge_repeat_timed(struct judge *j, size_t set, struct wf_error *err);

/* Outputs of launches on equal inputs, by their digests. */
struct judge_outputs {
    uint64_t *digest; /* distinct ones */
    size_t distinct;
    size_t launches;
};
enum wf_status judge_outputs_init(struct judge_outputs *seen,
                                  size_t launches,
                                  struct wf_error *err);
void judge_outputs_fini(struct judge_outputs *seen);
/* True: not seen before. */
bool judge_outputs_note(struct judge_outputs *seen, uint64_t digest);
enum wf_status judge_outputs_details(const struct judge_outputs *seen,
                                     struct judge *j,
                                     struct wf_error *err);

/* judge_naive.c: every element of the outputs in `set` against the naive device kernel,
 * where that is asked for or worth it. `seed_offset` is that of the inputs, and the
 * reference is theirs. A kernel that is found wrong gets its answer. */
enum wf_status judge_naive(struct judge *j,
                           size_t set,
                           uint64_t seed_offset,
                           struct wf_error *err);

/* judge_report.c: on a runtime that models; on others they do nothing. */
/* When the device is open, before memory is asked for. */
enum wf_status judge_open_emulation(struct judge *j, struct wf_error *err);
/* For the next launch; `checked` false: without checks and counters. */
enum wf_status judge_emulate(struct judge *j, bool checked, struct wf_error *err);
/* Details of the last launch into the result. */
enum wf_status judge_take_launches(struct judge *j, struct wf_error *err);
/* After the same launch without checks: what they cost. */
enum wf_status judge_take_cost(struct judge *j, struct wf_error *err);
/* After a failed launch: the answer that the runtime's report names; false: none. */
bool judge_fault_answer(struct judge *j);
/* Puts what was taken into the result. */
enum wf_status judge_note_emulation(struct judge *j, struct wf_error *err);

/* judge_flow.c */
enum wf_status judge_run(struct judge *j, struct wf_error *err);
/* The parts of it: code and buffers of the first set; programs and the reset list, once
 * the inputs are written; the launches on equal inputs; what the timed launches left in
 * `set`. */
enum wf_status judge_place(struct judge *j, struct wf_error *err);
enum wf_status judge_set_launches(struct judge *j, struct wf_error *err);
enum wf_status judge_check_launches(struct judge *j,
                                    struct wf_sp_ran *ret_ran,
                                    struct wf_error *err);
enum wf_status judge_verify_timed(struct judge *j, size_t set, struct wf_error *err);
/* The result when all is over; `st` and `err`: how it ended. An error return is the
 * runner's own failure. */
enum wf_status judge_end(struct judge *j, enum wf_status st, struct wf_error *err);
enum wf_status judge_launch(struct judge *j,
                            struct wf_sp_ran *ret,
                            struct wf_error *err);
/* Seed offset of the inputs of the timed launches. */
uint64_t judge_timed_offset(const struct judge *j);
void judge_note_memory(struct judge *j);

/* judge_measure.c: copies of the buffers that the options ask for, EUNSUPPORTED says
 * why there are none; `checked` is how long the checked launch took. */
enum wf_status judge_find_sets(const struct judge *j,
                               size_t *ret,
                               struct wf_error *err);
enum wf_status judge_measure(struct judge *j,
                             const struct wf_sp_ran *checked,
                             size_t *ret_last_set,
                             struct wf_error *err);

/* judge_conditions.c: waits until the device is nobody else's; the time it takes is not
 * the task's. */
struct device_lock;
enum wf_status judge_lock_device(struct judge *j,
                                 struct device_lock **ret,
                                 struct wf_error *err);
const char *judge_sysfs_root(void); /* $WAVEFARM_SYSFS or "/sys" */

/* judge_process.c: the whole task of a process kernel. */
enum wf_status judge_run_process(struct judge *j, struct wf_error *err);

#endif
