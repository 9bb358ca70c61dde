/* The HTTP client against a scripted server: answers, retries, limits, streaming. */
#include "core/http_client.h"

#include "core/clock.h"
#include "tests/core/http_script_server.h"
#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define OK_TEXT \
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngood"
#define BUSY_NOW(status) \
    "HTTP/1.1 " status " Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
#define PATIENT_MS 60000

static struct temp_dir dir;
static struct wf_error err;
static struct script_server *server;
static struct wf_http *http;

static void make(void)
{
    (void)setenv("NO_PROXY", "*", 1);
    temp_dir_make(&dir);
}

static void drop(void)
{
    temp_dir_remove(&dir);
}

TestSuite(http_client, .init = make, .fini = drop);

static void begin(const struct script_step *steps,
                  size_t count,
                  struct wf_http_options options)
{
    server = script_server_start(steps, count);
    options.base_url = script_server_url(server);
    cr_assert_eq(wf_http_create(&options, &http, &err), WF_OK, "%s", err.text);
}

static void end(void)
{
    wf_http_destroy(http);
    script_server_free(server);
}

static enum wf_status get(struct wf_http_response *r)
{
    return wf_http_request(http, "GET", "/x", NULL, NULL, 0, 0, r, &err);
}

static size_t files_left(void)
{
    DIR *d = opendir(dir.path);
    size_t n = 0;

    cr_assert_not_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    (void)closedir(d);
    return n - 2;
}

static void expect_content(const char *path, const char *bytes, size_t n)
{
    struct wf_buf b = WF_BUF_INIT;

    cr_assert_eq(wf_file_read(path, n + 1, &b, &err), WF_OK, "%s", err.text);
    cr_assert_eq(b.len, n);
    cr_assert(n == 0 || memcmp(b.data, bytes, n) == 0);
    wf_buf_free(&b);
}

/* --- answers --- */

Test(http_client, answer_is_returned_with_status_type_and_body)
{
    static const struct script_step steps[] = { { .bytes = OK_TEXT } };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ 0 });
    cr_assert_eq(get(&r), WF_OK, "%s", err.text);
    script_server_stop(server);
    cr_assert_eq(r.status, 200);
    cr_assert_str_eq(r.content_type, "text/plain");
    cr_assert_str_eq(wf_buf_cstr(&r.body), "good");
    cr_assert_eq(r.attempts, 1);
    cr_assert_eq(
        strncmp(script_server_request(server, 0)->head, "GET /x HTTP/1.1\r\n", 17), 0);
    cr_assert_null(strcasestr(script_server_request(server, 0)->head, "Authorization"));
    wf_http_response_free(&r);
    wf_http_response_free(&r);
    wf_http_response_free(NULL);
    end();
}

Test(http_client, token_type_and_body_are_sent)
{
    static const struct script_step steps[] = { { .bytes = OK_TEXT } };
    struct wf_http_response r = { 0 };
    const char *head;

    begin(steps, 1, (struct wf_http_options){ .token = "wf_secret" });
    cr_assert_eq(wf_http_request(http, "POST", "/v1/runs?x=1", "application/json", "{}",
                                 2, 0, &r, &err),
                 WF_OK, "%s", err.text);
    script_server_stop(server);
    head = script_server_request(server, 0)->head;
    cr_assert_not_null(strstr(head, "POST /v1/runs?x=1 HTTP/1.1\r\n"));
    cr_assert_not_null(strstr(head, "\r\nAuthorization: Bearer wf_secret\r\n"));
    cr_assert_not_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
    cr_assert_str_eq(wf_buf_cstr(&script_server_request(server, 0)->body), "{}");
    wf_http_response_free(&r);
    end();
}

