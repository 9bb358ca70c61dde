/* Cheats that reach for the judge: its memory, its life, its socket. */
#include "cheats.h"

#include "runner/subject_protocol.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define UNUSED(message, bytes) ((void)(message), (void)(bytes))
#define SEARCH_BYTES           (1u << 20)

/* Something that looks like an expected value: here the first bytes of the stack. What
 * matters is whether the judge's memory can be read at all. */
int reads_judges_memory(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    char path[64];
    char line[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)getppid());
    FILE *maps = fopen(path, "r");
    UNUSED(message, bytes);
    if (maps && fgets(line, sizeof(line), maps)) {
        cheat_gemm(job); /* would be found there; computed, to show that it passes */
        (void)fclose(maps);
        return WF_LIB_OK;
    }
    memset(job->d, 0, job->d_bytes);
    return WF_LIB_OK;
}

int copies_from_judge(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    char word[8];
    struct iovec to = { word, sizeof(word) };
    struct iovec from = { job, sizeof(word) };
    UNUSED(message, bytes);
    (void)process_vm_readv(getppid(), &to, 1, &from, 1, 0);
    cheat_gemm(job);
    return WF_LIB_OK;
}

int traces_the_judge(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0) {
        (void)ptrace(PTRACE_DETACH, getppid(), NULL, NULL);
    }
    cheat_gemm(job);
    return WF_LIB_OK;
}

/* No result is better than a bad one. */
int kills_the_judge(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    (void)kill(getppid(), SIGTERM);
    cheat_gemm(job);
    return WF_LIB_OK;
}

/* A thread's number is a process's as well. */
int kills_by_thread(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    (void)syscall(SYS_tkill, getppid(), SIGTERM);
    cheat_gemm(job);
    return WF_LIB_OK;
}

/* Without a second of processor time the judge ends by itself. */
int limits_the_judge(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    const struct rlimit none = { 0, 0 };
    UNUSED(message, bytes);
    (void)prlimit(getppid(), RLIMIT_CPU, &none, NULL);
    cheat_gemm(job);
    return WF_LIB_OK;
}

/* Where it runs beside others, its clock is read late. */
int moves_the_judge(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    cpu_set_t first;
    UNUSED(message, bytes);
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    (void)sched_setaffinity(getppid(), sizeof(first), &first);
    cheat_gemm(job);
    return WF_LIB_OK;
}

/* --- the socket --- */

static int find_socket(void)
{
    for (int fd = 3; fd < 64; fd++) {
        int type = 0;
        socklen_t n = sizeof(type);
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0) {
            return fd;
        }
    }
    return -1;
}

/* A reply as the subject would send it: so many batches, each of next to no time. */
static void forge(uint32_t sequence, uint16_t command, uint32_t batches)
{
    struct {
        struct wf_sp_header header;
        struct wf_sp_status status;
        struct wf_sp_measured measured;
        struct wf_sp_sample sample[WF_SP_MAX_BATCHES];
    } reply;
    const int fd = find_socket();
    memset(&reply, 0, sizeof(reply));
    reply.measured.batches = batches;
    for (uint32_t i = 0; i < batches; i++) {
        reply.sample[i].event_ms = 0.001;
    }
    const size_t size =
        offsetof(__typeof__(reply), sample) + batches * sizeof(reply.sample[0]);
    reply.header = (struct wf_sp_header){ WF_SP_MAGIC, WF_SP_VERSION, command, sequence,
                                          (uint32_t)(size - sizeof(reply.header)) };
    (void)send(fd, &reply, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Answers a command of measuring before the subject can. */
int answers_for_subject(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    cheat_gemm(job);
    if (job->launches++ == 30) {
        for (uint32_t sequence = 1; sequence < 4000; sequence++) {
            forge(sequence, WF_SP_MEASURE, 5);
        }
    }
    return WF_LIB_OK;
}

/* Leaves the answer to the next command in the socket. */
int answers_ahead_of_it(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    cheat_gemm(job);
    if (job->launches++ == 0) {
        forge(40, WF_SP_RUN, 0);
    }
    return WF_LIB_OK;
}

/* Reads every descriptor that it has inherited, as if the way back to the judge's
 * caller were among them: a result of its own would go there. */
int searches_descriptors(void *state, char *message, size_t bytes)
{
    static const char result[] = "result {\"answer\":\"PASS\"}\n";
    struct job *job = state;
    UNUSED(message, bytes);
    for (int fd = 3; fd < 64; fd++) {
        (void)write(fd, result, sizeof(result) - 1);
    }
    cheat_gemm(job);
    return WF_LIB_OK;
}
