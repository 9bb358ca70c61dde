/* The kernel cache: what is stored comes back or counts as absent, one maker at a time,
 * the limit, and what happens when the disk says no. */
#include "packs/kernel_cache.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];
static struct wf_kernel_cache *cache;

static void open_cache(int64_t limit_bytes)
{
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_kernel_cache_open(root, limit_bytes, &cache, &err), WF_OK, "%s",
                 err.text);
}

static void set_up(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-kernel-cache-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    open_cache(0);
}

static void tear_down(void)
{
    wf_kernel_cache_close(cache);
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(kernel_cache, .init = set_up, .fini = tear_down);

/* Key number i. */
static const char *key(int i)
{
    static char ret[WF_SHA256_HEX];
    wf_sha256_hex(&i, sizeof i, ret);
    return ret;
}

static void put(int i, const char *text)
{
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_kernel_cache_put(cache, key(i), text, strlen(text), &err), WF_OK,
                 "%s", err.text);
}

/* Whether `text` comes back; NULL: that nothing does. */
static void expect(int i, const char *text)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    bool found = false;
    cr_assert_eq(wf_kernel_cache_get(cache, key(i), &b, &found, &err), WF_OK, "%s",
                 err.text);
    cr_expect_eq(found, text != NULL, "key %d", i);
    cr_expect_str_eq(wf_buf_cstr(&b), text == NULL ? "" : text);
    wf_buf_free(&b);
}

static char *entry_path(int i)
{
    const char *k = key(i);
    return wf_asprintf("%s/objects/%.2s/%s", root, k, k + 2);
}

static struct wf_kernel_cache_stats stats(void)
{
    struct wf_kernel_cache_stats s;
    cr_assert_eq(wf_kernel_cache_stats(cache, &s, NULL), WF_OK);
    return s;
}

Test(kernel_cache, what_is_put_is_got)
{
    expect(1, NULL);
    put(1, "one");
    put(2, "");
    expect(1, "one");
    expect(2, "");
    expect(3, NULL);
    struct wf_kernel_cache_stats s = stats();
    cr_expect(s.objects == 2 && s.hits == 2 && s.misses == 2 && s.rebuilt == 0);
}

/* Every way to damage an entry: cut at each length, each byte changed, one more. */
Test(kernel_cache, damage_is_found_wherever_it_is)
{
    struct wf_buf good = WF_BUF_INIT;
    put(1, "the code of a kernel");
    char *path = entry_path(1);
    cr_assert_eq(wf_file_read(path, 4096, &good, NULL), WF_OK);
    for (size_t i = 0; i < 2 * good.len + 1; i++) {
        char *bad = wf_calloc(1, good.len + 1);
        size_t n = i < good.len ? i : good.len;
        memcpy(bad, good.data, good.len);
        bad[i % good.len] ^= i >= good.len && i < 2 * good.len ? 1 : 0;
        n += i == 2 * good.len;
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        cr_assert(fd >= 0 && write(fd, bad, n) == (ssize_t)n && close(fd) == 0);
        expect(1, NULL);
        cr_expect_not(wf_file_exists(path), "damage %zu stays", i);
        free(bad);
    }
    cr_expect_eq(stats().rebuilt, (int64_t)(2 * good.len + 1));
    put(1, "the code of a kernel");
    expect(1, "the code of a kernel");
    wf_buf_free(&good);
    free(path);
}

/* Opening a pipe waits for a writer: a test that never ends without the rule. */
Test(kernel_cache, what_is_no_file_is_damage, .timeout = 20)
{
    put(1, "one");
    char *path = entry_path(1);
    cr_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    expect(1, NULL);
    cr_expect_not(wf_file_exists(path));
    cr_assert_eq(symlink("/dev/zero", path), 0);
    expect(1, NULL);
    put(1, "one");
    expect(1, "one");
    cr_assert(unlink(path) == 0 && mkdir(path, 0700) == 0);
    expect(1, NULL);
    free(path);
}

/* An entry that was moved under another key is not that key's. */
Test(kernel_cache, an_entry_knows_its_key)
{
    put(1, "one");
    put(2, "two");
    char *one = entry_path(1), *two = entry_path(2);
    cr_assert_eq(rename(one, two), 0);
    expect(2, NULL);
    free(two);
    free(one);
}

