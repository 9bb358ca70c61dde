/* Files, folders, trees and safe names. */
#include "core/file.h"

#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct temp_dir dir;
static struct wf_error err;

static void make(void)
{
    temp_dir_make(&dir);
}

static void drop(void)
{
    temp_dir_remove(&dir);
}

TestSuite(file, .init = make, .fini = drop);

static size_t entries_in(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    cr_assert_not_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    (void)closedir(d);
    return n - 2; /* . and .. */
}

static void write_text(const char *path, const char *text)
{
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), &err), WF_OK, "%s",
                 err.text);
}

/* /dev/null, /dev/stdout or a pipe is written into: a file renamed over it would take
 * it from everybody. */
Test(file, what_is_no_file_is_not_replaced)
{
    const char *path = temp_dir_file(&dir, "pipe");
    struct stat st;
    char got[4] = "";

    cr_assert_eq(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(wf_file_write_atomic(path, "new", 3, &err), WF_OK, "%s", err.text);
    cr_assert_eq(read(fd, got, 3), 3);
    cr_assert_str_eq(got, "new");
    cr_assert(stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    (void)close(fd);
}

Test(file, what_is_written_is_read)
{
    struct wf_buf b = WF_BUF_INIT;
    uint64_t size = 0;

    write_text(temp_dir_file(&dir, "f"), "first");
    write_text(dir.file, "second text");
    cr_assert_eq(wf_buf_puts(&b, "> ", NULL), WF_OK);
    cr_assert_eq(wf_file_read(dir.file, 11, &b, &err), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&b), "> second text");
    cr_assert_eq(wf_file_size(dir.file, &size, &err), WF_OK);
    cr_assert_eq(size, 11);
    cr_assert(wf_file_exists(dir.file));
    cr_assert_eq(entries_in(dir.path), 1, "no temporary file is left");
    wf_buf_free(&b);
}

Test(file, too_large_a_file_is_refused_and_the_buffer_kept)
{
    struct wf_buf b = WF_BUF_INIT;

    write_text(temp_dir_file(&dir, "f"), "0123456789");
    cr_assert_eq(wf_buf_puts(&b, "keep", NULL), WF_OK);
    cr_assert_eq(wf_file_read(dir.file, 9, &b, &err), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "larger than 9 bytes"));
    cr_assert_str_eq(wf_buf_cstr(&b), "keep");
    cr_assert_eq(wf_file_read("/dev/zero", 100000, &b, &err), WF_EINVAL,
                 "the limit holds where no size is known");
    cr_assert_str_eq(wf_buf_cstr(&b), "keep");
    wf_buf_free(&b);
}

Test(file, missing_file_and_folder_are_told_apart)
{
    struct wf_buf b = WF_BUF_INIT;
    uint64_t size = 0;

    cr_assert_eq(wf_file_read(temp_dir_file(&dir, "none"), 10, &b, &err), WF_ENOTFOUND);
    cr_assert_not_null(strstr(err.text, dir.file));
    cr_assert_eq(wf_file_read(dir.path, 10, &b, &err), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "folder"));
    cr_assert_eq(wf_file_size(dir.file, &size, &err), WF_ENOTFOUND);
    cr_assert_eq(wf_file_size(dir.path, &size, &err), WF_EINVAL);
    cr_assert_not(wf_file_exists(dir.file));
    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "no/f"), "x", 1, &err),
                 WF_ENOTFOUND);
    wf_buf_free(&b);
}

Test(file, failed_write_keeps_the_old_content)
{
    struct rlimit limit = { 100, 100 };
    struct wf_buf b = WF_BUF_INIT;
    char big[4096] = { 0 };

    write_text(temp_dir_file(&dir, "f"), "old");
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(wf_file_write_atomic(dir.file, big, sizeof big, &err), WF_EIO);
    cr_assert_eq(wf_file_read(dir.file, 100, &b, &err), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&b), "old");
    cr_assert_eq(entries_in(dir.path), 1, "no temporary file is left");
    wf_buf_free(&b);
}

Test(file, full_device_is_no_space)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    cr_assert(fd >= 0);
    cr_assert_eq(wf_write_all(fd, "x", 1, "the spool", &err), WF_ENOSPC);
    cr_assert_not_null(strstr(err.text, "the spool"));
    (void)close(fd);
}

Test(file, empty_content_is_a_file_too)
{
    struct wf_buf b = WF_BUF_INIT;

    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "e"), NULL, 0, &err), WF_OK);
    cr_assert_eq(wf_file_read(dir.file, 0, &b, &err), WF_OK);
    cr_assert_eq(b.len, 0);
    wf_buf_free(&b);
}

