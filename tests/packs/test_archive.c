/* Archives: equal bytes and ids, and hostile ones refused without leaving anything. */
#include "packs/archive.h"

#include "core/file.h"

#include <archive.h>
#include <archive_entry.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-archive-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(archive, .init = make_root, .fini = remove_root);

static char *in_root(const char *name)
{
    return wf_path_join(root, name);
}

static void write_file(const char *name, const char *text)
{
    char *path = in_root(name);
    char *folder = wf_strndup(path, (size_t)(strrchr(path, '/') - path));
    cr_assert_eq(wf_mkdir_parents(folder, NULL), WF_OK);
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), NULL), WF_OK);
    free(folder);
    free(path);
}

static const char input[] =
    "{\"schema\":\"wavefarm.pack/1\",\"name\":\"demo\",\"kernels\":["
    "{\"name\":\"k\",\"op\":\"gemm\",\"kind\":\"process\",\"arch\":[\"x86-64\"],"
    "\"command\":[\"{pack}/bin/run\",\"{pack}/data.txt\"]}]}";

static struct wf_pack *make_pack(const char *name)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    char *in = wf_asprintf("%s/pack.json.in", name),
         *run = wf_asprintf("%s/bin/run", name);
    char *data = wf_asprintf("%s/data.txt", name), *folder = in_root(name);
    write_file(in, input);
    write_file(run, "#!/bin/sh\n");
    write_file(data, "data\n");
    cr_assert_eq(wf_pack_build(folder, &p, &err), WF_OK, "%s", err.text);
    free(folder);
    free(data);
    free(run);
    free(in);
    return p;
}

static char *archive_of(const struct wf_pack *p, const char *name)
{
    struct wf_error err = { .text = "" };
    char *file = in_root(name);
    cr_assert_eq(wf_pack_archive(p, file, &err), WF_OK, "%s", err.text);
    return file;
}

