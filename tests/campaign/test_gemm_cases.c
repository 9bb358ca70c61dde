/* The rules of the generator of GEMM cases: lists, reduction, coverage. */
#include "tests/campaign/gemm_make.h"
#include "tests/campaign/gemm_state.h"
#include "tests/campaign/gemm_summary.h"
#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* --- lists --- */
static size_t parsed(const char *text, const char *source, struct gemm_shape *first)
{
    struct gemm_shapes s = { 0 };
    struct wf_error err = { 0 };
    cr_assert_eq(gemm_shapes_parse(text, strlen(text), source, &s, &err), WF_OK, "%s",
                 err.text);
    const size_t n = s.count;
    *first = s.at[0];
    gemm_shapes_free(&s);
    return n;
}

static void refused(const char *text, const char *source, const char *why)
{
    struct gemm_shapes s = { 0 };
    struct wf_error err = { 0 };
    cr_expect_neq(gemm_shapes_parse(text, strlen(text), source, &s, &err), WF_OK);
    cr_expect(strstr(err.text, why) != NULL, "'%s' in '%s'", why, err.text);
    cr_expect_eq(s.count, 0);
    gemm_shapes_free(&s);
}

Test(gemm_cases, lists_of_three_formats)
{
    struct gemm_shape s;
    cr_expect_eq(parsed("# from\ngfx,M,N,K,us\nx,1,2,3,0.5\n\nx,1,2,3,9\nx,4,5,6,1",
                        "a.csv", &s),
                 2);
    cr_expect(s.m == 1 && s.n == 2 && s.k == 3);
    cr_expect_eq(
        parsed("Tests:\n#  - { M: 9, N: 9, K: 9 }\n  - { M:  16,    N: 32, K: 64 "
               " }\n  - { transA: N, transB: T }\n",
               "b.yaml", &s),
        1);
    cr_expect(s.m == 16 && s.n == 32 && s.k == 64);
    cr_expect_eq(
        parsed("{\"defaults\":{\"op\":\"gemm\",\"K\":7},\"cases\":[{\"M\":5,\"N\":6"
               "},{\"op\":\"attention\"},{\"M\":5,\"N\":6,\"K\":8}]}",
               "c.json", &s),
        2);
    cr_expect(s.m == 5 && s.n == 6 && s.k == 7);
}

Test(gemm_cases, lists_that_are_none)
{
    refused("M,N,us\n1,2,3\n", "a.csv", "a.csv:1: no column 'K'");
    refused("M,N,K\n1,x,3\n", "a.csv", "a.csv:2");
    refused("M,N,K\n1,2\n", "a.csv", "fewer columns");
    refused("M,N,K\n1,2,-3\n", "a.csv", "a.csv:2");
    refused("Tests:\n", "b.yaml", "no size");
    refused("- { M: 1, N: 2, K: 3x }", "b.yaml", "b.yaml:1");
    refused("{\"cases\":[]}", "c.json", "no size");
    refused("{\"cases\":[{\"op\":\"gemm\",\"M\":1,\"N\":2}]}", "c.json", "K");
    refused("1 2 3", "d.txt", ".json, .csv or .yaml");
}

/* --- reduction --- */
Test(gemm_cases, a_dimension_keeps_its_rest_and_crosses_tiles)
{
    for (int64_t tile = 1; tile <= 97; tile += 8) {
        for (int64_t value = 0; value <= 700; value++) {
            const int64_t x = gemm_reduce_dim(value, tile, 2);
            cr_assert_leq(x, value);
            cr_assert_eq(x % tile, value % tile);
            const bool crosses = (x + tile - 1) / tile >= 2;
            cr_assert(crosses || x == value, "%d by %d gives %d", (int)value, (int)tile,
                      (int)x);
            cr_assert_leq(x, value > 2 * tile ? 2 * tile : value);
        }
    }
}

