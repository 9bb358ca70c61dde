/* Page tables as files: properties over many seeds, determinism, the choice of step. */
#include "datasets/page_table.h"

#include "core/rng.h"
#include "datasets/dataset.h"
#include "tests/core/temp_dir.h"
#include "tests/datasets/table_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct wf_page_table_spec small_spec(void)
{
    struct wf_page_table_spec s;
    wf_page_table_spec_default(&s);
    s.requests = 150;
    s.mean_prompt = 60;
    s.mean_output = 20;
    s.batch = 32;
    return s;
}

static struct wf_dataset *make(const struct wf_page_table_spec *spec,
                               struct wf_page_table_stats *stats)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    cr_assert_eq(wf_page_table_make(spec, &out, stats, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_dataset_parse(out.data, out.len, "F", &ds, &err), WF_OK, "%s",
                 err.text);
    wf_buf_free(&out);
    return ds;
}

static void expect_refused(const struct wf_page_table_spec *spec, const char *text)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    cr_expect_neq(wf_page_table_make(spec, &out, NULL, &err), WF_OK, "%s", text);
    cr_expect_not_null(strstr(err.text, text), "\"%s\" not in: %s", text, err.text);
    cr_expect_eq(out.len, 0);
    wf_buf_free(&out);
}

static struct wf_page_table_spec random_spec(uint64_t seed)
{
    struct wf_rng rng = { .seed = seed, .stream = 901 };
    static const int64_t sizes[] = { 1, 2, 3, 7, 16, 32, 64, 480 };
    struct wf_page_table_spec s = small_spec();
    s.seed = (int64_t)seed;
    s.batch = 1 + (int64_t)wf_rng_next_below(&rng, 48);
    s.page_size = sizes[wf_rng_next_below(&rng, sizeof sizes / sizeof sizes[0])];
    s.mode = (enum wf_page_table_mode)wf_rng_next_below(&rng, WF_PAGE_TABLE_MODE_COUNT);
    s.free_order = wf_rng_next_below(&rng, 2) ? WF_FREE_RANDOM : WF_FREE_LIFO;
    s.prefix_share = wf_rng_next_below(&rng, 2) ? 0.6 : 0;
    s.prefix_tokens = 1 + (int64_t)wf_rng_next_below(&rng, 60);
    s.prefix_groups = 1 + (int64_t)wf_rng_next_below(&rng, 3);
    if (wf_rng_next_below(&rng, 3) == 0) {
        s.num_pages = 2 + 2000 / s.page_size;
    }
    return s;
}

Test(page_table, every_invariant_holds_over_many_seeds)
{
    int64_t shared = 0, preempted = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct wf_page_table_spec spec = random_spec(seed);
        struct wf_page_table_stats stats;
        struct wf_dataset *ds = make(&spec, &stats);
        const char *wrong = table_check(ds, &stats, spec.mode);
        cr_expect_null(wrong, "seed %d: %s", (int)seed, wrong);
        shared += stats.shared_pages;
        preempted += stats.preempted;
        wf_dataset_free(ds);
    }
    cr_expect_gt(shared, 100);
    cr_expect_gt(preempted, 20);
}

Test(page_table, equal_parameters_give_equal_bytes)
{
    const struct wf_page_table_spec spec = random_spec(5);
    struct wf_page_table_spec other = spec;
    struct wf_dataset *a = make(&spec, NULL), *b = make(&spec, NULL);
    other.seed++;
    struct wf_dataset *c = make(&other, NULL);
    cr_expect_str_eq(wf_dataset_sha256(a), wf_dataset_sha256(b));
    cr_expect_str_neq(wf_dataset_sha256(a), wf_dataset_sha256(c));
    wf_dataset_free(a);
    wf_dataset_free(b);
    wf_dataset_free(c);
}

/* The bytes are a promise: datasets are named by their hash, and suites state it. A
 * change here needs a new WF_PAGE_TABLE_FORMAT. */
Test(page_table, the_bytes_of_a_known_recipe_have_not_changed)
{
    const struct wf_page_table_spec spec = small_spec();
    struct wf_dataset *ds = make(&spec, NULL);
    cr_expect_str_eq(
        wf_dataset_sha256(ds),
        "cb4a999b348abdc4722240ce12ace9f97e80c1173e78ccffd83dac6258cf8729");
    wf_dataset_free(ds);
}

Test(page_table, the_largest_batch_is_reached)
{
    struct wf_page_table_spec spec = small_spec();
    struct wf_page_table_stats stats;
    spec.requests = 600;
    struct wf_dataset *ds = make(&spec, &stats);
    cr_expect_eq(stats.batch, 32);
    cr_expect_gt(stats.finished, 32, "the pool is not worn in");
    wf_dataset_free(ds);
}

