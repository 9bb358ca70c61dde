#include "runner/spool.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/wf-spool-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    cr_assert_eq(wf_remove_tree(folder, NULL), WF_OK);
}

TestSuite(spool, .init = make_folder, .fini = remove_folder);

static struct wf_spool *open_spool(void)
{
    struct wf_error err;
    struct wf_spool *s = NULL;
    cr_assert_eq(wf_spool_open(folder, &s, &err), WF_OK, "%s", err.text);
    return s;
}

static void put(struct wf_spool *s, const char *text, char name[WF_SPOOL_NAME])
{
    struct wf_error err;
    cr_assert_eq(wf_spool_put(s, text, strlen(text), name, &err), WF_OK, "%s",
                 err.text);
}

Test(spool, entries_come_back_oldest_first)
{
    char name[3][WF_SPOOL_NAME], oldest[4][WF_SPOOL_NAME];
    size_t n = 0;
    struct wf_spool *s = open_spool();
    put(s, "{\"n\":1}", name[0]);
    put(s, "{\"n\":2}", name[1]);
    put(s, "{\"n\":3}", name[2]);
    wf_spool_oldest(s, oldest, 4, &n);
    cr_assert_eq(n, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_str_eq(oldest[i], name[i]);
    }
    wf_spool_close(s);
}

Test(spool, a_new_process_finds_what_the_old_one_left)
{
    char a[WF_SPOOL_NAME], b[WF_SPOOL_NAME], oldest[2][WF_SPOOL_NAME];
    size_t n = 0;
    struct wf_buf text = WF_BUF_INIT;
    struct wf_spool *s = open_spool();
    put(s, "first", a);
    put(s, "second", b);
    cr_assert_eq(wf_spool_done(s, a, NULL), WF_OK);
    wf_spool_close(s);
    s = open_spool();
    wf_spool_oldest(s, oldest, 2, &n);
    cr_assert_eq(n, 1);
    cr_assert_str_eq(oldest[0], b);
    cr_assert_eq(wf_spool_read(s, b, &text, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&text), "second");
    /* A new entry never takes an old one's name. */
    put(s, "third", a);
    cr_assert_gt(strcmp(a, b), 0);
    wf_buf_free(&text);
    wf_spool_close(s);
}

Test(spool, a_second_worker_is_refused)
{
    struct wf_error err;
    struct wf_spool *other = NULL;
    struct wf_spool *s = open_spool();
    cr_assert_eq(wf_spool_open(folder, &other, &err), WF_ECONFLICT);
    cr_assert_not_null(strstr(err.text, "another worker"));
    cr_assert_null(other);
    wf_spool_close(s);
}

Test(spool, a_rejected_entry_is_kept_with_its_reason)
{
    char name[WF_SPOOL_NAME], path[256];
    struct wf_buf why = WF_BUF_INIT;
    struct wf_spool *s = open_spool();
    put(s, "{}", name);
    cr_assert_eq(wf_spool_reject(s, name, "no such task", NULL), WF_OK);
    cr_assert_eq(wf_spool_count(s), 0);
    snprintf(path, sizeof(path), "%s/rejected/%s", folder, name);
    cr_assert(wf_file_exists(path));
    snprintf(path, sizeof(path), "%s/rejected/%s.why", folder, name);
    cr_assert_eq(wf_file_read(path, 1000, &why, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&why), "no such task");
    wf_buf_free(&why);
    wf_spool_close(s);
}

Test(spool, temporary_and_foreign_files_are_not_entries)
{
    char path[256];
    struct wf_spool *s = NULL;
    snprintf(path, sizeof(path), "%s/00000000000000000007.json.tmp", folder);
    cr_assert_eq(wf_file_write_atomic(path, "{", 1, NULL), WF_OK);
    snprintf(path, sizeof(path), "%s/notes.json", folder);
    cr_assert_eq(wf_file_write_atomic(path, "{}", 2, NULL), WF_OK);
    s = open_spool();
    cr_assert_eq(wf_spool_count(s), 0);
    wf_spool_close(s);
}