Test(gemm_cases, a_size_is_reduced_by_tile_step_and_split)
{
    const struct gemm_tiles t = { 256, 128, 64, 4 };
    const struct gemm_shape full = { 4097, 14336, 28672 + 33 };
    struct gemm_shape s = gemm_reduce(full, &t, 0, 2e9);
    cr_expect(s.m == 257 && s.n == 256 && s.k == 256 + 33, "%d %d %d", (int)s.m,
              (int)s.n, (int)s.k);
    /* More rounds of k, of all splits. */
    s = gemm_reduce(full, &t, 2, 2e9);
    cr_expect_eq(s.k, 3 * 256 + 33);
    /* Not beyond what a case may cost: then by the step alone. */
    s = gemm_reduce(full, &t, 9, 2.0 * 257 * 256 * 100);
    cr_expect_eq(s.k, 64 + 33);
    /* Not beyond the size itself. */
    const struct gemm_shape small = { 3, 5, 300 };
    s = gemm_reduce(small, &t, 9, 2e9);
    cr_expect(s.m == 3 && s.n == 5 && s.k == 300);
}

/* --- wants --- */
static struct wf_case *made_case(const struct gemm_want *w)
{
    struct wf_case *c = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(gemm_want_case(w, &c, &err), WF_OK, "%s", err.text);
    return c;
}

Test(gemm_cases, a_want_is_the_case_that_it_says)
{
    struct gemm_want w = gemm_want_plain((struct gemm_shape){ 5, 6, 7 });
    w.trans_a = true;
    w.a = w.b = WF_E4M3FNUZ;
    w.scale = GEMM_SCALED_BLOCK128;
    w.activation = GEMM_ACT_GATE;
    w.bias = true;
    w.bias_type = WF_F32;
    w.ld[GEMM_OF_A] = 9;
    w.offset[GEMM_OF_D] = 3;
    cr_expect_eq(gemm_want_b_cols(&w), 12);
    cr_expect_eq(gemm_want_rows(&w, GEMM_OF_A), 7);
    cr_expect_eq(gemm_want_cols(&w, GEMM_OF_B), 12);
    struct wf_case *c = made_case(&w);
    const char *text = wf_case_canonical(c);
    static const char *const has[] = { "\"lda\":9",
                                       "\"offset_d\":3",
                                       "\"scale\":\"block128\"",
                                       "\"activation\":\"silu_gate\"",
                                       "\"bias\":\"n\"",
                                       "\"bias_type\":\"f32\"",
                                       "\"trans_a\":\"T\"" };
    for (size_t i = 0; i < sizeof(has) / sizeof(has[0]); i++) {
        cr_expect(strstr(text, has[i]) != NULL, "%s in %s", has[i], text);
    }
    wf_case_free(c);
}

/* --- cells of a pack that is written here --- */
static const char pack_text[] =
    "{\"schema\":\"wavefarm.pack/1\",\"name\":\"p\",\"files\":{\"k.co\":"
    "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"},\"kernels\":["
    "{\"name\":\"%s\",\"op\":\"%s\",\"kind\":\"code-object\",\"arch\":[\"gfx942\"],"
    "\"knobs\":{%s\"BLOCK_K\":32},\"supports\":\"%s\",\"split\":\"%s\","
    "\"code\":{\"main\":\"k.co\"},\"launches\":[{\"symbol\":\"s\",\"grid\":[1],"
    "\"block\":[64],\"args\":[]}]}]}";

#define TILE "\"BLOCK_M\":64,\"BLOCK_N\":48,"
#define F16_NT                                                                    \
    "a_type == 'f16' && b_type == 'f16' && d_type == 'f16' && trans_a == 'N' && " \
    "trans_b == 'T'"

struct shelf {
    struct wf_pack *pack;
    struct wf_device device;
    struct gemm_cells cells;
    struct gemm_sources sources;
};

static enum wf_status open_shelf_of(struct shelf *s,
                                    const char *op,
                                    const char *knobs,
                                    const char *supports,
                                    const char *split,
                                    struct wf_error *err)
{
    struct wf_json *json = NULL;
    char *text = wf_asprintf(pack_text, "k", op, knobs, supports, split);
    *s = (struct shelf){ .device = { .arch = "gfx942:sramecc+", .cu_count = 304 },
                         .sources = { .seed = 3, .max_flops = 2e9 } };
    cr_assert_eq(wf_json_parse(text, strlen(text), "pack", &json, err), WF_OK, "%s",
                 err->text);
    cr_assert_eq(wf_pack_parse(json, "pack", &s->pack, err), WF_OK, "%s", err->text);
    wf_json_free(json);
    free(text);
    s->sources.list_count = 1;
    static const char list[] = "M,N,K\n1000,2000,3000\n1,999,4096\n";
    cr_assert_eq(
        gemm_shapes_parse(list, strlen(list), "l.csv", &s->sources.list[0].shapes, err),
        WF_OK);
    return gemm_cells_find(s->pack, NULL, &s->device, &s->cells, err);
}