Test(http_client, post_without_a_body_has_length_zero)
{
    static const struct script_step steps[] = {
        { .bytes = "HTTP/1.1 204 No Content\r\n\r\n" }
    };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ 0 });
    cr_assert_eq(wf_http_request(http, "POST", "/x", NULL, NULL, 0, 0, &r, &err),
                 WF_OK);
    cr_assert_eq(r.status, 204);
    wf_http_response_free(&r);
    cr_assert_eq(wf_http_request(http, "DELETE", "/x", NULL, NULL, 0, 0, &r, &err),
                 WF_OK);
    script_server_stop(server);
    cr_assert_not_null(
        strstr(script_server_request(server, 0)->head, "Content-Length: 0\r\n"));
    cr_assert_eq(strncmp(script_server_request(server, 1)->head, "DELETE /x ", 10), 0);
    wf_http_response_free(&r);
    end();
}

Test(http_client, redirects_are_not_followed)
{
    static const struct script_step steps[] = {
        { .bytes = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                   "Content-Length: 0\r\n\r\n" }
    };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ .token = "wf_secret" });
    cr_assert_eq(get(&r), WF_OK);
    cr_assert_eq(r.status, 302);
    cr_assert_eq(wf_http_check(&r, &err), WF_ENETWORK);
    script_server_stop(server);
    wf_http_response_free(&r);
    end();
}

/* --- retries --- */

static void expect_retried(const char *first)
{
    struct script_step steps[] = { { .bytes = first },
                                   { .bytes = first },
                                   { .bytes = OK_TEXT } };
    struct wf_http_response r = { 0 };

    begin(steps, 3, (struct wf_http_options){ .retry_budget_ms = PATIENT_MS });
    cr_assert_eq(
        wf_http_request(http, "POST", "/x", "text/plain", "same body", 9, 0, &r, &err),
        WF_OK, "%s", err.text);
    script_server_stop(server);
    cr_assert_eq(r.status, 200);
    cr_assert_eq(r.attempts, 3);
    cr_assert_str_eq(wf_buf_cstr(&r.body), "good");
    for (size_t i = 0; i < 3; i++) {
        cr_assert_str_eq(wf_buf_cstr(&script_server_request(server, i)->body),
                         "same body");
    }
    wf_http_response_free(&r);
    end();
}

Test(http_client, temporary_answers_are_retried)
{
    expect_retried(BUSY_NOW("429"));
    expect_retried(BUSY_NOW("502"));
    expect_retried(BUSY_NOW("503"));
    expect_retried(BUSY_NOW("504"));
}

Test(http_client, dropped_connections_are_retried)
{
    expect_retried("");
    expect_retried("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
}

/* A69: two time-outs, a bad gateway, then the answer; the same body each time. */
Test(http_client, a69_two_time_outs_and_a_bad_gateway)
{
    static const struct script_step steps[] = {
        { .action = SCRIPT_HANG, .bytes = "" },
        { .action = SCRIPT_HANG, .bytes = "" },
        { .bytes = BUSY_NOW("502") },
        { .bytes = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\ngood" }
    };
    struct wf_http_response r = { 0 };

    begin(steps, 4,
          (struct wf_http_options){ .timeout_ms = 60, .retry_budget_ms = PATIENT_MS });
    cr_assert_eq(wf_http_request(http, "POST", "/v1/results", "application/json",
                                 "{\"token\":7}", 11, 0, &r, &err),
                 WF_OK, "%s", err.text);
    script_server_stop(server);
    cr_assert_eq(r.status, 201);
    cr_assert_eq(r.attempts, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_str_eq(wf_buf_cstr(&script_server_request(server, i)->body),
                         "{\"token\":7}");
    }
    wf_http_response_free(&r);
    end();
}

static void expect_single_attempt(const char *bytes, long status, int64_t budget_ms)
{
    struct script_step steps[] = { { .bytes = bytes } };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ .retry_budget_ms = budget_ms });
    cr_assert_eq(get(&r), WF_OK, "%s", err.text);
    script_server_stop(server);
    cr_assert_eq(r.status, status);
    cr_assert_eq(r.attempts, 1);
    cr_assert_eq(script_server_request_count(server), 1);
    wf_http_response_free(&r);
    end();
}