Test(kernel_cache, verify_removes_what_is_damaged)
{
    int64_t good = 0, damaged = 0;
    put(1, "one");
    put(2, "two");
    char *path = entry_path(2);
    cr_assert_eq(truncate(path, 20), 0);
    cr_assert_eq(wf_kernel_cache_verify(cache, &good, &damaged, NULL), WF_OK);
    cr_expect(good == 1 && damaged == 1);
    cr_expect_not(wf_file_exists(path));
    free(path);
}

Test(kernel_cache, clear)
{
    int64_t removed = 0;
    put(1, "one");
    put(2, "two");
    cr_assert_eq(wf_kernel_cache_clear(cache, &removed, NULL), WF_OK);
    cr_expect_eq(removed, 2);
    expect(1, NULL);
    cr_expect_eq(stats().bytes, 0);
}

static void age(int i, int seconds)
{
    char *path = entry_path(i);
    const struct timespec t[2] = { { .tv_sec = 1000000000 - seconds },
                                   { .tv_sec = 1000000000 - seconds } };
    cr_assert_eq(utimensat(AT_FDCWD, path, t, 0), 0);
    free(path);
}

Test(kernel_cache, the_limit_throws_away_what_was_used_longest_ago)
{
    char text[1001];
    memset(text, 'x', sizeof text - 1);
    text[1000] = '\0';
    wf_kernel_cache_close(cache);
    open_cache(6000); /* five of them with their headers, not six */
    for (int i = 1; i <= 5; i++) {
        put(i, text);
        age(i, 100 - i);
    }
    expect(1, text); /* used: now the newest */
    put(6, text);
    expect(1, text);
    expect(2, NULL);
    expect(5, text);
    expect(6, text);
    struct wf_kernel_cache_stats s = stats();
    cr_expect(s.evicted >= 1 && s.bytes <= 6000, "%lld evicted, %lld bytes",
              (long long)s.evicted, (long long)s.bytes);
}

Test(kernel_cache, an_object_above_the_limit_is_not_kept)
{
    wf_kernel_cache_close(cache);
    open_cache(200);
    put(1, "short");
    char text[301];
    memset(text, 'x', 300);
    text[300] = '\0';
    put(2, text);
    expect(2, NULL);
    expect(1, "short");
}

/* A writer that was killed leaves a file beside; it is removed once it is old. */
Test(kernel_cache, unfinished_files)
{
    put(1, "one");
    char *path = entry_path(1), *left = wf_asprintf("%s.tmp-1-2", path);
    cr_assert_eq(wf_file_write_atomic(left, "abc", 3, NULL), WF_OK);
    cr_expect_eq(stats().objects, 1);
    cr_expect(wf_file_exists(left), "somebody may be writing it");
    const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    cr_assert_eq(utimensat(AT_FDCWD, left, old, 0), 0);
    (void)stats();
    cr_expect_not(wf_file_exists(left));
    expect(1, "one");
    free(left);
    free(path);
}

/* --- locks --- */

Test(kernel_cache, a_lock_keeps_others_out)
{
    struct wf_kernel_lock *a = NULL, *b = NULL;
    cr_assert_eq(wf_kernel_cache_lock(cache, key(1), 0, &a, NULL), WF_OK);
    cr_expect_eq(wf_kernel_cache_lock(cache, key(1), 60, &b, NULL), WF_ETIMEOUT);
    cr_assert_eq(wf_kernel_cache_lock(cache, key(2), 60, &b, NULL), WF_OK);
    wf_kernel_cache_unlock(b);
    wf_kernel_cache_unlock(a);
    cr_assert_eq(wf_kernel_cache_lock(cache, key(1), 60, &b, NULL), WF_OK);
    wf_kernel_cache_unlock(b);
}

/* The owner is killed with the lock held: the next one has it at once. */
Test(kernel_cache, the_lock_of_a_killed_owner_is_free)
{
    int held[2];
    char c;
    cr_assert_eq(pipe(held), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct wf_kernel_lock *l = NULL;
        if (wf_kernel_cache_lock(cache, key(1), 0, &l, NULL) == WF_OK) {
            (void)!write(held[1], "x", 1);
        }
        for (;;) {
            (void)pause();
        }
    }
    struct wf_kernel_lock *l = NULL;
    cr_assert_eq(read(held[0], &c, 1), 1);
    cr_expect_eq(wf_kernel_cache_lock(cache, key(1), 40, &l, NULL), WF_ETIMEOUT);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_assert_eq(wf_kernel_cache_lock(cache, key(1), 2000, &l, NULL), WF_OK);
    wf_kernel_cache_unlock(l);
}