Test(file, folders_are_made_with_their_parents)
{
    struct stat st;

    cr_assert_eq(wf_mkdir_parents(temp_dir_file(&dir, "a//b/c/"), &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(stat(temp_dir_file(&dir, "a/b/c"), &st), 0);
    cr_assert(S_ISDIR(st.st_mode));
    cr_assert_eq(wf_mkdir_parents(dir.file, &err), WF_OK, "again is good");
    write_text(temp_dir_file(&dir, "a/f"), "x");
    cr_assert_eq(wf_mkdir_parents(temp_dir_file(&dir, "a/f"), &err), WF_EEXIST);
    cr_assert_neq(wf_mkdir_parents(temp_dir_file(&dir, "a/f/g"), &err), WF_OK);
    cr_assert_eq(wf_mkdir_parents("", &err), WF_EINVAL);
    cr_assert_eq(wf_mkdir_parents("/", &err), WF_OK);
}

Test(file, tree_removal_does_not_follow_links)
{
    char target[192];

    cr_assert_eq(wf_mkdir_parents(temp_dir_file(&dir, "keep"), &err), WF_OK);
    write_text(temp_dir_file(&dir, "keep/f"), "x");
    cr_assert_eq(wf_mkdir_parents(temp_dir_file(&dir, "tree/sub/deep"), &err), WF_OK);
    write_text(temp_dir_file(&dir, "tree/sub/f"), "x");
    (void)snprintf(target, sizeof target, "%s/keep", dir.path);
    cr_assert_eq(symlink(target, temp_dir_file(&dir, "tree/link")), 0);
    cr_assert_eq(wf_remove_tree(temp_dir_file(&dir, "tree"), &err), WF_OK, "%s",
                 err.text);
    cr_assert_not(wf_file_exists(dir.file));
    cr_assert(wf_file_exists(temp_dir_file(&dir, "keep/f")));
    cr_assert_eq(symlink(target, temp_dir_file(&dir, "link")), 0);
    cr_assert_eq(wf_remove_tree(dir.file, &err), WF_OK);
    cr_assert(wf_file_exists(temp_dir_file(&dir, "keep/f")));
    cr_assert_eq(wf_remove_tree(temp_dir_file(&dir, "none"), &err), WF_OK);
    cr_assert_eq(wf_remove_tree(temp_dir_file(&dir, "none/none"), &err), WF_OK);
}

Test(file, paths_are_joined_by_one_slash)
{
    char *a = wf_path_join("a", "b");
    char *b = wf_path_join("a/", "b");
    char *c = wf_path_join("", "b");
    char *d = wf_path_join("/", "b");

    cr_assert_str_eq(a, "a/b");
    cr_assert_str_eq(b, "a/b");
    cr_assert_str_eq(c, "b");
    cr_assert_str_eq(d, "/b");
    free(a);
    free(b);
    free(c);
    free(d);
}

static void expect_cache(const char *expected_name)
{
    char *path = NULL;

    cr_assert_eq(wf_cache_dir(&path, &err), WF_OK, "%s", err.text);
    cr_assert_str_eq(path, temp_dir_file(&dir, expected_name));
    cr_assert(wf_file_exists(path));
    free(path);
}

Test(file, cache_folder_follows_the_environment)
{
    cr_assert_eq(setenv("HOME", dir.path, 1), 0);
    (void)unsetenv("WAVEFARM_CACHE");
    (void)unsetenv("XDG_CACHE_HOME");
    expect_cache(".cache/wavefarm");
    (void)setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    expect_cache(".cache/wavefarm");
    (void)setenv("XDG_CACHE_HOME", temp_dir_file(&dir, "xdg"), 1);
    expect_cache("xdg/wavefarm");
    (void)setenv("WAVEFARM_CACHE", temp_dir_file(&dir, "own"), 1);
    expect_cache("own");
}

Test(file, cache_folder_that_cannot_be_made_says_how_to_move_it)
{
    char *path = NULL;

    write_text(temp_dir_file(&dir, "f"), "x");
    (void)setenv("WAVEFARM_CACHE", temp_dir_file(&dir, "f"), 1);
    cr_assert_eq(wf_cache_dir(&path, &err), WF_EEXIST);
    cr_assert_not_null(strstr(err.text, "WAVEFARM_CACHE"));
    cr_assert_null(path);
}

Test(file, folder_of_the_executable_holds_it)
{
    char *path = NULL;
    char *self;

    cr_assert_eq(wf_executable_dir(&path, &err), WF_OK);
    self = wf_path_join(path, "test_core_file");
    cr_assert(wf_file_exists(self));
    free(self);
    free(path);
}

Test(file, safe_names_cannot_leave_a_folder)
{
    char longest[257];

    memset(longest, 'a', 256);
    longest[256] = '\0';
    cr_assert(wf_name_is_safe("a"));
    cr_assert(wf_name_is_safe("Gemm_f16-v1.2.json"));
    cr_assert(wf_name_is_safe(longest + 1));
    cr_assert_not(wf_name_is_safe(longest));
    cr_assert_not(wf_name_is_safe(NULL));
    cr_assert_not(wf_name_is_safe(""));
    cr_assert_not(wf_name_is_safe("."));
    cr_assert_not(wf_name_is_safe(".."));
    cr_assert_not(wf_name_is_safe(".hidden"));
    cr_assert_not(wf_name_is_safe("a/b"));
    cr_assert_not(wf_name_is_safe("a b"));
    cr_assert_not(wf_name_is_safe("a\n"));
    cr_assert_not(wf_name_is_safe("\xC3\xA4"));
}

Test(file, safe_relative_paths_cannot_either)
{
    cr_assert(wf_relative_path_is_safe("a"));
    cr_assert(wf_relative_path_is_safe("a/b.c/d"));
    cr_assert_not(wf_relative_path_is_safe(NULL));
    cr_assert_not(wf_relative_path_is_safe(""));
    cr_assert_not(wf_relative_path_is_safe("/a"));
    cr_assert_not(wf_relative_path_is_safe("a/"));
    cr_assert_not(wf_relative_path_is_safe("a//b"));
    cr_assert_not(wf_relative_path_is_safe("a/../b"));
    cr_assert_not(wf_relative_path_is_safe("./a"));
    cr_assert_not(wf_relative_path_is_safe("a/.b"));
}