static enum wf_status open_shelf(struct shelf *s,
                                 const char *knobs,
                                 const char *supports,
                                 const char *split,
                                 struct wf_error *err)
{
    return open_shelf_of(s, "gemm", knobs, supports, split, err);
}

static void close_shelf(struct shelf *s)
{
    gemm_shapes_free(&s->sources.list[0].shapes);
    gemm_cells_free(&s->cells);
    wf_pack_free(s->pack);
}

Test(gemm_cases, cells_are_what_the_kernel_supports)
{
    struct shelf s;
    struct wf_error err = { 0 };
    char label[64];
    cr_assert_eq(
        open_shelf(&s, TILE,
                   "a_type == b_type && (a_type == 'f16' || a_type == 'i8') && "
                   "trans_b == 'T' && activation != 'silu'",
                   "1", &err),
        WF_OK, "%s", err.text);
    cr_assert_eq(s.cells.count, 4);
    gemm_cell_label(&s.cells.at[1], label, sizeof(label));
    cr_expect_str_eq(label, "f16 x f16 TT");
    cr_expect_eq(s.cells.at[0].mode_count,
                 6); /* three types of D, none and silu_gate */
    cr_expect_eq(s.cells.at[3].mode_count, 1); /* of i8 */
    cr_expect(s.cells.at[0].tiles.m == 64 && s.cells.at[0].tiles.n == 48 &&
              s.cells.at[0].tiles.k == 32);
    close_shelf(&s);
}

Test(gemm_cases, kernels_that_say_too_little)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_expect_neq(open_shelf(&s, "", F16_NT, "1", &err), WF_OK);
    cr_expect(strstr(err.text, "no knob BLOCK_M") != NULL, "%s", err.text);
    close_shelf(&s);
    cr_expect_neq(open_shelf(&s, TILE, "a_type == 'f64'", "1", &err), WF_OK);
    cr_expect(strstr(err.text, "none of the types") != NULL, "%s", err.text);
    close_shelf(&s);
    cr_expect_neq(open_shelf(&s, TILE, "nonsense > 1", "1", &err), WF_OK);
    cr_expect(strstr(err.text, "nonsense") != NULL, "%s", err.text);
    close_shelf(&s);
}

static struct gemm_made make(const struct shelf *s, enum gemm_kind kind, size_t index)
{
    struct gemm_made made;
    struct wf_error err = { 0 };
    const struct gemm_pick pick = { &s->cells.at[0], kind, 0, index };
    cr_assert_eq(gemm_make(&s->sources, &pick, &made, &err), WF_OK, "%s", err.text);
    return made;
}

/* Every kind gives cases that the op parses and the kernel takes, the same ones again,
 * and within the limit. */
Test(gemm_cases, every_kind_can_be_made_and_is_the_same_again)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(
        open_shelf(&s, TILE,
                   "a_type == 'e4m3fnuz' && b_type == 'e4m3fnuz' && lda < 1000000",
                   "max(1, min(8, ceil_div(K, 512)))", &err),
        WF_OK, "%s", err.text);
    for (int k = 0; k < GEMM_KIND_COUNT; k++) {
        if (k == GEMM_KIND_FIVE) {
            continue;
        }
        const struct gemm_made one = make(&s, (enum gemm_kind)k, 0);
        const struct gemm_made again = make(&s, (enum gemm_kind)k, 0);
        const bool pair = k == GEMM_KIND_LOOP || k == GEMM_KIND_SILU_COST;
        cr_assert_eq(one.count, pair ? 2 : 1, "%s", gemm_kind_name((enum gemm_kind)k));
        cr_expect_leq(gemm_want_flops(&one.want[0]), 2e9);
        struct wf_case *first = made_case(&one.want[0]);
        struct wf_case *second = made_case(&again.want[0]);
        cr_expect_str_eq(wf_case_id(first), wf_case_id(second));
        wf_case_free(first);
        wf_case_free(second);
    }
    close_shelf(&s);
}