Test(http_client, other_answers_are_not_retried)
{
    expect_single_attempt("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", 500,
                          PATIENT_MS);
    expect_single_attempt("HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", 409,
                          PATIENT_MS);
}

Test(http_client, without_a_budget_nothing_is_retried)
{
    expect_single_attempt(BUSY_NOW("503"), 503, 0);
}

Test(http_client, wait_longer_than_the_budget_is_not_begun)
{
    expect_single_attempt(
        "HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", 429,
        PATIENT_MS);
}

Test(http_client, retry_after_is_the_least_wait)
{
    static const struct script_step steps[] = {
        { .bytes =
              "HTTP/1.1 429 Slow\r\nretry-after:  1 \r\nContent-Length: 0\r\n\r\n" },
        { .bytes = OK_TEXT }
    };
    struct wf_http_response r = { 0 };
    int64_t start = wf_monotonic_ns();

    begin(steps, 2, (struct wf_http_options){ .retry_budget_ms = PATIENT_MS });
    cr_assert_eq(get(&r), WF_OK, "%s", err.text);
    script_server_stop(server);
    cr_assert_eq(r.attempts, 2);
    cr_assert(wf_monotonic_ns() - start >= INT64_C(990000000));
    wf_http_response_free(&r);
    end();
}

Test(http_client, back_off_is_uniform_below_a_capped_doubling)
{
    cr_assert_eq(wf_backoff_ms(0, 100, 10000, 100), 100);
    cr_assert_eq(wf_backoff_ms(0, 100, 10000, 101), 0);
    cr_assert_eq(wf_backoff_ms(3, 100, 10000, 800), 800);
    cr_assert_eq(wf_backoff_ms(3, 100, 10000, 801), 0);
    cr_assert_eq(wf_backoff_ms(7, 100, 10000, 10000), 10000);
    cr_assert_eq(wf_backoff_ms(7, 100, 10000, 10001), 0);
    cr_assert_eq(wf_backoff_ms(1000000, 100, 10000, 10000), 10000);
    cr_assert_eq(wf_backoff_ms(62, 3, INT64_MAX, (uint64_t)INT64_MAX), INT64_MAX);
    cr_assert_eq(wf_backoff_ms(0, 0, 10, 7), 0);
    cr_assert_eq(wf_backoff_ms(-1, 100, 10000, 5), 5);
}

/* --- failures --- */

Test(http_client, silent_server_is_a_timeout)
{
    static const struct script_step steps[] = { { .action = SCRIPT_HANG,
                                                  .bytes = "" } };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ .timeout_ms = 50 });
    cr_assert_eq(get(&r), WF_ETIMEOUT);
    cr_assert_str_eq(err.domain, "curl");
    cr_assert_not_null(strstr(err.text, "GET http://127.0.0.1:"));
    cr_assert_null(r.body.data);
    script_server_stop(server);
    end();
}

Test(http_client, long_poll_gets_its_extra_time)
{
    static const struct script_step steps[] = { { .bytes = OK_TEXT } };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ .timeout_ms = 1 });
    cr_assert_eq(
        wf_http_request(http, "GET", "/x", NULL, NULL, 0, PATIENT_MS, &r, &err), WF_OK,
        "%s", err.text);
    script_server_stop(server);
    wf_http_response_free(&r);
    end();
}

/* A port on which nothing listens: bound by us, never listened on. */
static int take_dead_port(char *url, size_t size)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert(fd >= 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(url, size, "http://127.0.0.1:%u///", ntohs(address.sin_port));
    return fd;
}

