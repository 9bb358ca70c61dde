/* Cheats that let the work count for less: clocks, events, work at another time. */
#include "cheats.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define UNUSED(message, bytes) ((void)(message), (void)(bytes))

/* --- clocks and events --- */

typedef int (*clock_fn)(clockid_t clock, struct timespec *ret);
typedef int (*elapsed_fn)(float *ms, void *start, void *stop);
typedef int (*record_fn)(void *event, void *stream);
typedef int (*synchronise_fn)(void);
typedef int (*copy_fn)(void *dst, const void *src, size_t bytes, int kind);
typedef int (
    *copy_async_fn)(void *dst, const void *src, size_t bytes, int kind, void *stream);

/* Every pointer of this program is that of data or of a function with 64 bits. */
#define TO_FUNCTION(fn, pointer) memcpy(&(fn), &(pointer), sizeof(fn))

static void *as_data(void (*function)(void))
{
    void *data;
    memcpy(&data, &function, sizeof(data));
    return data;
}

static int64_t clock_start_ns[16];

static int slow_clock(clockid_t clock, struct timespec *ret)
{
    const int code = clock_gettime(clock, ret);
    int64_t now_ns = (int64_t)ret->tv_sec * 1000000000 + ret->tv_nsec;
    int64_t *start_ns = &clock_start_ns[(unsigned)clock % 16];
    *start_ns = *start_ns ? *start_ns : now_ns;
    now_ns = *start_ns + (now_ns - *start_ns) / 4;
    ret->tv_sec = now_ns / 1000000000;
    ret->tv_nsec = now_ns % 1000000000;
    return code;
}

/* Time runs at a quarter of its speed, in the runtime and in the subject. */
int slows_the_clock(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches++ == 0) {
        void *slow = as_data((void (*)(void))slow_clock);
        if (cheat_poke(cheat_find_got("libwavefarm_host", "clock_gettime"), slow) !=
            WF_LIB_OK) {
            return WF_LIB_FAILED;
        }
    }
    cheat_gemm(job);
    return WF_LIB_OK;
}

static elapsed_fn real_elapsed;

static int small_elapsed(float *ms, void *start, void *stop)
{
    const int code = real_elapsed(ms, start, stop);
    *ms /= 4.0F;
    return code;
}

/* Puts `mine` in the place of a runtime's function; the old one goes to *ret_old. */
static int hook(const char *name, void (*mine)(void), void *ret_old)
{
    void *old = cheat_runtime_function(name);
    if (!old) {
        return WF_LIB_FAILED;
    }
    memcpy(ret_old, &old, sizeof(old));
    return cheat_poke(cheat_find_pointer(old), as_data(mine));
}

int shrinks_elapsed_time(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches++ == 0 &&
        hook("hipEventElapsedTime", (void (*)(void))small_elapsed, &real_elapsed) !=
            WF_LIB_OK) {
        return WF_LIB_FAILED;
    }
    cheat_gemm(job);
    return WF_LIB_OK;
}

static struct job *pending;
static record_fn real_record;

/* An event is recorded before the work that was handed over ahead of it. */
static int early_record(void *event, void *stream)
{
    const int code = real_record(event, stream);
    if (pending) {
        cheat_gemm(pending);
        pending = NULL;
    }
    return code;
}

int moves_the_stop_event(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches++ == 0 && hook("hipEventRecord", (void (*)(void))early_record,
                                     &real_record) != WF_LIB_OK) {
        return WF_LIB_FAILED;
    }
    pending = job;
    return WF_LIB_OK;
}

/* --- work at another time --- */

static synchronise_fn real_synchronise;
static copy_fn real_copy;
static copy_async_fn real_copy_async;

static void work_off(void)
{
    if (pending) {
        cheat_gemm(pending);
        pending = NULL;
    }
}

static int lazy_synchronise(void)
{
    work_off();
    return real_synchronise();
}

static int lazy_copy(void *dst, const void *src, size_t bytes, int kind)
{
    work_off();
    return real_copy(dst, src, bytes, kind);
}

static int lazy_copy_async(void *dst,
                           const void *src,
                           size_t bytes,
                           int kind,
                           void *stream)
{
    work_off();
    return real_copy_async(dst, src, bytes, kind, stream);
}

/* The work is done when the device is waited for: once for all launches. */
int works_at_synchronise(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches++ == 0 &&
        hook("hipDeviceSynchronize", (void (*)(void))lazy_synchronise,
             &real_synchronise) != WF_LIB_OK) {
        return WF_LIB_FAILED;
    }
    pending = job;
    return WF_LIB_OK;
}

/* ... when anything is copied: as soon as somebody could look, and no earlier. */
int works_at_copies(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches++ == 0 &&
        (hook("hipMemcpy", (void (*)(void))lazy_copy, &real_copy) != WF_LIB_OK ||
         hook("hipMemcpyAsync", (void (*)(void))lazy_copy_async, &real_copy_async) !=
             WF_LIB_OK)) {
        return WF_LIB_FAILED;
    }
    pending = job;
    return WF_LIB_OK;
}

static struct job *guarded;

static void touched(int signal_number, siginfo_t *info, void *context)
{
    struct job *job = guarded;
    const char *at = info->si_addr;
    (void)context;
    if (!job || at < (char *)job->d || at >= (char *)job->d + job->d_bytes) {
        (void)signal(signal_number, SIG_DFL);
        return;
    }
    guarded = NULL;
    (void)mprotect(job->d, job->d_bytes, PROT_READ | PROT_WRITE);
    cheat_gemm(job);
}

/* ... when the output's memory is touched. */
int works_on_page_fault(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    const struct sigaction action = { .sa_sigaction = touched, .sa_flags = SA_SIGINFO };
    UNUSED(message, bytes);
    if (job->launches++ == 0 && sigaction(SIGSEGV, &action, NULL) != 0) {
        return WF_LIB_FAILED;
    }
    guarded = job;
    return mprotect(job->d, job->d_bytes, PROT_NONE) == 0 ? WF_LIB_OK : WF_LIB_FAILED;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct job *handed;

static void *worker(void *unused)
{
    (void)unused;
    for (;;) {
        (void)pthread_mutex_lock(&lock);
        while (!handed) {
            (void)pthread_cond_wait(&wake, &lock);
        }
        struct job *job = handed;
        handed = NULL;
        (void)pthread_mutex_unlock(&lock);
        cheat_gemm(job);
    }
    return NULL;
}

/* Returns while another thread works. */
int works_in_a_thread(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    pthread_t thread;
    UNUSED(message, bytes);
    if (job->launches++ == 0 && pthread_create(&thread, NULL, worker, NULL) != 0) {
        return WF_LIB_FAILED;
    }
    (void)pthread_mutex_lock(&lock);
    handed = job;
    (void)pthread_cond_signal(&wake);
    (void)pthread_mutex_unlock(&lock);
    return WF_LIB_OK;
}