/* What hides a mistake: C laid out as D, offsets that still fit 32 bits, groups of rows
 * of tiles that are all whole. */
Test(gemm_cases, layouts_and_sizes_that_hide_mistakes_are_not_drawn)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf(&s, TILE, F16_NT, "1", &err), WF_OK, "%s", err.text);
    for (size_t i = 0; i < 2; i++) {
        const struct gemm_made beta = make(&s, GEMM_KIND_BETA, i);
        cr_assert_eq(beta.count, 1);
        cr_expect_neq(beta.want[0].ld[GEMM_OF_C], beta.want[0].ld[GEMM_OF_D]);
        cr_expect_eq(beta.want[0].batch, (int64_t)i + 1);
    }
    const struct gemm_made rows = make(&s, GEMM_KIND_HUGE_LD, 2);
    cr_expect_gt((rows.want[0].size.m - 1) * rows.want[0].ld[GEMM_OF_D], INT32_MAX);
    for (size_t i = 0; i < 3; i++) {
        const enum gemm_operand o = i == 2 ? GEMM_OF_D : (enum gemm_operand)i;
        const struct gemm_made far = make(&s, GEMM_KIND_FAR, i);
        cr_expect_gt(far.want[0].stride[o], (int64_t)UINT32_MAX);
    }
    const struct gemm_made edge = make(&s, GEMM_KIND_EDGE, 0);
    const int64_t rows_of_tiles =
        (edge.want[0].size.m + s.cells.at[0].tiles.m - 1) / s.cells.at[0].tiles.m;
    cr_expect_gt(rows_of_tiles, 8);
    cr_expect_neq(rows_of_tiles % 8, 0);
    cr_expect_gt(edge.want[0].size.n, s.cells.at[0].tiles.n);
    close_shelf(&s);
}

/* Rows of a grouped product are those of its groups, and what the op does not have is
 * not asked for. */
Test(gemm_cases, grouped_kernels_get_groups)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf_of(&s, "grouped_gemm", TILE,
                               "a_type == b_type && a_type == 'f16' && group_count > 0",
                               "1", &err),
                 WF_OK, "%s", err.text);
    cr_assert_eq(s.cells.count, 2); /* A is not transposed */
    for (int k = 0; k < GEMM_KIND_FIVE; k++) {
        const struct gemm_made one = make(&s, (enum gemm_kind)k, 1);
        const bool has = k != GEMM_KIND_BETA && k != GEMM_KIND_BIAS &&
                         k != GEMM_KIND_SCALE_ROW && k != GEMM_KIND_SCALE_128 &&
                         k != GEMM_KIND_INTERLEAVED && k != GEMM_KIND_PARTS;
        cr_expect_eq(one.count > 0, has, "%s", gemm_kind_name((enum gemm_kind)k));
        int64_t rows = 0;
        for (size_t i = 0; one.count > 0 && i < one.want[0].groups; i++) {
            rows += one.want[0].group[i];
        }
        if (one.count > 0) {
            cr_expect_eq(rows, one.want[0].size.m);
            struct wf_case *c = made_case(&one.want[0]);
            cr_expect(strstr(wf_case_canonical(c), "\"groups\":[") != NULL);
            wf_case_free(c);
        }
    }
    close_shelf(&s);
}

/* What i8 has not (bias, activations, scales) is left out, not asked for. */
Test(gemm_cases, integers_have_what_the_op_gives_them)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf(&s, TILE, "a_type == 'i8'", "1", &err), WF_OK, "%s",
                 err.text);
    for (int k = 0; k < GEMM_KIND_FIVE; k++) {
        const bool has_not = k == GEMM_KIND_BIAS || k == GEMM_KIND_SCALE_ROW ||
                             k == GEMM_KIND_SCALE_128 || k == GEMM_KIND_SILU ||
                             k == GEMM_KIND_GATE || k == GEMM_KIND_SILU_COST ||
                             k == GEMM_KIND_PARTS; /* it does not split */
        for (size_t i = 0; i < 6; i++) {
            cr_expect_eq(make(&s, (enum gemm_kind)k, i).count == 0, has_not, "%s",
                         gemm_kind_name((enum gemm_kind)k));
        }
    }
    close_shelf(&s);
}

