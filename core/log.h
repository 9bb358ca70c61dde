/* One line a message on stderr: "2026-12-01T03:04:05.678Z LEVEL program: text
 * key=value". Called by programs (main files, request handlers, the agent's loop), not
 * by library code. Thread-safe. */
#ifndef WF_CORE_LOG_H
#define WF_CORE_LOG_H

enum wf_log_level {
    WF_LOG_DEBUG,
    WF_LOG_INFO,
    WF_LOG_WARN,
    WF_LOG_ERROR
};

void wf_log_init(const char *program, enum wf_log_level lowest);
void wf_log(enum wf_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
