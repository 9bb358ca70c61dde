/* Measurements on a device never overlap, whatever becomes of the processes. */
#include "runner/device_lock.h"

#include "core/clock.h"
#include "core/file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000LL

static char folder[64];
static const struct wf_device card = { .runtime = "amd",
                                       .id = "amd:0000:c1:00.0",
                                       .pci_bus_id = "0000:c1:00.0" };

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/wf-lock-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    cr_assert_eq(wf_remove_tree(folder, NULL), WF_OK);
}

TestSuite(device_lock, .init = make_folder, .fini = remove_folder, .timeout = 30);

static enum wf_status take(int64_t timeout_ns,
                           struct device_lock **ret,
                           struct wf_error *err)
{
    const struct device_lock_options o = { .folder = folder, .timeout_ns = timeout_ns };
    return device_lock_take(&card, &o, ret, err);
}

static void lock_path(char *ret, size_t n)
{
    char name[DEVICE_LOCK_NAME];
    device_lock_name(&card, name);
    snprintf(ret, n, "%s/%s", folder, name);
}

Test(device_lock, names_are_those_of_cards)
{
    char a[DEVICE_LOCK_NAME];
    char b[DEVICE_LOCK_NAME];
    struct wf_device d = card;
    device_lock_name(&d, a);
    cr_expect_str_eq(a, "wavefarm-0000-c1-00.lock");
    snprintf(d.pci_bus_id, sizeof(d.pci_bus_id), "0000:c1:00.3");
    device_lock_name(&d, b);
    cr_expect_str_eq(a, b, "partitions of a card share its lock");
    snprintf(d.pci_bus_id, sizeof(d.pci_bus_id), "0000:c2:00.0");
    device_lock_name(&d, b);
    cr_expect_str_neq(a, b);
    d = (struct wf_device){ .runtime = "host", .id = "host:../../etc/x:0" };
    device_lock_name(&d, a);
    cr_expect_null(strchr(a, '/'), "%s", a);
    memset(d.id, 'y', sizeof(d.id) - 1);
    device_lock_name(&d, a);
    cr_expect_not_null(strstr(a, ".lock"), "%s", a);
}

/* Four processes want it five times each; a counter in shared memory tells two at once,
 * the times of taking and giving back overlap nowhere. */
struct span {
    int64_t from_ns, to_ns;
};

struct shared {
    _Atomic int inside, bad, used;
    struct span span[20];
};

static void want_it_often(struct shared *s)
{
    for (int i = 0; i < 5; i++) {
        struct device_lock *lock = NULL;
        if (take(20000 * MS, &lock, NULL) != WF_OK) {
            s->bad++;
            _exit(1);
        }
        struct span *mine = &s->span[s->used++];
        mine->from_ns = wf_monotonic_ns();
        s->bad += ++s->inside != 1;
        (void)poll(NULL, 0, 3);
        s->inside--;
        mine->to_ns = wf_monotonic_ns();
        device_lock_free(lock);
    }
    _exit(0);
}

Test(device_lock, two_never_have_it_at_once)
{
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(s, MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            want_it_often(s);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status = 0;
        cr_assert_gt(wait(&status), 0);
        cr_expect_eq(status, 0);
    }
    cr_expect_eq(s->bad, 0);
    cr_assert_eq(s->used, 20);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 20; k++) {
            cr_expect(i == k || s->span[i].to_ns <= s->span[k].from_ns ||
                      s->span[k].to_ns <= s->span[i].from_ns);
        }
    }
    (void)munmap(s, sizeof(*s));
}

/* A child that takes the lock, says so, and sleeps. */
static pid_t start_holder(void)
{
    int ends[2];
    char byte = 0;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct device_lock *lock = NULL;
        byte = take(0, &lock, NULL) == WF_OK ? 'y' : 'n';
        (void)!write(ends[1], &byte, 1);
        for (;;) {
            (void)pause();
        }
    }
    cr_assert_eq(read(ends[0], &byte, 1), 1);
    cr_assert_eq(byte, 'y');
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static char said[200];