Test(http_client, refused_connection_names_the_address)
{
    char url[64];
    int fd = take_dead_port(url, sizeof url);
    struct wf_http_options options = { .base_url = url, .retry_budget_ms = 300 };
    struct wf_http_response r = { 0 };

    cr_assert_eq(wf_http_create(&options, &http, &err), WF_OK);
    cr_assert_eq(get(&r), WF_ENETWORK);
    *strstr(url, "///") = '\0';
    cr_assert_not_null(strstr(err.text, url));
    cr_assert_not_null(strstr(err.text, "/x: "),
                       "slashes at the end of the address are cut");
    cr_assert_not_null(strstr(err.text, "attempt"));
    cr_assert_str_eq(err.domain, "curl");
    wf_http_destroy(http);
    (void)close(fd);
}

Test(http_client, cancelling_ends_the_wait_between_attempts)
{
    static volatile int cancel;
    const struct script_step steps[] = {
        { .bytes =
              "HTTP/1.1 503 Busy\r\nRetry-After: 3000\r\nContent-Length: 0\r\n\r\n",
          .set_flag = &cancel }
    };
    struct wf_http_response r = { 0 };

    begin(steps, 1,
          (struct wf_http_options){ .retry_budget_ms = 100 * PATIENT_MS,
                                    .cancel = &cancel });
    cr_assert_eq(get(&r), WF_ECANCELLED);
    script_server_stop(server);
    cr_assert_eq(script_server_request_count(server), 1);
    end();
}

Test(http_client, cancelling_ends_a_request)
{
    static volatile int cancel;
    const struct script_step steps[] = {
        { .action = SCRIPT_HANG, .bytes = "", .set_flag = &cancel }
    };
    struct wf_http_response r = { 0 };

    begin(steps, 1,
          (struct wf_http_options){ .timeout_ms = PATIENT_MS, .cancel = &cancel });
    cr_assert_eq(get(&r), WF_ECANCELLED);
    cr_assert_not_null(strstr(err.text, "cancelled"));
    cr_assert_eq(get(&r), WF_ECANCELLED, "nothing is sent after it");
    script_server_stop(server);
    cr_assert_eq(script_server_request_count(server), 1);
    end();
}

static void expect_too_large(const char *bytes)
{
    struct script_step steps[] = { { .bytes = bytes } };
    struct wf_http_response r = { 0 };

    begin(steps, 1,
          (struct wf_http_options){ .max_response_bytes = 9,
                                    .retry_budget_ms = PATIENT_MS });
    cr_assert_eq(get(&r), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "larger than 9 bytes"));
    script_server_stop(server);
    cr_assert_eq(script_server_request_count(server), 1, "it would be as large again");
    end();
}