/* The leading dimension is the largest that the kernel takes, of those tried. */
Test(gemm_cases, what_a_kernel_does_not_take_is_drawn_again_or_left_out)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf(&s, TILE,
                            F16_NT " && lda < 300000 && M <= 16 && bias == 'none'", "1",
                            &err),
                 WF_OK, "%s", err.text);
    const struct gemm_made huge = make(&s, GEMM_KIND_HUGE_LD, 0);
    cr_assert_eq(huge.count, 1);
    cr_expect_geq(huge.want[0].ld[GEMM_OF_A], 1 << 18);
    cr_expect_lt(huge.want[0].ld[GEMM_OF_A], 300000);
    cr_expect_eq(make(&s, GEMM_KIND_BIAS, 0).count, 0);
    cr_expect_eq(make(&s, GEMM_KIND_SCALE_ROW, 0).count, 0);
    for (size_t i = 0; i < 8; i++) { /* few rows, from the list too */
        const struct gemm_made edge = make(&s, GEMM_KIND_EDGE, i);
        cr_expect(edge.count == 1 && edge.want[0].size.m <= 16);
        const struct gemm_made reduced = make(&s, GEMM_KIND_REDUCED, i);
        cr_expect(reduced.count == 0 || reduced.want[0].size.m == 1);
    }
    close_shelf(&s);
}

/* The rest by the step and the split that the reduced size has. */
Test(gemm_cases, a_reduced_size_keeps_its_rest_by_the_split)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf(&s, TILE, F16_NT, "K >= 128 ? 4 : 1", &err), WF_OK, "%s",
                 err.text);
    for (size_t i = 0; i < 12; i++) {
        const struct gemm_made m = make(&s, GEMM_KIND_REDUCED, i);
        cr_assert_eq(m.count, 1);
        const struct gemm_shape z = m.want[0].size;
        if (strstr(m.note, "1000x2000x3000") != NULL) {
            cr_expect_eq(z.m % 64, 1000 % 64);
            cr_expect_eq(z.n % 48, 2000 % 48);
            cr_expect_eq(z.k % 128, 3000 % 128, "%d", (int)z.k);
            cr_expect(z.m > 64 && z.n > 48 && z.k > 128);
        } else {
            cr_expect(z.m == 1 && z.k % 128 == 0 && z.k >= 256);
        }
    }
    close_shelf(&s);
}

/* Four parts and more, though the kernel's four waves make four of the shortest K. */
Test(gemm_cases, kernels_that_split_get_four_parts)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf(&s, TILE, F16_NT " && M <= 16",
                            "4 * min(32, max(1, ceil_div(K, 1000)))", &err),
                 WF_OK, "%s", err.text);
    for (size_t i = 0; i < 8; i++) {
        const struct gemm_made m = make(&s, GEMM_KIND_PARTS, i);
        cr_assert_eq(m.count, 1);
        cr_expect_gt(m.want[0].size.k, 3000);
    }
    close_shelf(&s);
}

Test(gemm_cases, batches_lie_between_each_others_rows)
{
    struct shelf s;
    struct wf_error err = { 0 };
    cr_assert_eq(open_shelf(&s, TILE, F16_NT " && lda % 8 == 0", "1", &err), WF_OK,
                 "%s", err.text);
    for (size_t i = 0; i < 4; i++) {
        const struct gemm_made m = make(&s, GEMM_KIND_INTERLEAVED, i);
        cr_assert_eq(m.count, 1);
        for (int o = 0; o < GEMM_OPERANDS; o++) {
            cr_expect_lt(m.want[0].stride[o], m.want[0].ld[o]);
        }
        cr_expect_geq(m.want[0].batch, 2);
    }
    close_shelf(&s);
}

/* --- lines and what they say --- */
static struct wf_json *result_of(const char *answer, int conflicts, int instructions)
{
    struct wf_json *json = NULL;
    char *text = wf_asprintf(
        "{\"task\":{\"case\":{\"M\":1},\"label\":\"l\"},\"answer\":\"%s\",\"answer_text\":"
        "\"\",\"phases_ns\":{\"total\":5},\"details\":{\"emulation\":{\"launches\":[{"
        "\"fault\":null,\"instructions\":%d,\"counters\":{\"lds_conflict_cycles\":%d,"
        "\"instructions\":{\"mfma\":4}}}]}}}",
        answer, instructions, conflicts);
    cr_assert_eq(wf_json_parse(text, strlen(text), "result", &json, NULL), WF_OK);
    free(text);
    return json;
}

