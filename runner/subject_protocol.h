/* What judge and subject say to each other over their socket pair.
 *
 * A message is a header and `payload_bytes` of payload. The judge sends one command and
 * waits for its reply (header, struct wf_sp_status, payload); before that reply the
 * subject may ask for a parameter of the case (WF_SP_PARAM). Both ends are the same
 * build on the same machine, so structures go as they lie in memory, but every size is
 * checked: the subject runs other people's code and may write anything.
 * Bulk data goes through a window of shared memory. Expected values never pass here. */
#ifndef WF_RUNNER_SUBJECT_PROTOCOL_H
#define WF_RUNNER_SUBJECT_PROTOCOL_H

#include <stdint.h>

#define WF_SP_MAGIC         0x57465331u /* "WFS1" */
#define WF_SP_VERSION       3
#define WF_SP_MAX_PAYLOAD   (4u << 20)
#define WF_SP_WINDOW_BYTES  (8u << 20)
#define WF_SP_MAX_OBJECTS   16384u
#define WF_SP_MAX_PROGRAMS  1024u
#define WF_SP_MAX_CODES     1024u
#define WF_SP_MAX_LIBRARIES 2u
#define WF_SP_MAX_BATCHES   64u
#define WF_SP_MAX_GUARD     (4u << 20)
#define WF_SP_MAX_BASE      4096u
#define WF_SP_PATTERN_BYTES 8u

/* X(NAME): the reply to each is a status and the payload in the comment. */
#define WF_SP_COMMANDS(X)                                                         \
    X(HELLO)       /* -> wf_sp_runtime */                                         \
    X(DEVICE)      /* wf_sp_index -> wf_sp_device */                              \
    X(OPEN)        /* wf_sp_index: device */                                      \
    X(LOAD_CODE)   /* wf_sp_index, path */                                        \
    X(ALLOC)       /* wf_sp_alloc */                                              \
    X(FREE)        /* wf_sp_index: object */                                      \
    X(WRITE)       /* wf_sp_transfer: from the window */                          \
    X(READ)        /* wf_sp_transfer: into the window */                          \
    X(FILL)        /* wf_sp_fill */                                               \
    X(SET_RESET)   /* u32 count, wf_sp_fill each: done before a checked launch */ \
    X(SET_PROGRAM) /* see subject_launch.c -> */                                  \
    X(OCCUPANCY)   /* wf_sp_occupancy, symbol -> u32 */                           \
    X(LIB_LOAD)    /* wf_sp_index: library, path -> name NUL version NUL u32 of   \
                      WF_SP_JAIL */                                               \
    X(LIB_QUERY)   /* see subject_library.c -> u64 workspace bytes */             \
    X(LIB_PREPARE) /* see subject_library.c -> text NUL: what it chose */         \
    X(RUN)         /* wf_sp_run -> wf_sp_ran */                                   \
    X(SCRIPT)      /* u32 count, wf_sp_step each -> wf_sp_ran */                  \
    X(MEASURE)     /* wf_sp_measure -> wf_sp_measured, wf_sp_sample each */       \
    X(TICK)        /* -> wf_sp_tick */                                            \
    X(OPTION)      /* name NUL value NUL: of a runtime that models */             \
    X(REPORTS)     /* -> JSON array, NUL: of the last RUN's launches */           \
    X(CLEAR)       /* as after OPEN: no object, program, code or library number   \
                      is taken */                                                 \
    X(QUIT)                                                                       \
    X(PARAM) /* from the subject: name -> wf_sp_param */

enum wf_sp_command {
    WF_SP_NONE,
#define X(name) WF_SP_##name,
    WF_SP_COMMANDS(X)
#undef X
    WF_SP_COMMAND_COUNT
};

struct wf_sp_header {
    uint32_t magic;
    uint16_t version;
    uint16_t command; /* of the command that is answered, in a reply */
    uint32_t sequence;
    uint32_t payload_bytes;
};

/* First part of every reply's payload. */
struct wf_sp_status {
    int32_t status; /* enum wf_status */
    int32_t native;
    char domain[16];
    char text[512];
};

struct wf_sp_index {
    uint32_t index;
    uint32_t unused;
};

