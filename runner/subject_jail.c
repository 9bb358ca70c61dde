/* The filter around a library kernel: no way into other processes.
 *
 * A list of what is refused, since GPU runtimes need nearly everything else. Calls that
 * no kernel has a use for and that reach into another process (ptrace and its like, a
 * signal to the judge) end the subject with SIGSYS, and a line says which call it was;
 * the judge calls that CHEAT_SUSPECTED. Calls that a library may try in good faith only
 * fail. Besides, the privileges are given up that would let root pass by: with the
 * judge not dumpable (judge_main.c), its memory and descriptors are closed to the same
 * user and to root alike.
 *
 * The filter is entered after the runtime has opened its device, which may run helpers
 * that are set-uid. */
#include "runner/subject_jail.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sanitizer looks for leaks by ptrace. */
#ifdef __SANITIZE_ADDRESS__
#define FORBIDDEN_UNLESS_SANITIZED(X)
#else
#define FORBIDDEN_UNLESS_SANITIZED(X) X(ptrace)
#endif

/* Reach into another process: the end. X(name) */
#define FORBIDDEN(X)              \
    FORBIDDEN_UNLESS_SANITIZED(X) \
    X(process_vm_readv)           \
    X(process_vm_writev)

/* Refused with EPERM: other processes' descriptors and signals, the machine's clock,
 * leaving the process group that is killed at the end. */
#define REFUSED(X)       \
    X(pidfd_getfd)       \
    X(pidfd_send_signal) \
    X(kcmp)              \
    X(process_madvise)   \
    X(clock_settime)     \
    X(settimeofday)      \
    X(adjtimex)          \
    X(clock_adjtime)     \
    X(setsid)            \
    X(setpgid)           \
    X(bpf)               \
    X(perf_event_open)   \
    X(userfaultfd)       \
    X(io_uring_setup)

/* Signals, by the number of a process in the first argument. */
#define SIGNALS(X)     \
    X(kill)            \
    X(tkill)           \
    X(tgkill)          \
    X(rt_sigqueueinfo) \
    X(rt_tgsigqueueinfo)

/* What a process may do to its own threads, and not to the judge: its limits, its
 * processors, its place in the queue for them. */
#define OF_OTHERS(X)      \
    X(prlimit64)          \
    X(sched_setaffinity)  \
    X(sched_setscheduler) \
    X(sched_setparam)     \
    X(sched_setattr)

#if defined(__x86_64__)
#define THIS_ARCH   AUDIT_ARCH_X86_64
#define FIRST_ALIEN 0x40000000u /* x32's numbers */
#elif defined(__aarch64__)
#define THIS_ARCH   AUDIT_ARCH_AARCH64
#define FIRST_ALIEN 0x80000000u
#else
#define THIS_ARCH 0
#endif

#define TRAP       SECCOMP_RET_TRAP
#define EPERMS     (SECCOMP_RET_ERRNO | EPERM)
#define ALLOW      SECCOMP_RET_ALLOW
#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))

#if THIS_ARCH

struct program {
    struct sock_filter step[256];
    unsigned short n;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    if (p->n < sizeof(p->step) / sizeof(p->step[0])) {
        p->step[p->n++] = (struct sock_filter){ code, yes, no, k };
    }
}

static void add_return(struct program *p, uint32_t what)
{
    add(p, BPF_RET | BPF_K, what, 0, 0);
}

static void add_load(struct program *p, uint32_t at)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
}

static void add_rule(struct program *p, uint32_t number, uint32_t what)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    add_return(p, what);
}

/* A signal: to this process and its group as ever; to the judge or to everybody the
 * end; to others refused. The number of the process is argument 0's low half. */
static void add_signal_rule(struct program *p, uint32_t number)
{
    const uint32_t parent = (uint32_t)getppid();
    add(p, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 12);
    add_load(p, AT(args[0]));
    add_rule(p, (uint32_t)getpid(), ALLOW);
    add_rule(p, 0, ALLOW);
    add_rule(p, parent, TRAP);
    add_rule(p, 0 - parent, TRAP);
    add_rule(p, UINT32_MAX, TRAP);
    add_return(p, EPERMS);
}