Test(http_client, oversized_body_is_refused)
{
    expect_too_large("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
    expect_too_large("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n");
    expect_too_large("HTTP/1.1 200 OK\r\n\r\n0123456789");
}

Test(http_client, what_is_not_http_is_a_network_error)
{
    static const struct script_step steps[] = { { .bytes =
                                                      "SSH-2.0-OpenSSH_9.2\r\n" } };
    struct wf_http_response r = { 0 };

    begin(steps, 1, (struct wf_http_options){ 0 });
    cr_assert_eq(get(&r), WF_ENETWORK);
    script_server_stop(server);
    end();
}

static void expect_bad_options(struct wf_http_options options, enum wf_status status)
{
    struct wf_http *made = NULL;

    cr_assert_eq(wf_http_create(&options, &made, &err), status, "%s", err.text);
    cr_assert_null(made);
}

Test(http_client, bad_options_are_refused)
{
    expect_bad_options((struct wf_http_options){ .base_url = NULL }, WF_EINVAL);
    expect_bad_options((struct wf_http_options){ .base_url = "host:8080" }, WF_EINVAL);
    expect_bad_options((struct wf_http_options){ .base_url = "file:///etc/passwd" },
                       WF_EINVAL);
    expect_bad_options((struct wf_http_options){ .base_url = "http://a b" }, WF_EINVAL);
    expect_bad_options((struct wf_http_options){ .base_url = "http://a", .token = "" },
                       WF_EINVAL);
    expect_bad_options(
        (struct wf_http_options){ .base_url = "http://a", .timeout_ms = -1 },
        WF_EINVAL);
    expect_bad_options(
        (struct wf_http_options){ .base_url = "https://a", .ca_file = "/none" },
        WF_ENOTFOUND);
    expect_bad_options(
        (struct wf_http_options){ .base_url = "http://a", .token = "x\r\nHost: evil" },
        WF_EINVAL);
    cr_assert_null(strstr(err.text, "evil"), "a token is never shown");
}

Test(http_client, bad_requests_are_refused_before_they_are_sent)
{
    struct wf_http_options options = { .base_url = "http://127.0.0.1:1" };
    struct wf_http_response r = { 0 };

    cr_assert_eq(wf_http_create(&options, &http, &err), WF_OK);
    cr_assert_eq(wf_http_request(http, "GET", "x", NULL, NULL, 0, 0, &r, &err),
                 WF_EINVAL);
    cr_assert_eq(wf_http_request(http, "GET", "/a b", NULL, NULL, 0, 0, &r, &err),
                 WF_EINVAL);
    cr_assert_eq(wf_http_request(http, "GET", "/\r\nX: y", NULL, NULL, 0, 0, &r, &err),
                 WF_EINVAL);
    cr_assert_eq(wf_http_request(http, "G T", "/", NULL, NULL, 0, 0, &r, &err),
                 WF_EINVAL);
    cr_assert_eq(wf_http_request(http, "", "/", NULL, NULL, 0, 0, &r, &err), WF_EINVAL);
    cr_assert_eq(wf_http_request(http, "PUT", "/", "a\nb", "x", 1, 0, &r, &err),
                 WF_EINVAL);
    wf_http_destroy(http);
    wf_http_destroy(NULL);
}

/* --- what an answer means --- */

static enum wf_status check(long status, const char *type, const char *body)
{
    struct wf_http_response r = { .status = status };
    enum wf_status result;

    (void)snprintf(r.content_type, sizeof r.content_type, "%s", type);
    cr_assert_eq(wf_buf_puts(&r.body, body, NULL), WF_OK);
    result = wf_http_check(&r, &err);
    wf_http_response_free(&r);
    return result;
}

Test(http_check, statuses_map_to_ours)
{
    cr_assert_eq(check(200, "", ""), WF_OK);
    cr_assert_eq(check(204, "", ""), WF_OK);
    cr_assert_eq(check(301, "", ""), WF_ENETWORK);
    cr_assert_eq(check(400, "", ""), WF_EINVAL);
    cr_assert_eq(check(401, "", ""), WF_EREFUSED);
    cr_assert_eq(check(403, "", ""), WF_EREFUSED);
    cr_assert_eq(check(404, "", ""), WF_ENOTFOUND);
    cr_assert_eq(check(408, "", ""), WF_ENETWORK);
    cr_assert_eq(check(409, "", ""), WF_ECONFLICT);
    cr_assert_eq(check(413, "", ""), WF_EINVAL);
    cr_assert_eq(check(422, "", ""), WF_EINVAL);
    cr_assert_eq(check(429, "", ""), WF_ENETWORK);
    cr_assert_eq(check(500, "", ""), WF_ENETWORK);
    cr_assert_eq(check(503, "", ""), WF_ENETWORK);
}

Test(http_check, problem_documents_give_the_text)
{
    cr_assert_eq(check(409, "application/problem+json; charset=utf-8",
                       "{\"title\":\"Conflict\",\"detail\":\"lease 7 is stale\"}"),
                 WF_ECONFLICT);
    cr_assert_str_eq(err.text, "the server answered 409: lease 7 is stale");
    (void)check(404, "application/json", "{\"title\":\"No such run\"}");
    cr_assert_str_eq(err.text, "the server answered 404: No such run");
    (void)check(500, "text/plain; charset=utf-8", "oops\nline");
    cr_assert_str_eq(err.text, "the server answered 500: oops line");
}

Test(http_check, other_bodies_are_not_shown)
{
    (void)check(502, "text/html", "<html>proxy</html>");
    cr_assert_str_eq(err.text, "the server answered 502");
    (void)check(400, "application/problem+json", "{broken");
    cr_assert_str_eq(err.text, "the server answered 400");
    (void)check(400, "application/problem+json", "[1]");
    cr_assert_str_eq(err.text, "the server answered 400");
    (void)check(400, "application/problem+json", "{\"detail\":7}");
    cr_assert_str_eq(err.text, "the server answered 400");
}

/* --- downloads --- */

#define FILE_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"

Test(http_client, download_streams_to_a_file)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n";
    const size_t head_bytes = sizeof head - 1;
    char *bytes = wf_calloc(1, head_bytes + 3000000);
    struct script_step steps[1] = { { .bytes = bytes,
                                      .byte_count = head_bytes + 3000000 } };

    cr_assert_not_null(bytes);
    memcpy(bytes, head, head_bytes);
    for (size_t i = 0; i < 3000000; i++) {
        bytes[head_bytes + i] = (char)(i * 7 + i / 251);
    }
    begin(steps, 1, (struct wf_http_options){ .max_response_bytes = 1000 });
    cr_assert_eq(wf_http_download(http, "/blob", temp_dir_file(&dir, "f"), &err), WF_OK,
                 "%s", err.text);
    script_server_stop(server);
    expect_content(dir.file, bytes + head_bytes, 3000000);
    cr_assert_eq(files_left(), 1);
    end();
    free(bytes);
}

