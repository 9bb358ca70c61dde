/* The provenance record and what git says. */
#include "packs/provenance.h"

#include "core/file.h"
#include "packs/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-provenance-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(provenance, .init = make_root, .fini = remove_root);

static const char *const flags[] = { "-O3", "-DBLOCK_M=256" };
static const struct wf_provenance_kernel kernel = { .name = "k",
                                                    .compiler = "clang-19",
                                                    .compiler_version = "19.1.7",
                                                    .flags = flags,
                                                    .flag_count = 2,
                                                    .source = "kernels/x.hip",
                                                    .source_sha256 = ID };

static void git(const char *const *argv)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    int code = 0;
    cr_assert_eq(command_run(argv, root, true, &out, &code, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(code, 0, "%s %s: %s", argv[0], argv[1], wf_buf_cstr(&out));
    wf_buf_free(&out);
}

#define GIT(...)                                                                   \
    git((const char *const[]){ "git", "-c", "user.name=A", "-c", "user.email=a@b", \
                               "-c", "commit.gpgsign=false", __VA_ARGS__, NULL })

static void write_file(const char *text)
{
    char *path = wf_path_join(root, "file");
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), NULL), WF_OK);
    free(path);
}

static void two_commits(void)
{
    GIT("init", "-q");
    write_file("1");
    GIT("add", "file");
    GIT("commit", "-q", "-m", "one");
    write_file("2");
    GIT("commit", "-q", "-a", "-m", "two");
}

Test(provenance, what_git_says)
{
    struct wf_git_info one, two;
    struct wf_error err = { .text = "" };
    two_commits();
    cr_assert_eq(wf_git_read(root, &two, &err), WF_OK, "%s", err.text);
    cr_expect_eq(strlen(two.commit), 40);
    cr_expect_eq(two.parent_count, 1);
    cr_expect_eq(strlen(two.parent[0]), 40);
    cr_expect_str_eq(two.repository, "");
    cr_expect_not(two.dirty);
    GIT("checkout", "-q", "HEAD~1");
    cr_assert_eq(wf_git_read(root, &one, NULL), WF_OK);
    cr_expect_str_eq(one.commit, two.parent[0]);
    cr_expect_eq(one.parent_count, 0);
}

Test(provenance, changes_of_tracked_files_are_dirty)
{
    struct wf_git_info info;
    two_commits();
    char *path = wf_path_join(root, "untracked");
    cr_assert_eq(wf_file_write_atomic(path, "x", 1, NULL), WF_OK);
    free(path);
    cr_assert_eq(wf_git_read(root, &info, NULL), WF_OK);
    cr_expect_not(info.dirty);
    write_file("3");
    cr_assert_eq(wf_git_read(root, &info, NULL), WF_OK);
    cr_expect(info.dirty);
}

Test(provenance, user_and_password_of_the_remote_are_cut_off)
{
    struct wf_git_info info;
    two_commits();
    GIT("remote", "add", "origin", "https://me:s3cret@example.org/farm.git");
    cr_assert_eq(wf_git_read(root, &info, NULL), WF_OK);
    cr_expect_str_eq(info.repository, "https://example.org/farm.git");
    GIT("remote", "set-url", "origin", "git@example.org:farm.git");
    cr_assert_eq(wf_git_read(root, &info, NULL), WF_OK);
    cr_expect_str_eq(info.repository, "git@example.org:farm.git");
}

Test(provenance, outside_a_work_tree)
{
    struct wf_git_info info;
    struct wf_error err = { .text = "" };
    cr_expect_eq(wf_git_read(root, &info, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "not in a git work tree"), "%s", err.text);
}

static char *write_record(const struct wf_git_info *info)
{
    struct wf_error err = { .text = "" };
    struct wf_provenance p = { .git = info, .kernel = &kernel, .kernel_count = 1 };
    char *path = wf_path_join(root, "provenance.json");
    cr_assert_eq(wf_provenance_write(path, ID, &p, &err), WF_OK, "%s", err.text);
    return path;
}

static const struct wf_git_info known = {
    .repository = "https://example.org/farm.git",
    .commit = "89abcdef0123456789abcdef0123456789abcdef",
    .parent = { "79abcdef0123456789abcdef0123456789abcdef" },
    .parent_count = 1,
    .dirty = true
};