static const struct wf_json *add_line(struct gemm_state *state,
                                      const struct gemm_pick *pick,
                                      const char *key,
                                      struct wf_json *result)
{
    const struct gemm_made made = { .exact = true };
    struct wf_json *line = NULL;
    cr_assert_eq(gemm_state_line(pick, &made, key, result, &line, NULL), WF_OK);
    cr_assert_eq(gemm_state_add(state, line, NULL), WF_OK);
    wf_json_free(result);
    return gemm_state_find(state, key);
}

Test(gemm_cases, failures_thin_cells_and_conflicts_of_loops_are_told)
{
    struct shelf s;
    struct temp_dir dir;
    struct wf_error err = { 0 };
    struct gemm_state *state = NULL;
    struct wf_buf text = WF_BUF_INIT;
    cr_assert_eq(open_shelf(&s, TILE, F16_NT, "1", &err), WF_OK, "%s", err.text);
    temp_dir_make(&dir);
    char *path = wf_path_join(dir.path, "state.jsonl");
    cr_assert_eq(gemm_state_open(path, &state, NULL), WF_OK);
    struct gemm_summary *sum = gemm_summary_new(&s.cells);
    struct gemm_pick pick = { &s.cells.at[0], GEMM_KIND_LOOP, 0, 0 };
    const struct wf_json *pair[2] = {
        add_line(state, &pick, "a", result_of("PASS", 10, 100)),
        add_line(state, &pick, "b", result_of("PASS", 10, 300)),
    };
    gemm_summary_add(sum, &pick, pair, 2);
    struct gemm_verdict v = gemm_summary_verdict(sum, 5);
    cr_expect(v.cases == 2 && v.failures == 0 && v.thin_cells == 1 &&
              v.loop_conflicts == 0);
    pair[1] = add_line(state, &pick, "c", result_of("MISMATCH", 12, 300));
    gemm_summary_add(sum, &pick, pair, 2);
    v = gemm_summary_verdict(sum, 4);
    cr_expect(v.cases == 4 && v.failures == 1 && v.thin_cells == 0 &&
              v.loop_conflicts == 1);
    pick.kind = GEMM_KIND_SILU_COST; /* 1000 instructions, and 1051 */
    pair[0] = add_line(state, &pick, "f", result_of("PASS", 0, 1000));
    pair[1] = add_line(state, &pick, "g", result_of("PASS", 0, 1051));
    gemm_summary_add(sum, &pick, pair, 2);
    cr_expect_eq(gemm_summary_verdict(sum, 4).dear_silu, 0);
    pair[1] = add_line(state, &pick, "h", result_of("PASS", 0, 1054));
    gemm_summary_add(sum, &pick, pair, 2);
    cr_expect_eq(gemm_summary_verdict(sum, 4).dear_silu, 1);
    cr_assert_eq(gemm_summary_write(sum, 4, &text, NULL), WF_OK);
    cr_expect(strstr(wf_buf_cstr(&text), "**MISMATCH**") != NULL, "%s",
              wf_buf_cstr(&text));
    wf_buf_free(&text);
    gemm_summary_free(sum);
    gemm_state_close(state);
    /* Taken up again, without a line that was cut off. */
    FILE *f = fopen(path, "a");
    cr_assert(f != NULL && fputs("{\"key\":\"d\"", f) >= 0 && fclose(f) == 0);
    cr_assert_eq(gemm_state_open(path, &state, NULL), WF_OK);
    cr_expect_eq(gemm_state_count(state), 6);
    cr_expect(gemm_state_find(state, "c") != NULL &&
              gemm_state_find(state, "d") == NULL);
    cr_expect_not(gemm_line_is_good(gemm_state_find(state, "c")));
    (void)add_line(state, &pick, "e", result_of("PASS", 0, 1));
    gemm_state_close(state);
    cr_assert_eq(gemm_state_open(path, &state, NULL), WF_OK);
    cr_expect_eq(gemm_state_count(state), 7);
    gemm_state_close(state);
    free(path);
    temp_dir_remove(&dir);
    close_shelf(&s);
}