Test(http_client, partial_download_leaves_nothing)
{
    static const struct script_step steps[] = {
        { .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012" },
        { .bytes =
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n" }
    };

    begin(steps, 2, (struct wf_http_options){ 0 });
    cr_assert_eq(wf_http_download(http, "/blob", temp_dir_file(&dir, "f"), &err),
                 WF_ENETWORK);
    cr_assert_eq(files_left(), 0);
    cr_assert_eq(wf_http_download(http, "/blob", dir.file, &err), WF_ENETWORK);
    cr_assert_eq(files_left(), 0);
    script_server_stop(server);
    end();
}

Test(http_client, download_starts_anew_after_a_partial_one)
{
    static const struct script_step steps[] = {
        { .bytes =
              "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxxxxxxxxxxxxxxxxxxxxx" },
        { .bytes = BUSY_NOW("503") },
        { .bytes = FILE_ANSWER }
    };

    begin(steps, 3, (struct wf_http_options){ .retry_budget_ms = PATIENT_MS });
    cr_assert_eq(wf_http_download(http, "/blob", temp_dir_file(&dir, "f"), &err), WF_OK,
                 "%s", err.text);
    script_server_stop(server);
    expect_content(dir.file, "0123456789", 10);
    cr_assert_eq(script_server_request_count(server), 3);
    end();
}

Test(http_client, refused_download_keeps_the_old_file)
{
    static const struct script_step steps[] = {
        { .bytes = "HTTP/1.1 404 No\r\nContent-Type: application/problem+json\r\n"
                   "Content-Length: 25\r\n\r\n{\"detail\":\"no such blob\"}" },
        { .bytes = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n" },
        { .bytes = "HTTP/1.1 204 Nothing\r\n\r\n" }
    };

    begin(steps, 3, (struct wf_http_options){ 0 });
    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "f"), "old", 3, &err), WF_OK);
    cr_assert_eq(wf_http_download(http, "/blob", dir.file, &err), WF_ENOTFOUND);
    cr_assert_not_null(strstr(err.text, "no such blob"));
    cr_assert_not_null(strstr(err.text, "/blob"));
    cr_assert_eq(wf_http_download(http, "/blob", dir.file, &err), WF_EREFUSED);
    cr_assert_eq(wf_http_download(http, "/blob", dir.file, &err), WF_ENETWORK);
    script_server_stop(server);
    expect_content(dir.file, "old", 3);
    cr_assert_eq(files_left(), 1);
    end();
}

