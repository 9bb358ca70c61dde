/* The error record: text, status, prefix, truncation. */
#include "core/error.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

Test(error, report_returns_its_status_and_fills_the_record)
{
    struct wf_error err = { .native = 7, .domain = "hip" };

    cr_assert_eq(wf_errorf(&err, WF_EPARSE, "line %d of %s", 3, "a.json"), WF_EPARSE);
    cr_assert_eq(err.status, WF_EPARSE);
    cr_assert_str_eq(err.text, "line 3 of a.json");
    cr_assert_eq(err.native, 0);
    cr_assert_str_eq(err.domain, "");
}

Test(error, record_may_be_absent)
{
    cr_assert_eq(wf_errorf(NULL, WF_EIO, "x"), WF_EIO);
    cr_assert_eq(wf_error_errno(NULL, ENOENT, "x"), WF_ENOTFOUND);
    cr_assert_neq(wf_error_prefix(NULL, "x"), WF_OK);
}

Test(error, errno_chooses_status_and_gives_its_text)
{
    struct wf_error err;

    cr_assert_eq(wf_error_errno(&err, ENOENT, "open %s", "f"), WF_ENOTFOUND);
    cr_assert_str_eq(err.text, "open f: No such file or directory");
    cr_assert_str_eq(err.domain, "errno");
    cr_assert_eq(err.native, ENOENT);
    cr_assert_eq(wf_error_errno(&err, ENOSPC, "w"), WF_ENOSPC);
    cr_assert_eq(wf_error_errno(&err, ENOMEM, "w"), WF_ENOMEM);
    cr_assert_eq(wf_error_errno(&err, ENOTDIR, "w"), WF_ENOTFOUND);
    cr_assert_eq(wf_error_errno(&err, EISDIR, "w"), WF_EINVAL);
    cr_assert_eq(wf_error_errno(&err, EACCES, "w"), WF_EIO);
}

Test(error, prefix_keeps_status_and_origin)
{
    struct wf_error err;

    (void)wf_error_errno(&err, ENOENT, "open f");
    cr_assert_eq(wf_error_prefix(&err, "pack %s", "p1"), WF_ENOTFOUND);
    cr_assert_str_eq(err.text, "pack p1: open f: No such file or directory");
    cr_assert_eq(err.native, ENOENT);
}

Test(error, own_text_may_be_an_argument)
{
    struct wf_error err;

    (void)wf_errorf(&err, WF_EIO, "inner");
    (void)wf_errorf(&err, WF_EINVAL, "outer: %s", err.text);
    cr_assert_str_eq(err.text, "outer: inner");
}

Test(error, text_stays_one_line)
{
    struct wf_error err;

    (void)wf_errorf(&err, WF_EIO, "a\nb\tc\x1b[0m\n\n");
    cr_assert_str_eq(err.text, "a b c [0m");
    (void)wf_errorf(&err, WF_EIO,
                    "\xC2\x9B"
                    "31m %.4s|",
                    "ab\xE2\x82\xAC");
    cr_assert_str_eq(err.text, " 31m ab??|", "C1 controls and torn characters");
}

Test(error, long_text_is_cut_between_characters)
{
    char text[2 * sizeof(((struct wf_error *)NULL)->text)];
    struct wf_error err;
    size_t len;

    for (size_t i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(text + i, "\xC3\xA4", 3);
    }
    (void)wf_errorf(&err, WF_EIO, "%s", text);
    len = strlen(err.text);
    cr_assert_eq(len, sizeof err.text - 2, "767 bytes hold 383 whole characters");
    (void)wf_error_prefix(&err, "x");
    len = strlen(err.text);
    cr_assert_eq((unsigned char)err.text[len - 1], 0xA4);
    cr_assert_eq((unsigned char)err.text[len - 2], 0xC3);
    cr_assert(len < sizeof err.text);
}

Test(error, every_status_has_a_name_of_its_own)
{
    static const enum wf_status all[] = {
#define X(name, value, text) WF_##name,
        WF_STATUS_LIST(X)
#undef X
    };
    const size_t n = sizeof all / sizeof all[0];

    for (size_t i = 0; i < n; i++) {
        cr_assert_str_neq(wf_status_name(all[i]), "unknown");
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(wf_status_name(all[i]), wf_status_name(all[j]));
        }
    }
    cr_assert_str_eq(wf_status_name((enum wf_status)99), "unknown");
}
