/* Page tables and offsets: every impossible entry is refused, naming where it is, what
 * it is and what it may be; legal oddities are accepted. */
#include "attention_fixture.h"

#include "core/buf.h"
#include "datasets/page_table.h"

#include <criterion/criterion.h>
#include <string.h>

#define PAGED  "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":8}"
#define RAGGED "{\"layout\":\"ragged\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":8}"

/* Two sequences of 20 and 5 keys in pages of 16. */
static struct fx_table good_table(void)
{
    static const int32_t INDPTR[] = { 0, 2, 3 }, IDS[] = { 2, 0, 1 }, LAST[] = { 4, 5 };

    return (struct fx_table){ .kv_indptr = { INDPTR, 3 },
                              .kv_indices = { IDS, 3 },
                              .kv_last_page_len = { LAST, 2 },
                              .num_pages = "3",
                              .page_size = "16" };
}

static struct fx_ints ints_of(const struct wf_dataset *ds, const char *name)
{
    const struct wf_dataset_tensor *t = wf_dataset_find(ds, name);

    return t ? (struct fx_ints){ t->data, (size_t)t->dim[0] }
             : (struct fx_ints){ NULL, 0 };
}

static void expect(const char *json, const struct fx_table *t, const char *words)
{
    struct wf_error err = { 0 };
    struct fx f;
    enum wf_status st = fx_parse(&f, json, t, &err);

    if (!words) {
        cr_expect_eq(st, WF_OK, "%s", err.text);
    } else {
        cr_expect_eq(st, WF_EINVAL, "%s: not EINVAL, \"%s\" expected", json, words);
        cr_expect(strstr(err.text, words) != NULL, "\"%s\" is not in \"%s\"", words,
                  err.text);
    }
    if (st == WF_OK) {
        fx_close(&f);
    }
}

#define EXPECT_WITH(member, words, ...)                   \
    do {                                                  \
        struct fx_table t = good_table();                 \
        const struct fx_ints list = FX_LIST(__VA_ARGS__); \
                                                          \
        t.member = list;                                  \
        expect(PAGED, &t, words);                         \
    } while (0)

/* num_blocks 3; rows [0, 99, 1], [-1, 0, 1], [2, 3, 0]. */
Test(attention_table, page_id_out_of_range_names_sequence_column_id_and_limit_A07)
{
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 3, 6, 9),
                                .kv_indices = FX_LIST(0, 99, 1, -1, 0, 1, 2, 3, 0),
                                .kv_last_page_len = FX_LIST(1, 1, 1),
                                .num_pages = "3",
                                .page_size = "16" };
    struct fx_table u = t;
    const struct fx_ints minus = FX_LIST(0, 2, 1, -1, 0, 1, 2, 3, 0);
    const struct fx_ints limit = FX_LIST(0, 2, 1, 1, 0, 1, 2, 3, 0);

    expect(
        PAGED, &t,
        "sequence 0, column 1 (kv_indices[1]): page id 99 is out of range; the pool has "
        "num_pages = 3 (ids 0 to 2)");
    u.kv_indices = minus;
    expect(PAGED, &u,
           "sequence 1, column 0 (kv_indices[3]): page id -1 is out of range");
    u.kv_indices = limit;
    expect(PAGED, &u,
           "sequence 2, column 1 (kv_indices[7]): page id 3 is out of range");
}

Test(attention_table, offsets_that_overlap_or_are_negative_are_refused)
{
    EXPECT_WITH(kv_indptr, NULL, 0, 2, 3);
    EXPECT_WITH(kv_indptr, "kv_indptr[0] is 1; it must be 0", 1, 2, 3);
    EXPECT_WITH(kv_indptr, "kv_indptr[0] is -1", -1, 2, 3);
    EXPECT_WITH(kv_indptr, "kv_indptr[1] is -2; offsets are not negative", 0, -2, 3);
    EXPECT_WITH(kv_indptr, "sequence 1 would overlap the one before it", 0, 4, 3);
    EXPECT_WITH(kv_indptr, "kv_indptr[2] is 4, but kv_indices has 3 entries", 0, 2, 4);
    EXPECT_WITH(kv_indptr, "kv_indptr[2] is 2, but kv_indices has 3 entries", 0, 1, 2);
    EXPECT_WITH(kv_indptr, "one sequence needs 2", 0);
}

Test(attention_table, last_page_length_must_be_one_to_page_size)
{
    EXPECT_WITH(kv_last_page_len, NULL, 16, 1);
    EXPECT_WITH(kv_last_page_len, "kv_last_page_len[1] is 0; sequence 1 has 1 pages", 4,
                0);
    EXPECT_WITH(kv_last_page_len, "kv_last_page_len[0] is 17", 17, 5);
    EXPECT_WITH(kv_last_page_len, "must be 1 to 16", -3, 5);
    EXPECT_WITH(kv_last_page_len, "kv_last_page_len has 1 entries for 2 sequences", 4);
}

Test(attention_table, query_offsets_are_checked_like_key_offsets)
{
    EXPECT_WITH(qo_indptr, NULL, 0, 3, 3);
    EXPECT_WITH(qo_indptr, "qo_indptr has 2 entries", 0, 3);
    EXPECT_WITH(qo_indptr, "qo_indptr[0] is 2", 2, 3, 4);
    EXPECT_WITH(qo_indptr, "below qo_indptr[1]", 0, 3, 2);
    EXPECT_WITH(qo_indptr, "no query at all", 0, 0, 0);
}