Test(archive, round_trip_keeps_the_id)
{
    struct wf_pack *p = make_pack("demo"), *q = NULL;
    struct wf_error err = { .text = "" };
    char *file = archive_of(p, "demo.tar.zst"), *to = in_root("copy");
    cr_assert_eq(wf_pack_unarchive(file, to, wf_pack_id(p), &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_pack_open(to, &q, &err), WF_OK, "%s", err.text);
    cr_expect_str_eq(wf_pack_id(q), wf_pack_id(p));
    wf_pack_free(q);
    free(to);
    free(file);
    wf_pack_free(p);
}

Test(archive, programs_stay_executable)
{
    struct stat run, data;
    struct wf_pack *p = make_pack("demo");
    char *file = archive_of(p, "demo.tar.zst"), *to = in_root("copy");
    cr_assert_eq(wf_pack_unarchive(file, to, NULL, NULL), WF_OK);
    char *run_path = wf_path_join(to, "bin/run"),
         *data_path = wf_path_join(to, "data.txt");
    cr_assert_eq(stat(run_path, &run), 0);
    cr_assert_eq(stat(data_path, &data), 0);
    cr_expect((run.st_mode & 0111) != 0);
    cr_expect((data.st_mode & 0111) == 0);
    free(data_path);
    free(run_path);
    free(to);
    free(file);
    wf_pack_free(p);
}

Test(archive, equal_packs_give_equal_bytes)
{
    struct wf_buf one = WF_BUF_INIT, two = WF_BUF_INIT;
    struct wf_pack *p = make_pack("first"), *q = make_pack("second");
    write_file("second/unrelated.txt", "not named by pack.json\n");
    char *a = archive_of(p, "a.tar.zst"), *b = archive_of(q, "b.tar.zst");
    cr_assert_eq(wf_file_read(a, 1 << 20, &one, NULL), WF_OK);
    cr_assert_eq(wf_file_read(b, 1 << 20, &two, NULL), WF_OK);
    cr_assert_eq(one.len, two.len);
    cr_expect_arr_eq(one.data, two.data, one.len);
    wf_buf_free(&one);
    wf_buf_free(&two);
    free(a);
    free(b);
    wf_pack_free(p);
    wf_pack_free(q);
}

Test(archive, a_file_that_changed_is_not_archived)
{
    struct wf_error err = { .text = "" };
    struct wf_pack *p = make_pack("demo");
    char *file = in_root("demo.tar.zst");
    write_file("demo/data.txt", "other\n");
    cr_expect_eq(wf_pack_archive(p, file, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "changed while it was archived"), "%s", err.text);
    cr_expect_not(wf_file_exists(file));
    free(file);
    wf_pack_free(p);
}

Test(archive, another_pack_than_expected)
{
    static const char other[] =
        "0000000000000000000000000000000000000000000000000000000000000000";
    struct wf_error err = { .text = "" };
    struct wf_pack *p = make_pack("demo");
    char *file = archive_of(p, "demo.tar.zst"), *to = in_root("copy");
    cr_expect_eq(wf_pack_unarchive(file, to, other, &err), WF_EINVAL);
    cr_expect(strstr(err.text, wf_pack_id(p)) && strstr(err.text, other), "%s",
              err.text);
    cr_expect_not(wf_file_exists(to));
    free(to);
    free(file);
    wf_pack_free(p);
}

Test(archive, the_same_pack_twice_is_good_another_one_is_not)
{
    struct wf_error err = { .text = "" };
    struct wf_pack *p = make_pack("demo");
    char *file = archive_of(p, "demo.tar.zst"), *to = in_root("copy");
    cr_expect_eq(wf_pack_unarchive(file, to, NULL, NULL), WF_OK);
    cr_expect_eq(wf_pack_unarchive(file, to, NULL, &err), WF_OK, "%s", err.text);
    write_file("copy/data.txt", "spoiled\n");
    cr_expect_eq(wf_pack_unarchive(file, to, NULL, &err), WF_EEXIST);
    free(to);
    free(file);
    wf_pack_free(p);
}

/* --- hostile archives --- */

struct entry {
    const char *name;
    mode_t type;
    const char *link; /* symbolic, or hard when it starts with '=' */
    const char *data;
    int64_t bytes; /* of zeros when data is NULL */
};

static void write_entry(struct archive *a, const struct entry *e)
{
    static const char zeros[4096];
    struct archive_entry *x = archive_entry_new();
    int64_t left = e->data != NULL ? (int64_t)strlen(e->data) : e->bytes;
    archive_entry_set_pathname(x, e->name);
    archive_entry_set_filetype(x, e->type);
    archive_entry_set_perm(x, 0644);
    archive_entry_set_size(x, left);
    if (e->link != NULL && e->link[0] == '=') {
        archive_entry_set_hardlink(x, e->link + 1);
    } else if (e->link != NULL) {
        archive_entry_set_symlink(x, e->link);
    }
    cr_assert_eq(archive_write_header(a, x), ARCHIVE_OK, "%s", archive_error_string(a));
    if (e->data != NULL) {
        cr_assert_eq(archive_write_data(a, e->data, (size_t)left), left);
    }
    while (e->data == NULL && left > 0) {
        size_t n = left > 4096 ? 4096 : (size_t)left;
        cr_assert_eq(archive_write_data(a, zeros, n), (la_ssize_t)n);
        left -= (int64_t)n;
    }
    archive_entry_free(x);
}

static char *hostile(const struct entry *list, size_t n)
{
    char *file = in_root("hostile.tar.zst");
    struct archive *a = archive_write_new();
    cr_assert_eq(archive_write_add_filter_zstd(a), ARCHIVE_OK);
    cr_assert_eq(archive_write_set_format_pax(a), ARCHIVE_OK);
    cr_assert_eq(archive_write_open_filename(a, file), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++) {
        write_entry(a, &list[i]);
    }
    cr_assert_eq(archive_write_free(a), ARCHIVE_OK);
    return file;
}

static size_t count_entries(void)
{
    size_t n = 0;
    DIR *d = opendir(root);
    cr_assert_not_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    (void)closedir(d);
    return n;
}

/* Refused, and nothing is left but the archive itself. */
static void expect_refused(const struct entry *list, size_t n, const char *part)
{
    struct wf_error err = { .text = "" };
    const struct pack_archive_limits limits = { .files = 8, .bytes = 100000 };
    char *file = hostile(list, n), *to = in_root("out");
    size_t before = count_entries();
    enum wf_status st = pack_unarchive(file, to, NULL, &limits, &err);
    cr_expect_neq(st, WF_OK, "%s", list[0].name);
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    cr_expect_eq(count_entries(), before, "something is left behind");
    free(to);
    free(file);
}

#define REFUSED(part, ...)                     \
    expect_refused(                            \
        (const struct entry[]){ __VA_ARGS__ }, \
        sizeof((const struct entry[]){ __VA_ARGS__ }) / sizeof(struct entry), part)

Test(archive, paths_that_lead_out)
{
    REFUSED("not a safe relative path", { "../evil", S_IFREG, NULL, "x", 0 });
    REFUSED("not a safe relative path", { "a/../../evil", S_IFREG, NULL, "x", 0 });
    REFUSED("not a safe relative path", { "/tmp/wf-evil", S_IFREG, NULL, "x", 0 });
    REFUSED("not a safe relative path", { "..", S_IFDIR, NULL, NULL, 0 });
    REFUSED("not a safe relative path", { "a/.hidden", S_IFREG, NULL, "x", 0 });
    cr_expect_not(wf_file_exists("/tmp/wf-evil"));
}

Test(archive, links_and_devices)
{
    REFUSED("is a link", { "a", S_IFLNK, "/etc/passwd", NULL, 0 });
    REFUSED("is a link", { "pack.json", S_IFREG, "=/etc/passwd", NULL, 0 });
    REFUSED("neither a file nor a folder", { "null", S_IFCHR, NULL, NULL, 0 });
    REFUSED("neither a file nor a folder", { "pipe", S_IFIFO, NULL, NULL, 0 });
}

Test(archive, a_link_and_then_a_file_through_it)
{
    REFUSED("is a link", { "out", S_IFLNK, "/tmp", NULL, 0 },
            { "out/wf-evil", S_IFREG, NULL, "x", 0 });
}

Test(archive, too_large)
{
    REFUSED("larger than a pack may be", { "zeros", S_IFREG, NULL, NULL, 200000 });
    REFUSED("larger than a pack may be", { "a", S_IFREG, NULL, NULL, 60000 },
            { "b", S_IFREG, NULL, NULL, 60000 });
}

Test(archive, too_many_files)
{
    static struct entry list[10];
    static char names[10][16];
    for (int i = 0; i < 10; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%d", i);
        list[i] = (struct entry){ names[i], S_IFREG, NULL, "x", 0 };
    }
    expect_refused(list, 10, "one file more than a pack may have");
}

Test(archive, a_name_twice)
{
    REFUSED("is there twice", { "pack.json", S_IFREG, NULL, "{}", 0 },
            { "pack.json", S_IFREG, NULL, "{}", 0 });
    REFUSED("is there twice", { "a", S_IFREG, NULL, "x", 0 },
            { "./a", S_IFREG, NULL, "y", 0 });
}

Test(archive, a_file_where_a_folder_is_needed)
{
    struct wf_error err = { .text = "" };
    const struct pack_archive_limits limits = { .files = 8, .bytes = 1000 };
    static const struct entry list[] = { { "a", S_IFREG, NULL, "x", 0 },
                                         { "a/b", S_IFREG, NULL, "x", 0 } };
    char *file = hostile(list, 2), *to = in_root("out");
    cr_expect_neq(pack_unarchive(file, to, NULL, &limits, &err), WF_OK);
    free(to);
    free(file);
}

Test(archive, without_pack_json_or_with_files_that_it_does_not_name)
{
    REFUSED("pack.json", { "a", S_IFREG, NULL, "x", 0 });
    struct wf_pack *p = make_pack("demo");
    REFUSED("pack.json and the files that it names are 3",
            { "pack.json", S_IFREG, NULL, wf_pack_canonical(p), 0 },
            { "bin/run", S_IFREG, NULL, "#!/bin/sh\n", 0 },
            { "data.txt", S_IFREG, NULL, "data\n", 0 },
            { "stowaway", S_IFREG, NULL, "x", 0 });
    wf_pack_free(p);
}

Test(archive, folders_and_leading_points_as_tar_writes_them)
{
    struct wf_error err = { .text = "" };
    struct wf_pack *p = make_pack("demo");
    const struct entry list[] = {
        { "./", S_IFDIR, NULL, NULL, 0 },
        { "./bin/", S_IFDIR, NULL, NULL, 0 },
        { "./bin/run", S_IFREG, NULL, "#!/bin/sh\n", 0 },
        { "./data.txt", S_IFREG, NULL, "data\n", 0 },
        { "./pack.json", S_IFREG, NULL, wf_pack_canonical(p), 0 },
    };
    char *file = hostile(list, 5), *to = in_root("out");
    cr_expect_eq(wf_pack_unarchive(file, to, wf_pack_id(p), &err), WF_OK, "%s",
                 err.text);
    free(to);
    free(file);
    wf_pack_free(p);
}

Test(archive, damaged_bytes)
{
    struct wf_error err = { .text = "" };
    struct wf_buf b = WF_BUF_INIT;
    struct wf_pack *p = make_pack("demo");
    char *file = archive_of(p, "demo.tar.zst"), *to = in_root("out");
    cr_assert_eq(wf_file_read(file, 1 << 20, &b, NULL), WF_OK);
    cr_assert_eq(wf_file_write_atomic(file, b.data, b.len / 2, NULL), WF_OK);
    cr_expect_neq(wf_pack_unarchive(file, to, NULL, &err), WF_OK);
    cr_expect(strstr(err.text, "demo.tar.zst"), "%s", err.text);
    cr_assert_eq(wf_file_write_atomic(file, "not an archive", 14, NULL), WF_OK);
    cr_expect_eq(wf_pack_unarchive(file, to, NULL, &err), WF_EPARSE);
    cr_expect_not(wf_file_exists(to));
    wf_buf_free(&b);
    free(to);
    free(file);
    wf_pack_free(p);
}