static void note(void *ctx, const char *line)
{
    ++*(int *)ctx;
    snprintf(said, sizeof(said), "%s", line);
}

Test(device_lock, who_waits_is_told_for_whom_and_gives_up_in_time)
{
    struct wf_error err = { 0 };
    struct device_lock *lock = NULL;
    char pid[32];
    int calls = 0;
    pid_t child = start_holder();
    const struct device_lock_options o = { folder, 80 * MS, note, &calls };
    snprintf(pid, sizeof(pid), "process %d", (int)child);
    int64_t start_ns = wf_monotonic_ns();
    cr_expect_eq(device_lock_take(&card, &o, &lock, &err), WF_ETIMEOUT);
    cr_expect_geq(wf_monotonic_ns() - start_ns, 80 * MS);
    cr_expect_not_null(strstr(err.text, "--lock-timeout"), "%s", err.text);
    cr_expect_not_null(strstr(err.text, pid), "%s", err.text);
    cr_expect_eq(calls, 1, "once, not at every try");
    cr_expect_not_null(strstr(said, pid), "%s", said);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

Test(device_lock, a_killed_holder_frees_it)
{
    struct wf_error err = { 0 };
    struct device_lock *lock = NULL;
    pid_t child = start_holder();
    cr_expect_eq(take(0, &lock, &err), WF_ETIMEOUT);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    cr_assert_eq(take(1000 * MS, &lock, &err), WF_OK, "%s", err.text);
    device_lock_free(lock);
}

Test(device_lock, a_stale_file_is_no_problem_and_a_removed_one_is_noticed)
{
    char path[256];
    struct device_lock *lock = NULL;
    struct stat st;
    lock_path(path, sizeof(path));
    cr_assert_eq(wf_file_write_atomic(path, "left", 4, NULL), WF_OK);
    cr_assert_eq(take(0, &lock, NULL), WF_OK);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_size, 4, "nothing is written into it");
    device_lock_free(lock);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(take(0, &lock, NULL), WF_OK);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0666u);
    /* Somebody tidies up: the next one makes a new file and must not be kept out, but
     * whoever had waited on the old one must not believe in it either (still_there). */
    cr_assert_eq(unlink(path), 0);
    struct device_lock *other = NULL;
    cr_expect_eq(take(0, &other, NULL), WF_OK);
    device_lock_free(other);
    device_lock_free(lock);
}

Test(device_lock, links_and_strange_files_are_refused)
{
    char path[256];
    char target[256];
    struct wf_error err = { 0 };
    struct device_lock *lock = NULL;
    lock_path(path, sizeof(path));
    snprintf(target, sizeof(target), "%s/victim", folder);
    cr_assert_eq(wf_file_write_atomic(target, "x", 1, NULL), WF_OK);
    cr_assert_eq(symlink(target, path), 0);
    cr_expect_neq(take(0, &lock, &err), WF_OK);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(link(target, path), 0);
    cr_expect_neq(take(0, &lock, &err), WF_OK);
    cr_expect_not_null(strstr(err.text, "remove it"), "%s", err.text);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0666), 0);
    cr_expect_neq(take(0, &lock, &err), WF_OK, "and it does not hang");
}

Test(device_lock, a_folder_that_cannot_be_written_is_named)
{
    struct wf_error err = { 0 };
    struct device_lock *lock = NULL;
    const struct device_lock_options o = { .folder = "/nowhere/at/all" };
    cr_expect_eq(device_lock_take(&card, &o, &lock, &err), WF_EIO);
    cr_expect_not_null(strstr(err.text, "/nowhere/at/all"), "%s", err.text);
    cr_expect_not_null(strstr(err.text, "WAVEFARM_LOCK_DIR"), "%s", err.text);
    (void)setenv("WAVEFARM_LOCK_DIR", folder, 1);
    const struct device_lock_options by_variable = { .timeout_ns = 0 };
    cr_expect_eq(device_lock_take(&card, &by_variable, &lock, &err), WF_OK);
    device_lock_free(lock);
}
