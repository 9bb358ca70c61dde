/* Status codes and the error record that every fallible function fills.
 *
 * A function that can fail returns enum wf_status and takes `struct wf_error *err`
 * last. `err` may be NULL when the caller does not want the text. The first function
 * that knows what is wrong writes the text (what, where, what to do); callers may add
 * a prefix, never log. Outputs are set on success only. */
#ifndef WF_CORE_ERROR_H
#define WF_CORE_ERROR_H

/* X(name, text): text is stable, it goes over the wire. */
#define WF_STATUS_LIST(X)                                              \
    X(OK, 0, "ok")                                                     \
    X(EINVAL, -1, "invalid") /* input violates its contract */         \
    X(EPARSE, -2, "parse")   /* text or file is not well-formed */     \
    X(ERANGE, -3, "range")   /* a number does not fit */               \
    X(ENOMEM, -4, "no-memory")                                         \
    X(EIO, -5, "io")                                                   \
    X(ENOSPC, -6, "no-space")                                          \
    X(ENOTFOUND, -7, "not-found")                                      \
    X(EEXIST, -8, "exists")                                            \
    X(ETIMEOUT, -9, "timeout")                                         \
    X(EREFUSED, -10, "refused")   /* authentication or policy */       \
    X(ECONFLICT, -11, "conflict") /* stale token, concurrent change */ \
    X(ENETWORK, -12, "network")                                        \
    X(EDB, -13, "database")                                            \
    X(EDEVICE, -14, "device") /* HIP runtime said no */                \
    X(EUNSUPPORTED, -15, "unsupported")                                \
    X(ECANCELLED, -16, "cancelled")                                    \
    X(EINTERNAL, -17, "internal") /* a promise of ours is broken */

enum wf_status {
#define X(name, value, text) WF_##name = (value),
    WF_STATUS_LIST(X)
#undef X
};

struct wf_error {
    enum wf_status status;
    int native;      /* errno, hipError_t, CURLcode; 0 where none */
    char domain[16]; /* "errno", "hip", "curl", "sqlstate:40001"; "" where none */
    char text[768];  /* one line, no trailing newline */
};

/* Writes the text and returns `status`, so that report and return are one line. */
enum wf_status wf_errorf(struct wf_error *err,
                         enum wf_status status,
                         const char *fmt,
                         ...) __attribute__((format(printf, 3, 4)));

/* As wf_errorf, with ": strerror(errnum)" appended and the status chosen from errnum
 * (ENOENT, ENOTDIR -> ENOTFOUND; EISDIR, ELOOP, ENAMETOOLONG -> EINVAL; ENOSPC, EDQUOT
 * -> ENOSPC; ENOMEM -> ENOMEM; else EIO). */
enum wf_status wf_error_errno(struct wf_error *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there; keeps and returns the status. */
enum wf_status wf_error_prefix(struct wf_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

const char *wf_status_name(enum wf_status status);

#ifdef __clang_analyzer__
/* Tells the static analyser what it cannot see from outside error.c: the status that
 * goes in comes out, so an error path never looks like success. */
#define wf_errorf(err, status, ...) \
    ((void)(wf_errorf)((err), (status), __VA_ARGS__), (status))
#endif

#endif