/* Of the judge the end; of own threads as ever. */
static void add_parent_rule(struct program *p, uint32_t number)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    add_load(p, AT(args[0]));
    add_rule(p, (uint32_t)getppid(), TRAP);
    add_return(p, ALLOW);
}

/* PR_SET_PDEATHSIG: the subject dies with its judge. */
static void add_prctl_rule(struct program *p)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 4);
    add_load(p, AT(args[0]));
    add_rule(p, PR_SET_PDEATHSIG, EPERMS);
    add_return(p, ALLOW);
}

static void make_program(struct program *p)
{
    p->n = 0;
    add_load(p, AT(arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0);
    add_return(p, TRAP);
    add_load(p, AT(nr));
    add(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_ALIEN, 0, 1);
    add_return(p, TRAP);
#define X(name) add_rule(p, __NR_##name, TRAP);
    FORBIDDEN(X)
#undef X
#define X(name) add_rule(p, __NR_##name, EPERMS);
    REFUSED(X)
#undef X
    add_prctl_rule(p);
#define X(name) add_signal_rule(p, __NR_##name);
    SIGNALS(X)
#undef X
#define X(name) add_parent_rule(p, __NR_##name);
    OF_OTHERS(X)
#undef X
    add_return(p, ALLOW);
}

static const char *call_name(int number)
{
    switch (number) {
#define X(name)       \
    case __NR_##name: \
        return #name;
        FORBIDDEN(X)
#undef X
#define X(name) case __NR_##name:
        SIGNALS(X)
#undef X
        return "a signal to the judge";
#define X(name)       \
    case __NR_##name: \
        return #name " of the judge";
        OF_OTHERS(X)
#undef X
    default:
        return "a system call of another architecture";
    }
}

static void trapped(int signal_number, siginfo_t *info, void *context)
{
    static const char text[] = "the kernel tried ";
    const char *name = call_name(info->si_syscall);
    const struct sigaction fall = { .sa_handler = SIG_DFL };
    sigset_t one;
    (void)context;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0) {
        /* Nobody is left to hear that this could not be said. */
        ssize_t said = write(STDERR_FILENO, name, strlen(name));
        (void)said;
    }
    (void)sigaction(signal_number, &fall, NULL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(signal_number);
    _exit(1);
}

static bool enter_filter(void)
{
    struct program p;
    const struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
    make_program(&p);
    const struct sock_fprog filter = { p.n, p.step };
    if (sigaction(SIGSYS, &action, NULL) != 0) {
        return false;
    }
    /* All threads: the runtime may have started some. */
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                   &filter) == 0;
}

#else

static bool enter_filter(void)
{
    return false;
}

#endif

/* Gives up what would let root into the judge, or past the others. */
static bool drop_capabilities(void)
{
    static const unsigned dropped[] = { CAP_SYS_PTRACE, CAP_KILL,      CAP_SYS_NICE,
                                        CAP_SYS_TIME,   CAP_SYS_ADMIN, CAP_SYS_MODULE,
                                        CAP_SYS_RAWIO,  CAP_SYS_BOOT,  CAP_PERFMON };
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    memset(data, 0, sizeof(data));
    if (syscall(__NR_capget, &header, data) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        const uint32_t keep = ~(UINT32_C(1) << (dropped[i] % 32));
        data[dropped[i] / 32].effective &= keep;
        data[dropped[i] / 32].permitted &= keep;
        data[dropped[i] / 32].inheritable &= keep;
        (void)prctl(PR_CAPBSET_DROP, dropped[i], 0, 0, 0);
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(__NR_capset, &header, data) == 0;
}

struct subject_jail subject_jail_enter(void)
{
    struct subject_jail jail = { 0 };
    const struct rlimit none = { 0, 0 };
    (void)setrlimit(RLIMIT_RTPRIO, &none);
    jail.capabilities_dropped = drop_capabilities();
    jail.no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    jail.system_call_filter = jail.no_new_privileges && enter_filter();
    return jail;
}
