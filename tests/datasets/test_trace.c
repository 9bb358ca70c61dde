/* Trace readers: both formats, counts, and errors with file and line. */
#include "datasets/trace.h"

#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>
#include <string.h>

#define HEADER "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"

static enum wf_status read_text(const char *text,
                                size_t n,
                                int64_t max,
                                struct wf_request_list *list,
                                struct wf_trace_report *report,
                                struct wf_error *err)
{
    struct temp_dir dir;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "trace");
    cr_assert_eq(wf_file_write_atomic(path, text, n, NULL), WF_OK);
    enum wf_status st = wf_trace_read(path, max, list, report, err);
    temp_dir_remove(&dir);
    return st;
}

static struct wf_trace_report expect_read(const char *text,
                                          int64_t max,
                                          struct wf_request_list *list)
{
    struct wf_trace_report report;
    struct wf_error err;
    *list = (struct wf_request_list)WF_REQUEST_LIST_INIT;
    cr_assert_eq(read_text(text, strlen(text), max, list, &report, &err), WF_OK, "%s",
                 err.text);
    return report;
}

static void expect_refused(const char *text, const char *want)
{
    struct wf_request_list list = WF_REQUEST_LIST_INIT;
    struct wf_trace_report report;
    struct wf_error err;
    cr_expect_neq(read_text(text, strlen(text), 0, &list, &report, &err), WF_OK,
                  "accepted: %s", text);
    cr_expect_not_null(strstr(err.text, want), "\"%s\" not in: %s", want, err.text);
    wf_request_list_free(&list);
}

Test(trace, azure_rows_become_requests)
{
    struct wf_request_list list;
    struct wf_trace_report r =
        expect_read(HEADER "2023-11-16 23:59:59.5000001,374,44\r\n"
                           "2023-11-17 00:00:00.0000000,396,109",
                    0, &list);
    cr_expect_eq(r.format, WF_TRACE_AZURE);
    cr_expect_eq(r.rows, 2);
    cr_expect_eq(r.taken, 2);
    cr_assert_eq(list.count, 2);
    cr_expect_eq(list.at[0].arrival_ns, 0);
    cr_expect_eq(list.at[1].arrival_ns, 499999900);
    cr_expect_eq(list.at[0].prompt_tokens, 374);
    cr_expect_eq(list.at[1].output_tokens, 109);
    cr_expect_eq(list.at[0].chain_count, 0);
    wf_request_list_free(&list);
}

Test(trace, azure_times_cross_a_leap_day)
{
    struct wf_request_list list;
    (void)expect_read(HEADER "2024-02-28 00:00:00,1,1\n"
                             "2024-03-01 00:00:00.25+00:00,1,1\n",
                      0, &list);
    cr_expect_eq(list.at[1].arrival_ns, (int64_t)2 * 86400 * 1000000000 + 250000000);
    wf_request_list_free(&list);
}

Test(trace, rows_that_cannot_be_served_are_counted)
{
    struct wf_request_list list;
    struct wf_trace_report r = expect_read(HEADER "2023-11-16 00:00:01,0,5\n"
                                                  "2023-11-16 00:00:02,5,0\n"
                                                  "2023-11-16 00:00:05,5,5\n"
                                                  "2023-11-16 00:00:03,6,6\n"
                                                  "2023-11-16 00:00:04,7,7\n",
                                           2, &list);
    cr_expect_eq(r.rows, 5);
    cr_expect_eq(r.skipped_no_prompt, 1);
    cr_expect_eq(r.skipped_no_output, 1);
    cr_expect_eq(r.skipped_past_end, 1);
    cr_expect_eq(r.reordered, 1);
    cr_assert_eq(r.taken, 2);
    cr_expect_eq(list.at[0].prompt_tokens, 6);
    cr_expect_eq(list.at[1].arrival_ns, (int64_t)2000000000);
    wf_request_list_free(&list);
}

Test(trace, the_hash_covers_the_whole_file)
{
    const char *text = HEADER "2023-11-16 00:00:01,5,5\n2023-11-16 00:00:02,5,5\n";
    struct wf_request_list list;
    char want[WF_SHA256_HEX];
    struct wf_trace_report r = expect_read(text, 1, &list);
    wf_sha256_hex(text, strlen(text), want);
    cr_expect_str_eq(r.sha256, want);
    wf_request_list_free(&list);
}

