/* Memory of a launch beside the program's own: at most 1.2 times its allocations and 4
 * MB for each resident workgroup without checks, three times the touched pages with
 * them; and sparse allocations cost what was touched. Each case is a process of its
 * own, so that its peak is its own. */
#include "core/parse.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WORKGROUPS = 16384, /* of 1024 dwords: 64 MiB a buffer */
    THREADS = 2
};
#define MIB          ((uint64_t)1 << 20)
#define BUFFER_BYTES ((uint64_t)WORKGROUPS * 1024 * 4)
#define SPARSE_BYTES ((uint64_t)100 << 30)
#define FAR_DWORDS   ((uint64_t)400 << 20) /* 1.56 GiB from lane to lane */

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss << 10;
}

static int compare(const char *what, uint64_t is, uint64_t most)
{
    (void)fprintf(stderr, "%s: %llu MiB, at most %llu MiB\n", what,
                  (unsigned long long)(is / MIB), (unsigned long long)(most / MIB));
    return is <= most ? 0 : 1;
}

static int copy_case(bool checks)
{
    struct program p = program_open(WF_FOOTPRINT_CO);
    uint64_t args[2] = { program_buffer(&p, BUFFER_BYTES),
                         program_buffer(&p, BUFFER_BYTES) };
    uint64_t before = peak_bytes();
    struct program_launch launch = {
        .grid = WORKGROUPS, .block = 1024, .unchecked = !checks, .threads = THREADS
    };
    program_good(&p, "copy", &launch, args, sizeof(args));
    uint64_t added = peak_bytes() - before;
    const uint32_t *to = program_host(args[0]);
    int bad = 0;
    for (uint64_t i = 0; i < BUFFER_BYTES / 4; i++) {
        bad |= to[i] != 1;
    }
    program_close(&p);
    /* Both buffers are touched by the launch: from as the zero page. */
    uint64_t own = 2 * BUFFER_BYTES;
    uint64_t most = checks ? 3 * own : own + own / 5;
    return bad + compare(checks ? "copy, checks" : "copy", added,
                         most + (uint64_t)THREADS * 4 * MIB);
}

static int sparse_case(void)
{
    struct program p = program_open(WF_FOOTPRINT_CO);
    uint64_t args[2] = { program_buffer(&p, SPARSE_BYTES), FAR_DWORDS };
    struct program_launch launch = { .grid = 1, .block = 64, .threads = 1 };
    program_good(&p, "far", &launch, args, sizeof(args));
    const uint32_t *to = program_host(args[0]);
    int bad = 0;
    for (uint64_t lane = 0; lane < 64; lane++) {
        bad |= to[lane * FAR_DWORDS] != lane + 1;
    }
    program_close(&p);
    return bad + compare("sparse, 64 pages touched in 100 GiB", peak_bytes(), 64 * MIB);
}

static int run_case(int number)
{
    return number == 0   ? copy_case(false)
           : number == 1 ? copy_case(true)
                         : sparse_case();
}

int main(void)
{
    int bad = 0;
    for (int i = 0; i < 3; i++) {
        int wait_status = 1;
        pid_t child = fork();
        if (child == 0) {
            _exit(run_case(i) == 0 ? 0 : 1);
        }
        if (child < 0 || waitpid(child, &wait_status, 0) != child || wait_status != 0) {
            (void)fprintf(stderr, "case %d failed\n", i);
            bad = 1;
        }
    }
    return bad;
}