Test(provenance, a_record_reads_back)
{
    struct wf_json *json = NULL;
    struct wf_error err = { .text = "" };
    const char *text = NULL;
    bool dirty = false;
    char *path = write_record(&known);
    cr_assert_eq(wf_provenance_read(path, ID, &json, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_json_get_string(json, "commit", &text, NULL), WF_OK);
    cr_expect_str_eq(text, known.commit);
    cr_assert_eq(wf_json_get_bool(json, "dirty", &dirty, NULL), WF_OK);
    cr_expect(dirty);
    const struct wf_json *k = wf_json_find(wf_json_find(json, "kernels"), "k");
    cr_assert_not_null(k);
    cr_assert_eq(wf_json_get_string(k, "compiler_version", &text, NULL), WF_OK);
    cr_expect_str_eq(text, "19.1.7");
    cr_expect_eq(wf_json_count(wf_json_find(k, "flags")), 2);
    wf_json_free(json);
    free(path);
}

Test(provenance, without_git_the_record_says_null)
{
    struct wf_json *json = NULL;
    char *path = write_record(NULL);
    cr_assert_eq(wf_provenance_read(path, NULL, &json, NULL), WF_OK);
    cr_expect_eq(wf_json_type(wf_json_find(json, "commit")), WF_JSON_NULL);
    cr_expect_eq(wf_json_type(wf_json_find(json, "dirty")), WF_JSON_NULL);
    wf_json_free(json);
    free(path);
}

Test(provenance, the_record_of_another_pack)
{
    struct wf_json *json = NULL;
    struct wf_error err = { .text = "" };
    char *path = write_record(&known);
    cr_expect_eq(wf_provenance_read(path, OTHER, &json, &err), WF_EINVAL);
    cr_expect(strstr(err.text, ID) && strstr(err.text, OTHER), "%s", err.text);
    cr_expect(strstr(err.text, "remove it, or write a new one"), "%s", err.text);
    free(path);
}

/* A good record with one text replaced. */
static void expect_wrong(const char *from, const char *to, const char *part)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *json = NULL;
    struct wf_error err = { .text = "" };
    char *path = write_record(&known);
    cr_assert_eq(wf_file_read(path, 1 << 20, &text, NULL), WF_OK);
    const char *at = strstr(text.data, from);
    cr_assert(at != NULL, "the record has no %s", from);
    char *changed = wf_asprintf("%.*s%s%s", (int)(at - text.data), text.data, to,
                                at + strlen(from));
    cr_assert_eq(wf_file_write_atomic(path, changed, strlen(changed), NULL), WF_OK);
    cr_expect_neq(wf_provenance_read(path, ID, &json, &err), WF_OK, "%s", to);
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    cr_expect(strstr(err.text, "provenance.json") != NULL, "%s", err.text);
    free(changed);
    wf_buf_free(&text);
    free(path);
}

Test(provenance, wrong_records)
{
    expect_wrong("wavefarm.provenance/1", "wavefarm.provenance/9", "schema");
    expect_wrong("\"commit\": \"89", "\"commit\": \"xy", "is not a hash");
    expect_wrong("\"79ab", "\"79AB", "parents: not a commit hash");
    expect_wrong("\"dirty\": true", "\"dirty\": 1", "dirty");
    expect_wrong("\"dirty\": true", "\"dirty\": true, \"more\": 1", "more");
    expect_wrong("\"compiler\": ", "\"compilr\": ", "kernel k");
    expect_wrong("\"-O3\"", "3", "flags: a string");
    expect_wrong("\"source_sha256\": \"01", "\"source_sha256\": \"zz", "not a SHA-256");
    expect_wrong("{", "", "provenance.json");
}

Test(provenance, a_program_that_is_not_there)
{
    static const char *const argv[] = { "wf-no-such-program", NULL };
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    int code = 0;
    cr_expect_eq(command_run(argv, NULL, true, &out, &code, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "wf-no-such-program"), "%s", err.text);
    wf_buf_free(&out);
}

Test(provenance, output_and_exit_status_of_a_program)
{
    static const char *const argv[] = { "sh", "-c", "echo out; echo err >&2; exit 3",
                                        NULL };
    static const char *const killed[] = { "sh", "-c", "kill -9 $$", NULL };
    struct wf_buf out = WF_BUF_INIT;
    int code = 0;
    cr_assert_eq(command_run(argv, NULL, true, &out, &code, NULL), WF_OK);
    cr_expect_str_eq(wf_buf_cstr(&out), "out\nerr\n");
    cr_expect_eq(code, 3);
    wf_buf_clear(&out);
    cr_assert_eq(command_run(argv, "/", false, &out, &code, NULL), WF_OK);
    cr_expect_str_eq(wf_buf_cstr(&out), "out\n");
    cr_assert_eq(command_run(killed, NULL, false, &out, &code, NULL), WF_OK);
    cr_expect_eq(code, 128 + 9);
    wf_buf_clear(&out);
    cr_assert_eq(command_text(argv, &out, NULL), WF_OK);
    cr_expect_str_eq(out.data, "sh -c 'echo out; echo err >&2; exit 3'");
    wf_buf_free(&out);
}