Test(http_client, stalled_download_is_a_timeout)
{
    static const struct script_step steps[] = {
        { .action = SCRIPT_HANG,
          .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012" }
    };

    begin(steps, 1, (struct wf_http_options){ .timeout_ms = 50 });
    cr_assert_eq(wf_http_download(http, "/blob", temp_dir_file(&dir, "f"), &err),
                 WF_ETIMEOUT, "%s", err.text);
    cr_assert_eq(files_left(), 0);
    script_server_stop(server);
    end();
}

Test(http_client, download_into_a_missing_folder_is_refused)
{
    static const struct script_step steps[] = { { .bytes = FILE_ANSWER } };

    begin(steps, 1, (struct wf_http_options){ 0 });
    cr_assert_eq(wf_http_download(http, "/blob", temp_dir_file(&dir, "no/f"), &err),
                 WF_ENOTFOUND);
    script_server_stop(server);
    cr_assert_eq(script_server_request_count(server), 0);
    end();
}

/* --- uploads --- */

Test(http_client, upload_streams_a_file_and_sends_it_whole_again)
{
    static const struct script_step steps[] = { { .bytes = BUSY_NOW("503") },
                                                { .bytes = OK_TEXT } };
    const size_t n = 3000000;
    char *bytes = wf_calloc(1, n);

    cr_assert_not_null(bytes);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(i * 13 + i / 241);
    }
    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "f"), bytes, n, &err), WF_OK);
    begin(steps, 2,
          (struct wf_http_options){ .retry_budget_ms = PATIENT_MS, .token = "t" });
    cr_assert_eq(wf_http_upload(http, "/blob", dir.file, &err), WF_OK, "%s", err.text);
    script_server_stop(server);
    for (size_t i = 0; i < 2; i++) {
        const struct script_request *r = script_server_request(server, i);

        cr_assert_eq(strncmp(r->head, "PUT /blob ", 10), 0);
        cr_assert_not_null(strstr(r->head, "Authorization: Bearer t\r\n"));
        cr_assert_not_null(strstr(r->head, "Content-Length: 3000000\r\n"));
        cr_assert_eq(r->body.len, n);
        cr_assert_eq(memcmp(r->body.data, bytes, n), 0);
    }
    end();
    free(bytes);
}

Test(http_client, empty_file_is_uploaded)
{
    static const struct script_step steps[] = { { .bytes = OK_TEXT } };

    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "f"), "", 0, &err), WF_OK);
    begin(steps, 1, (struct wf_http_options){ 0 });
    cr_assert_eq(wf_http_upload(http, "/blob", dir.file, &err), WF_OK, "%s", err.text);
    script_server_stop(server);
    cr_assert_eq(script_server_request(server, 0)->body.len, 0);
    end();
}

Test(http_client, refused_upload_says_why)
{
    static const struct script_step steps[] = {
        { .bytes = "HTTP/1.1 403 No\r\nContent-Type: application/problem+json\r\n"
                   "Content-Length: 27\r\n\r\n{\"detail\":\"role is reader\"}" }
    };

    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "f"), "x", 1, &err), WF_OK);
    begin(steps, 1, (struct wf_http_options){ 0 });
    cr_assert_eq(wf_http_upload(http, "/blob", dir.file, &err), WF_EREFUSED);
    cr_assert_not_null(strstr(err.text, "role is reader"));
    cr_assert_eq(wf_http_upload(http, "/blob", temp_dir_file(&dir, "none"), &err),
                 WF_ENOTFOUND);
    cr_assert_eq(wf_http_upload(http, "/blob", dir.path, &err), WF_EINVAL);
    script_server_stop(server);
    end();
}