/* --- no room --- */

static int put_with_small_files(void)
{
    const struct rlimit limit = { .rlim_cur = 400, .rlim_max = 400 };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    char text[1000];
    struct wf_error err = { .text = "" };
    memset(text, 'x', sizeof text);
    (void)sigaction(SIGXFSZ, &ignore, NULL);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 2;
    }
    bool refused =
        wf_kernel_cache_put(cache, key(1), text, sizeof text, &err) != WF_OK &&
        strstr(err.text, "cannot write") != NULL;
    return refused ? 0 : 1;
}

Test(kernel_cache, no_room_leaves_nothing)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(put_with_small_files());
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    cr_expect_eq(stats().bytes, 0, "a part is left");
    expect(1, NULL);
}

Test(kernel_cache, none_is_no_cache)
{
    struct wf_kernel_cache *c = cache;
    cr_assert_eq(wf_kernel_cache_open("none", 0, &c, NULL), WF_OK);
    cr_expect_null(c);
    cr_assert_eq(setenv("WAVEFARM_KERNEL_CACHE", "none", 1), 0);
    c = cache;
    cr_assert_eq(wf_kernel_cache_open(NULL, 0, &c, NULL), WF_OK);
    cr_expect_null(c);
}

Test(kernel_cache, a_folder_that_cannot_be_made)
{
    struct wf_error err = { .text = "" };
    struct wf_kernel_cache *c = NULL;
    char *path = wf_asprintf("%s/file", root), *below = wf_asprintf("%s/sub", path);
    cr_assert_eq(wf_file_write_atomic(path, "", 0, NULL), WF_OK);
    cr_expect_neq(wf_kernel_cache_open(below, 0, &c, &err), WF_OK);
    cr_expect(strstr(err.text, "WAVEFARM_KERNEL_CACHE") != NULL, "%s", err.text);
    free(below);
    free(path);
}

/* name NULL: the folder itself; why NULL: it is taken. */
static void expect_refused(const char *name, unsigned mode, const char *why)
{
    struct wf_error err = { .text = "" };
    struct wf_kernel_cache *c = NULL;
    char *path = name == NULL ? wf_strdup(root) : wf_path_join(root, name);
    cr_assert_eq(chmod(path, mode), 0);
    cr_expect_eq(wf_kernel_cache_open(root, 0, &c, &err),
                 why == NULL ? WF_OK : WF_EREFUSED, "%s", err.text);
    cr_expect(why == NULL ||
                  (strstr(err.text, path) != NULL && strstr(err.text, why) != NULL &&
                   strstr(err.text, "WAVEFARM_KERNEL_CACHE") != NULL),
              "%s", err.text);
    wf_kernel_cache_close(c);
    cr_assert_eq(chmod(path, 0755), 0);
    free(path);
}

/* Objects are hashed, not signed. */
Test(kernel_cache, a_folder_that_everybody_may_write_is_refused)
{
    expect_refused("objects", 0757, "everybody may write into");
    expect_refused("objects", 01777, "mode 1777");
    expect_refused("locks", 0777, "everybody may write into");
    expect_refused("programs", 0777, "everybody may write into");
    expect_refused(NULL, 01777, "everybody may write into");
    expect_refused("objects", 0775, NULL);
}

/* Only root can give a folder away; others look at one of root's. */
Test(kernel_cache, a_folder_of_another_user_is_refused)
{
    struct wf_error err = { .text = "" };
    struct wf_kernel_cache *c = NULL;
    struct stat st;
    char *objects = wf_path_join(root, "objects");
    if (geteuid() == 0) {
        cr_assert_eq(chown(objects, 12345, (gid_t)-1), 0);
    } else {
        cr_assert_eq(rmdir(objects), 0);
        cr_assert_eq(symlink("/usr", objects), 0);
    }
    cr_assert_eq(stat(objects, &st), 0);
    cr_assert_neq(st.st_uid, geteuid());
    cr_expect_eq(wf_kernel_cache_open(root, 0, &c, &err), WF_EREFUSED, "%s", err.text);
    cr_expect(strstr(err.text, "belongs to user") != NULL, "%s", err.text);
    if (geteuid() != 0) {
        cr_assert_eq(unlink(objects), 0);
    }
    free(objects);
}