struct wf_sp_runtime {
    uint32_t device_count;
    int32_t times_modelled;
    int32_t library_kernels;
    int32_t has_info;
    char name[32];
    char version[64];
    char no_device[256]; /* why there is none, "" otherwise */
};

struct wf_sp_device {
    int32_t cu_count, xcc_count, warp_size, clock_khz;
    uint64_t memory_bytes, l2_bytes, llc_bytes, lds_bytes;
    char name[128];
    char arch[64];
    char pci_bus_id[32];
    char cpus[256];
};

struct wf_sp_alloc {
    uint32_t object;
    uint32_t guard_bytes; /* before and after, a multiple of 4096 */
    uint64_t bytes;
    uint64_t base_bytes; /* the object begins so far behind the guard, below 4096 */
};

/* Offsets are from the object's first byte and may reach into its guard zones. */
struct wf_sp_transfer {
    uint32_t object;
    uint32_t unused;
    int64_t offset;
    uint64_t bytes; /* at most the window */
};

struct wf_sp_fill {
    uint32_t object;
    uint32_t pattern_bytes; /* 1, 2, 4 or 8; 0: copy from `source` */
    uint32_t source;        /* object of the same size */
    uint32_t set;           /* in a reset list: set of buffers, from 1, that it belongs
                               to; 0: none */
    int64_t offset;
    uint64_t bytes;
    uint8_t pattern[WF_SP_PATTERN_BYTES];
};

struct wf_sp_occupancy {
    uint32_t code;
    uint32_t block_threads;
    uint32_t shared_bytes;
    uint32_t unused;
};

struct wf_sp_run {
    uint32_t program;
    uint32_t reset; /* 1: the reset list first */
};

struct wf_sp_ran {
    int64_t host_ns; /* launch to the end of a device-wide synchronise */
    double event_ms; /* as the runtime says it */
};

/* A step of SCRIPT: a copy on the device between two objects, or a launch. Steps are
 * enqueued in order without waiting. */
struct wf_sp_step {
    uint32_t bytes; /* of a copy; 0: launch program `object` */
    uint32_t object;
    uint32_t source;
    uint32_t unused;
    int64_t offset; /* in `object` */
    int64_t from;   /* in `source` */
};

/* What holds a library's code. X(NAME, member of details.isolation) */
#define WF_SP_JAIL(X)                           \
    X(NO_NEW_PRIVILEGES, "no_new_privileges")   \
    X(SYSTEM_CALL_FILTER, "system_call_filter") \
    X(CAPABILITIES_DROPPED, "capabilities_dropped")

enum {
    WF_SP_NO_NEW_PRIVILEGES = 1,
    WF_SP_SYSTEM_CALL_FILTER = 2,
    WF_SP_CAPABILITIES_DROPPED = 4
};

/* Batches one after the other without waiting; a batch is the reset list, `lead`
 * launches, an event, `launches` launches, an event. */
struct wf_sp_measure {
    uint32_t batches;
    uint32_t launches;
    uint32_t lead;
    uint32_t reset;
    uint32_t program_count; /* launches go through programs 0 .. count - 1 in turn */
    uint32_t first;         /* program of the first launch */
    uint32_t set_count;     /* program p uses set p % set_count (0: there is one): a
                               batch resets only the sets that it launches on */
    uint32_t base;          /* number of what is called program 0 here */
};

struct wf_sp_measured {
    int64_t
        host_ns; /* from before the first batch to after a device-wide synchronise */
    uint32_t batches;
    uint32_t last_program; /* from the base on */
};

struct wf_sp_sample {
    double event_ms;    /* of the whole batch, as the runtime says it */
    int64_t enqueue_ns; /* host time to hand over the batch's launches */
};

/* The smallest difference between events recorded one behind the other; 0: all were
 * equal. */
struct wf_sp_tick {
    double tick_ms;
};

enum {
    WF_SP_PARAM_UNKNOWN,
    WF_SP_PARAM_INT,
    WF_SP_PARAM_DOUBLE,
    WF_SP_PARAM_STRING
};

struct wf_sp_param {
    int32_t kind;
    int32_t unused;
    int64_t i;
    double d;
    char s[64];
};

const char *wf_sp_command_name(unsigned command);

#endif
