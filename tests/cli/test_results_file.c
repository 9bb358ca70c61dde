/* Results files: what was written is read; what is damaged is refused with its line. */
#include "cli/results_file.h"

#include "tests/core/temp_dir.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static struct temp_dir dir;

static void make(void)
{
    temp_dir_make(&dir);
}

static void clean(void)
{
    temp_dir_remove(&dir);
}

#define HEADER "{\"schema\":\"wavefarm.results/1\",\"suite\":\"s\",\"expected\":2}\n"
#define RESULT                                                                       \
    "{\"schema\":\"wavefarm.result/1\",\"task\":{\"id\":\"1\"},\"answer\":\"PASS\"," \
    "\"time\":\"OK\"}\n"

static const char *text_file(const char *text)
{
    const char *path = temp_dir_file(&dir, "f.jsonl");
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), NULL), WF_OK);
    return path;
}

static void refused(const char *text, const char *why)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    cr_assert_neq(wf_results_read(text_file(text), &r, &err), WF_OK, "%s", text);
    cr_assert_not_null(strstr(err.text, why), "'%s' lacks '%s'", err.text, why);
    cr_assert_null(r.result);
}

Test(results_file, what_was_written_is_read, .init = make, .fini = clean)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_json *one = NULL;
    struct wf_results_writer *w = NULL;
    const char *path = temp_dir_file(&dir, "out.jsonl");
    cr_assert_eq(wf_json_parse(RESULT, strlen(RESULT) - 1, "r", &one, &err), WF_OK);
    cr_assert_eq(wf_results_create(path, "s", 2, &w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_append(w, one, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_close(w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_read(path, &r, &err), WF_OK, "%s", err.text);
    cr_assert_eq(r.expected, 2);
    cr_assert_eq(r.count, 1);
    cr_assert_str_eq(wf_json_string(wf_json_find(r.result[0], "answer")), "PASS");
    wf_results_free(&r);
    wf_json_free(one);
}

Test(results_file,
     a_file_that_cannot_grow_keeps_whole_lines,
     .init = make,
     .fini = clean)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_json *one = NULL;
    struct wf_results_writer *w = NULL;
    const char *path = temp_dir_file(&dir, "out.jsonl");
    const struct rlimit limit = { 400, 400 }; /* the header, two lines and a half */
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(wf_json_parse(RESULT, strlen(RESULT) - 1, "r", &one, &err), WF_OK);
    cr_assert_eq(wf_results_create(path, "s", 9, &w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t written = 0;
    while (written < 9 && wf_results_append(w, one, &err) == WF_OK) {
        written++;
    }
    cr_assert_eq(err.native, EFBIG, "%s", err.text);
    cr_assert(written > 0 && written < 9);
    cr_assert_eq(wf_results_close(w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_read(path, &r, &err), WF_OK, "%s", err.text);
    cr_assert_eq(r.count, written);
    wf_results_free(&r);
    wf_json_free(one);
}

Test(results_file, a_file_has_one_writer, .init = make, .fini = clean)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_results_writer *w = NULL, *second = NULL;
    const char *path = temp_dir_file(&dir, "out.jsonl");
    cr_assert_eq(wf_results_create(path, "first", 2, &w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_create(path, "second", 3, &second, &err), WF_EEXIST);
    cr_assert_not_null(strstr(err.text, "another run is writing it"), "%s", err.text);
    cr_assert_eq(wf_results_close(w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_read(path, &r, &err), WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_json_string(wf_json_find(r.header, "suite")), "first");
    wf_results_free(&r);
    cr_assert_eq(wf_results_create(path, "second", 3, &w, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_results_close(w, &err), WF_OK);
}

Test(results_file, many_results_keep_their_order, .init = make, .fini = clean)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_buf text = WF_BUF_INIT;
    cr_assert_eq(wf_buf_puts(&text, HEADER, &err), WF_OK);
    for (int i = 0; i < 33; i++) {
        cr_assert_eq(wf_buf_printf(&text, &err,
                                   "{\"schema\":\"wavefarm.result/1\",\"task\":{\"id\":"
                                   "\"%d\"},\"answer\":\"PASS\",\"time\":\"OK\"}\n",
                                   i),
                     WF_OK);
    }
    cr_assert_eq(wf_results_read(text_file(wf_buf_cstr(&text)), &r, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(r.count, 33);
    const struct wf_json *task = wf_json_find(r.result[32], "task");
    cr_assert_str_eq(wf_json_string(wf_json_find(task, "id")), "32");
    wf_results_free(&r);
    wf_buf_free(&text);
}

Test(results_file, damage_is_refused_with_its_line, .init = make, .fini = clean)
{
    refused("", "empty, not a results file");
    refused("{}\n", "schema is '', wanted 'wavefarm.results/1'");
    refused(RESULT, "wanted 'wavefarm.results/1'");
    refused(HEADER HEADER, "f.jsonl:2: schema is 'wavefarm.results/1'");
    refused("[]\n", "schema is ''");
    refused("{\"schema\":\"wavefarm.results/2\"}\n", "schema is 'wavefarm.results/2'");
    refused("{\"schema\":\"wavefarm.results/1\",\"expected\":-1}\n", "expected");
    refused(HEADER RESULT "{\"schema\":\"wavefarm.res",
            "f.jsonl:3: the last line is torn");
    refused(HEADER "not json\n", "f.jsonl:2");
    refused(HEADER RESULT "\n", "f.jsonl:3");
    refused("\xef\xbb\xbf" HEADER, "f.jsonl:1");
}

Test(results_file, unknown_verdicts_are_refused, .init = make, .fini = clean)
{
#define LINE(answer, time)                                                    \
    HEADER "{\"schema\":\"wavefarm.result/1\",\"task\":{},\"answer\":" answer \
           ",\"time\":" time "}\n"
    refused(LINE("\"FINE\"", "\"OK\""), "f.jsonl:2: answer 'FINE' is not known");
    refused(LINE("\"PASS\"", "\"FAST\""), "f.jsonl:2: time 'FAST' is not known");
    refused(LINE("1", "\"OK\""), "answer");
    refused(HEADER
            "{\"schema\":\"wavefarm.result/1\",\"answer\":\"PASS\",\"time\":\"OK\"}\n",
            "task");
#undef LINE
}

Test(results_file, missing_files_and_folders_are_named, .init = make, .fini = clean)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_results_writer *w = NULL;
    const char *path = temp_dir_file(&dir, "none/f.jsonl");
    cr_assert_eq(wf_results_read(path, &r, &err), WF_ENOTFOUND);
    cr_assert_not_null(strstr(err.text, path));
    cr_assert_eq(wf_results_create(path, "s", 1, &w, &err), WF_ENOTFOUND);
    cr_assert_not_null(strstr(err.text, path));
    cr_assert_null(w);
}

Test(results_file, a_full_disk_is_told)
{
    struct wf_error err = { 0 };
    struct wf_results_writer *w = NULL;
    cr_assert_eq(wf_results_create("/dev/full", "s", 1, &w, &err), WF_ENOSPC);
    cr_assert_not_null(strstr(err.text, "/dev/full"));
}