Test(trace, wrong_azure_rows_are_refused_with_their_line)
{
    static const char *const bad[] = {
        "2023-11-16 00:00:01,5",
        "2023-11-16 00:00:01,5,5,5",
        "2023-11-16 00:00:01",
        "2023-11-16 00:00:01,-5,5",
        "2023-11-16 00:00:01,5, 5",
        "2023-11-16 00:00:01,5.0,5",
        "2023-11-16 00:00:01,99999999999999999999,5",
        "2023-11-16 00:00:01,16777217,5",
        "2023-13-16 00:00:01,5,5",
        "2023-02-29 00:00:01,5,5",
        "2023-11-16 24:00:01,5,5",
        "2023-11-16 00:00:61,5,5",
        "2023-11-16T00:00:01,5,5",
        "2023-11-16 00:00:01.,5,5",
        "2023-11-16 00:00:01.1234567890,5,5",
        "2023-11-16 00:00:01+02:00,5,5",
        "1969-11-16 00:00:01,5,5",
        "9999-11-16 00:00:01,5,5",
        "",
        "NaN,5,5",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *text = wf_asprintf(HEADER "2023-11-16 00:00:01,5,5\n%s\nx", bad[i]);
        expect_refused(text, "trace:3: ");
        free(text);
    }
}

Test(trace, a_file_of_no_known_format_is_refused)
{
    expect_refused("", "the file is empty");
    expect_refused("TIMESTAMP,ContextTokens\n", "neither");
    expect_refused("\xef\xbb\xbf" HEADER, "byte order mark");
    expect_refused("[1]\n", "neither");
    expect_refused(HEADER, "none of the 0 rows");
    expect_refused(HEADER "2023-11-16 00:00:01,0,0\n", "none of the 1 rows");
}

Test(trace, binary_and_endless_lines_are_refused)
{
    struct wf_request_list list = WF_REQUEST_LIST_INIT;
    struct wf_trace_report report;
    struct wf_error err;
    cr_expect_eq(read_text(HEADER "a\0b\n", sizeof HEADER + 3, 0, &list, &report, &err),
                 WF_EPARSE);
    cr_expect_not_null(strstr(err.text, "trace:2: NUL"), "%s", err.text);
    const size_t n = (size_t)3 << 20;
    char *line = wf_calloc(n + 1, 1);
    memset(line, '7', n);
    cr_expect_eq(read_text(line, n, 0, &list, &report, &err), WF_EPARSE);
    cr_expect_not_null(strstr(err.text, "longer than 1 MiB"), "%s", err.text);
    free(line);
    wf_request_list_free(&list);
}

Test(trace, mooncake_rows_become_requests_with_chains)
{
    struct wf_request_list list;
    struct wf_trace_report r = expect_read(
        "{\"timestamp\":5,\"input_length\":1024,\"output_length\":7,\"hash_ids\":[9,4]}\n"
        "{\"timestamp\":8,\"input_length\":513,\"output_length\":1,\"hash_ids\":[9,77]}\n"
        "{\"timestamp\":9,\"input_length\":600,\"output_length\":0,\"hash_ids\":[9,78]}\n",
        0, &list);
    cr_expect_eq(r.format, WF_TRACE_MOONCAKE);
    cr_expect_eq(r.taken, 2);
    cr_expect_eq(r.skipped_no_output, 1);
    cr_expect_eq(list.block_tokens, 512);
    cr_expect_eq(list.at[1].arrival_ns, 3000000);
    const uint32_t *a = list.chain + list.at[0].chain_first;
    const uint32_t *b = list.chain + list.at[1].chain_first;
    cr_expect_eq(a[0], b[0]);
    cr_expect_neq(a[1], b[1]);
    cr_expect_eq(list.node_uses[a[0]], 2);
    cr_expect_eq(list.node_uses[a[1]], 1);
    wf_request_list_free(&list);
}

/* An equal id behind another prefix is other content. */
Test(trace, a_node_stands_for_its_whole_prefix)
{
    struct wf_request_list list;
    (void)expect_read(
        "{\"timestamp\":0,\"input_length\":1024,\"output_length\":7,\"hash_ids\":[1,3]}\n"
        "{\"timestamp\":0,\"input_length\":1024,\"output_length\":7,\"hash_ids\":[2,3]}\n",
        0, &list);
    cr_expect_neq(list.chain[1], list.chain[3]);
    wf_request_list_free(&list);
}

Test(trace, wrong_mooncake_rows_are_refused_with_their_line)
{
#define GOOD \
    "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]}\n"
    static const char *const bad[] = {
        "{\"timestamp\":0,\"input_length\":513,\"output_length\":1,\"hash_ids\":[0]}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0,1]}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[-1]}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1.5]}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":7}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1}",
        "{\"timestamp\":-1,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0],\"x\":1}",
        "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]",
        "[]",
        "",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *text = wf_asprintf(GOOD "%s\n" GOOD, bad[i]);
        expect_refused(text, "trace:2: ");
        free(text);
    }
#undef GOOD
}

Test(trace, an_absent_file_is_not_found)
{
    struct wf_request_list list = WF_REQUEST_LIST_INIT;
    struct wf_trace_report report;
    struct wf_error err;
    cr_expect_eq(wf_trace_read("/nonexistent/t.csv", 0, &list, &report, &err),
                 WF_ENOTFOUND);
    cr_expect_not_null(strstr(err.text, "/nonexistent/t.csv"));
}