Test(attention_table, q_len_and_query_offsets_exclude_each_other)
{
    struct fx_table t = good_table();
    const struct fx_ints qo = FX_LIST(0, 1, 2);

    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"q_len\":3}", &t, NULL);
    t.qo_indptr = qo;
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"q_len\":3}", &t,
           "remove q_len");
    t = good_table();
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"q_len\":2000000000}",
           &t, "int32");
}

Test(attention_table, pool_and_page_size_must_be_known_and_agree)
{
    struct fx_table t = good_table();

    t.num_pages = NULL;
    expect(PAGED, &t, "no num_pages");
    t.num_pages = "0";
    expect(PAGED, &t, "num_pages = \"0\"");
    t.num_pages = "three";
    expect(PAGED, &t, "num_pages = \"three\"; it must be an integer from 1");
    t = good_table();
    t.page_size = NULL;
    expect(PAGED, &t, "page_size is missing");
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"page_size\":16}", &t,
           NULL);
    t.page_size = "16";
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"page_size\":32}", &t,
           "page_size is 32; the dataset was made for 16");
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"batch\":3}", &t,
           "batch is 3; the dataset has 2 sequences");
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"batch\":2}", &t, NULL);
    expect("{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,\"kv_len\":3}", &t,
           "kv_len has no meaning");
}

Test(attention_table, missing_tensors_are_named)
{
    struct fx_table t = good_table();

    t.kv_indices.v = NULL;
    expect(PAGED, &t, "no tensor kv_indices");
    t = good_table();
    t.kv_last_page_len.v = NULL;
    expect(PAGED, &t, "no tensor kv_last_page_len");
    t = good_table();
    t.kv_indptr.v = NULL;
    expect(PAGED, &t, "no tensor kv_indptr");
}

Test(attention_table, a_page_table_is_not_taken_for_token_offsets)
{
    struct fx_table t = good_table();

    expect(RAGGED, &t, "it counts pages");
}

Test(attention_table, reference_to_the_dataset_is_checked)
{
    struct wf_error err = { 0 };
    struct fx f;

    cr_expect_eq(fx_parse(&f, PAGED, NULL, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "page_table is missing") != NULL, "%s", err.text);
    cr_expect_eq(fx_parse(&f,
                          "{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,"
                          "\"page_table\":\"sha256:ABC\"}",
                          NULL, &err),
                 WF_EINVAL);
    cr_expect(strstr(err.text, "64 lower-case") != NULL, "%s", err.text);
    cr_expect_eq(
        fx_parse(&f,
                 "{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":8,"
                 "\"page_table\":\"sha256:0123456789012345678901234567890123456789"
                 "012345678901234567890123\"}",
                 NULL, &err),
        WF_ENOTFOUND);
}

/* Empty sequences, shared pages, and canonical JSON that names the dataset alone. */
Test(attention_table, legal_oddities_are_accepted)
{
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 0, 2, 4, 4),
                                .kv_indices = FX_LIST(1, 0, 1, 2),
                                .kv_last_page_len = FX_LIST(0, 3, 16, 16),
                                .num_pages = "5",
                                .page_size = "16" };
    struct wf_error err = { 0 };
    struct fx f;

    cr_assert_eq(fx_parse(&f, PAGED, &t, &err), WF_OK, "%s", err.text);
    cr_expect_eq(f.a->batch, 4);
    cr_expect_eq(f.a->kv_len[0], 0);
    cr_expect_eq(f.a->kv_len[1], 19);
    cr_expect_eq(f.a->kv_len[2], 32);
    cr_expect_eq(f.a->kv_len[3], 0);
    cr_expect_eq(f.a->unique_slots, 16 + 3 + 16);
    cr_expect_eq(f.a->used_slots[4], 0);
    cr_expect_str_eq(wf_case_dataset(f.c), wf_dataset_sha256(f.ds));
    cr_expect(strstr(wf_case_canonical(f.c), "batch") == NULL);
    cr_expect(strstr(wf_case_canonical(f.c), "page_size") == NULL);
    fx_close(&f);
}

/* What `wavefarm dataset make page-table` writes is a page table for this op. */
Test(attention_table, generated_tables_are_accepted)
{
    for (int mode = 0; mode < WF_PAGE_TABLE_MODE_COUNT; mode++) {
        struct wf_page_table_spec spec;
        struct wf_buf image = WF_BUF_INIT;
        struct wf_check_report r;
        struct wf_error err = { 0 };
        struct wf_dataset *ds = NULL;
        struct fx_table t = { .num_pages = NULL };
        struct fx f;

        wf_page_table_spec_default(&spec);
        spec.requests = 60;
        spec.batch = 12;
        spec.mean_prompt = 60;
        spec.mean_output = 40;
        spec.prefix_tokens = 16;
        spec.mode = (enum wf_page_table_mode)mode;
        cr_assert_eq(wf_page_table_make(&spec, &image, NULL, &err), WF_OK, "%s",
                     err.text);
        cr_assert_eq(wf_dataset_parse(image.data, image.len, "made", &ds, &err), WF_OK);
        t.kv_indptr = ints_of(ds, "kv_indptr");
        t.kv_indices = ints_of(ds, "kv_indices");
        t.kv_last_page_len = ints_of(ds, "kv_last_page_len");
        t.qo_indptr = ints_of(ds, "qo_indptr");
        t.num_pages = wf_dataset_metadata(ds, "num_pages");
        t.page_size = wf_dataset_metadata(ds, "page_size");
        fx_open(&f,
                "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":1,\"head_dim\":16,"
                "\"causal\":true}",
                &t);
        cr_assert_eq(fx_host(&f, 2), 0);
        fx_check(&f, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", r.diagnosis);
        fx_close(&f);
        wf_dataset_free(ds);
        wf_buf_free(&image);
    }
}