Test(page_table, making_can_be_ended)
{
    const volatile int ended = 1;
    struct wf_page_table_spec s = small_spec();
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    s.cancel = &ended;
    cr_expect_eq(wf_page_table_make(&s, &out, NULL, &err), WF_ECANCELLED);
    s.step = 3;
    cr_expect_eq(wf_page_table_make(&s, &out, NULL, &err), WF_ECANCELLED);
    cr_expect_eq(out.len, 0);
    wf_buf_free(&out);
}

Test(page_table, a_step_can_be_chosen)
{
    struct wf_page_table_spec spec = small_spec();
    struct wf_page_table_stats stats;
    spec.step = 17;
    struct wf_dataset *ds = make(&spec, &stats);
    cr_expect_eq(stats.step, 17);
    cr_expect_str_eq(wf_dataset_metadata(ds, "step"), "17");
    wf_dataset_free(ds);
    spec.step = 1000000;
    expect_refused(&spec, "the replay ends after");
    spec.step = 0;
    expect_refused(&spec, "step 0 has no sequence for this mode");
    spec.mode = WF_PAGE_TABLE_PREFILL;
    ds = make(&spec, &stats);
    cr_expect_eq(stats.qo_tokens, stats.kv_tokens);
    wf_dataset_free(ds);
}

Test(page_table, two_sequences_of_a_known_length)
{
    struct wf_page_table_spec spec = small_spec();
    struct wf_page_table_stats stats;
    spec.requests = 2;
    spec.mean_prompt = 92;
    spec.mean_output = 16;
    spec.spread = 0;
    spec.time_scale = 1e9;
    spec.page_size = 32;
    spec.step = 8;
    struct wf_dataset *ds = make(&spec, &stats);
    cr_expect_eq(stats.batch, 2);
    cr_expect_eq(stats.min_kv, 100);
    cr_expect_eq(stats.max_kv, 100);
    const int32_t *last = wf_dataset_find(ds, "kv_last_page_len")->data;
    cr_expect_eq(last[0], 4);
    wf_dataset_free(ds);
}

Test(page_table, a_pool_that_is_too_small_for_every_request_is_refused)
{
    struct wf_page_table_spec spec = small_spec();
    spec.num_pages = 2;
    spec.page_size = 1;
    expect_refused(&spec, "the pool of 2 pages refuses the requests");
}

Test(page_table, metadata_say_how_the_table_came_about)
{
    struct wf_page_table_spec spec = small_spec();
    struct wf_json *recipe = NULL;
    struct wf_page_table_spec again;
    struct wf_error err;
    struct wf_dataset *ds = make(&spec, NULL);
    const char *text = wf_dataset_metadata(ds, "recipe");
    cr_assert_not_null(text);
    cr_assert_eq(wf_json_parse(text, strlen(text), "recipe", &recipe, &err), WF_OK);
    cr_assert_eq(wf_page_table_spec_parse(recipe, NULL, &again, &err), WF_OK, "%s",
                 err.text);
    struct wf_dataset *second = make(&again, NULL);
    cr_expect_str_eq(wf_dataset_sha256(ds), wf_dataset_sha256(second));
    wf_dataset_free(second);
    wf_json_free(recipe);
    wf_dataset_free(ds);
}

#define TRACE                                                                            \
    "{\"timestamp\":0,\"input_length\":1030,\"output_length\":9,\"hash_ids\":[1,2,3]}\n" \
    "{\"timestamp\":0,\"input_length\":1030,\"output_length\":9,\"hash_ids\":[1,2,4]}\n" \
    "{\"timestamp\":0,\"input_length\":600,\"output_length\":9,\"hash_ids\":[1,9]}\n"

Test(page_table, a_trace_shares_the_pages_of_equal_blocks)
{
    struct temp_dir dir;
    struct wf_page_table_spec spec;
    struct wf_page_table_stats stats;
    temp_dir_make(&dir);
    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "t.jsonl"), TRACE,
                                      strlen(TRACE), NULL),
                 WF_OK);
    wf_page_table_spec_default(&spec);
    spec.base_dir = dir.path;
    spec.trace = "t.jsonl";
    spec.batch = 3;
    struct wf_dataset *ds = make(&spec, &stats);
    cr_expect_eq(stats.batch, 3);
    cr_expect_eq(stats.shared_pages, 64, "two blocks of 512 tokens in pages of 16");
    cr_expect_eq(stats.indices - stats.distinct_pages, 64 + 32);
    cr_expect_null(table_check(ds, &stats, WF_PAGE_TABLE_DECODE));
    char sha[WF_SHA256_HEX];
    wf_sha256_hex(TRACE, strlen(TRACE), sha);
    cr_expect_str_eq(wf_dataset_metadata(ds, "trace_sha256"), sha);
    wf_dataset_free(ds);
    spec.prefix_share = 0.5;
    expect_refused(&spec, "prefixes of its own");
    spec.prefix_share = 0;
    sha[0] = sha[0] == 'a' ? 'b' : 'a';
    spec.trace_sha256 = sha;
    expect_refused(&spec, "the recipe wants");
    temp_dir_remove(&dir);
}
