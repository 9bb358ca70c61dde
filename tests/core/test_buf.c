/* Growable bytes and checked allocation. */
#include "core/buf.h"

#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(buf, is_a_c_string_at_every_length)
{
    struct wf_buf b = WF_BUF_INIT;

    cr_assert_str_eq(wf_buf_cstr(&b), "");
    for (size_t i = 0; i < 5000; i++) {
        cr_assert_eq(wf_buf_add(&b, "x", 1, NULL), WF_OK);
        cr_assert_eq(b.len, i + 1);
        cr_assert_eq(b.data[b.len], '\0');
        cr_assert(b.cap > b.len);
    }
    wf_buf_clear(&b);
    cr_assert_str_eq(wf_buf_cstr(&b), "");
    cr_assert_not_null(b.data);
    wf_buf_free(&b);
    cr_assert_null(b.data);
    wf_buf_free(&b);
    wf_buf_free(NULL);
}

Test(buf, keeps_bytes_that_are_nul)
{
    struct wf_buf b = WF_BUF_INIT;

    cr_assert_eq(wf_buf_add(&b, "a\0b", 3, NULL), WF_OK);
    cr_assert_eq(wf_buf_puts(&b, "c", NULL), WF_OK);
    cr_assert_eq(b.len, 4);
    cr_assert_arr_eq(b.data, "a\0bc", 5);
    wf_buf_free(&b);
}

Test(buf, formats_after_what_is_there)
{
    struct wf_buf b = WF_BUF_INIT;
    char expected[300];

    cr_assert_eq(wf_buf_puts(&b, "n=", NULL), WF_OK);
    cr_assert_eq(wf_buf_printf(&b, NULL, "%0200d!", 7), WF_OK);
    (void)snprintf(expected, sizeof expected, "n=%0200d!", 7);
    cr_assert_str_eq(wf_buf_cstr(&b), expected);
    cr_assert_eq(b.len, strlen(expected));
    wf_buf_free(&b);
}

Test(buf, refuses_sizes_that_overflow_and_stays_unchanged)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err;

    cr_assert_eq(wf_buf_puts(&b, "keep", NULL), WF_OK);
    cr_assert_eq(wf_buf_reserve(&b, SIZE_MAX, &err), WF_ENOMEM);
    cr_assert_eq(wf_buf_reserve(&b, SIZE_MAX - 4, &err), WF_ENOMEM);
    cr_assert_eq(wf_buf_reserve(&b, (size_t)PTRDIFF_MAX, &err), WF_ENOMEM);
    cr_assert_str_eq(wf_buf_cstr(&b), "keep");
    cr_assert_eq(b.len, 4);
    wf_buf_free(&b);
}

Test(buf, allocation_checks_the_product)
{
    int *zeros = wf_calloc(16, sizeof *zeros);
    volatile size_t huge = SIZE_MAX / 2;

    cr_assert_not_null(zeros);
    for (int i = 0; i < 16; i++) {
        cr_assert_eq(zeros[i], 0);
    }
    cr_assert_null(wf_realloc_array(zeros, huge, 4));
    cr_assert_eq(zeros[15], 0, "the old block is still valid");
    free(zeros);
    cr_assert_null(wf_calloc(huge, 4));
    zeros = wf_calloc(0, 4);
    cr_assert_not_null(zeros, "NULL means no memory, and nothing else");
    free(zeros);
}

Test(buf, copies_text)
{
    char *a = wf_strdup("hello");
    char *b = wf_strndup("hello", 2);
    char *c = wf_strndup("hi", 20);
    char *d = wf_asprintf("%s-%d", "x", 42);

    cr_assert_str_eq(a, "hello");
    cr_assert_str_eq(b, "he");
    cr_assert_str_eq(c, "hi");
    cr_assert_str_eq(d, "x-42");
    cr_assert_null(wf_strdup(NULL));
    free(a);
    free(b);
    free(c);
    free(d);
}
