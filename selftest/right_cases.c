/* Cases drawn by seed. The kernel's name says what it does: gemm_i8_c takes i8, one of
 * gfx942 has its types and its form (_nt: B transposed) in its name, and _gate if it is
 * gated; paged_decode_f16 takes f16 and one query. */
#include "selftest/right.h"

#include "core/buf.h"
#include "core/rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const INPUTS[] = { "normal", "uniform", "integers",
                                      "ones",   "zeros",   "powers" };

static int64_t pick(struct wf_rng *r, const int64_t *of, size_t n)
{
    return of[wf_rng_next_below(r, n)];
}

static const char *pick_text(struct wf_rng *r, const char *const *of, size_t n)
{
    return of[wf_rng_next_below(r, n)];
}

static bool one_in(struct wf_rng *r, uint64_t n)
{
    return wf_rng_next_below(r, n) == 0;
}

/* Edges of tiles, and anything between. */
static int64_t size(struct wf_rng *r, int64_t most)
{
    static const int64_t EDGES[] = { 1,   2,   3,   7,   8,   15,  16, 17,
                                     31,  32,  33,  63,  64,  65,  72, 96,
                                     100, 127, 128, 129, 136, 200, 256 };
    const int64_t edge = pick(r, EDGES, COUNT(EDGES));
    if (edge <= most && !one_in(r, 3)) {
        return edge;
    }
    return 1 + (int64_t)wf_rng_next_below(r, (uint64_t)most);
}

static const char *inputs(struct wf_rng *r)
{
    return one_in(r, 2) ? "normal" : pick_text(r, INPUTS, COUNT(INPUTS));
}

/* --- gemm --- */

struct gemm_draw {
    int64_t m, n, k, batch;
    bool ta, tb, gated;
    const char *a, *b, *d;
    double alpha, beta;
    int64_t align; /* of leading dimensions and batch strides */
};

static bool is_device(const char *kernel)
{
    return strstr(kernel, "_mfma_") != NULL || strstr(kernel, "_skinny_") != NULL;
}

/* A kernel that takes only operands with scales of 128 x 128 blocks. */
static bool of_scaled_blocks(const char *kernel)
{
    return strstr(kernel, "_mfma_block_") != NULL;
}

/* "nt" and so on: in a device kernel's name; NULL: the kernel takes all. */
static const char *form_of(const char *kernel)
{
    static const char *const FORMS[] = { "_nt", "_nn", "_tn", "_tt" };
    for (size_t i = 0; i < COUNT(FORMS) && is_device(kernel); i++) {
        const char *at = strstr(kernel, FORMS[i]);
        if (at != NULL && (at[3] == '\0' || at[3] == '_')) {
            return at + 1;
        }
    }
    return NULL;
}

/* Of a gfx942 kernel's name; false: it has no types in it. */
static bool types_of_name(const char *kernel, struct gemm_draw *g)
{
    static const struct {
        const char *word, *a, *b, *d;
    } rows[] = { { "_f16_", "f16", "f16", "f16" },
                 { "_bf16_", "bf16", "bf16", "bf16" },
                 { "_e4m3_", "e4m3fnuz", "e4m3fnuz", "f16" },
                 { "_e5m2_", "e5m2fnuz", "e5m2fnuz", "bf16" },
                 { "_e4m3e5m2_", "e4m3fnuz", "e5m2fnuz", "f32" },
                 { "_e5m2e4m3_", "e5m2fnuz", "e4m3fnuz", "f16" },
                 { "_i8_", "i8", "i8", "i32" } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strstr(kernel, rows[i].word) != NULL && is_device(kernel)) {
            g->a = rows[i].a;
            g->b = rows[i].b;
            g->d = rows[i].d;
            return true;
        }
    }
    return false;
}

static void draw_types(struct wf_rng *r, const char *kernel, struct gemm_draw *g)
{
    static const char *const FLOATS[] = { "f16",      "f16",     "bf16",   "bf16",
                                          "f32",      "f32",     "e4m3fn", "e5m2",
                                          "e4m3fnuz", "e5m2fnuz" };
    g->a = g->b = g->d = "f16";
    if (types_of_name(kernel, g) || strncmp(kernel, "gfx942", 6) == 0) {
        return;
    }
    if (strstr(kernel, "_i8_c") != NULL) {
        g->a = g->b = "i8";
        g->d = "i32";
    } else if (one_in(r, 8)) {
        g->a = g->b = g->d = "f64";
    } else {
        g->a = pick_text(r, FLOATS, COUNT(FLOATS));
        g->b = one_in(r, 3) ? pick_text(r, FLOATS, COUNT(FLOATS)) : g->a;
        g->d = pick_text(r, FLOATS, COUNT(FLOATS));
    }
}

static void draw_gemm(struct wf_rng *r, const char *kernel, struct gemm_draw *g)
{
    static const double ALPHA[] = { 1, 1, 0.5, -2, 0, 1.7, 1000, 0.001 };
    static const double BETA[] = { 0, 0, 1, -0.5, 3 };
    const char *form = form_of(kernel);
    const bool known = form != NULL;
    const bool skinny = strstr(kernel, "_skinny_") != NULL;
    draw_types(r, kernel, g);
    g->align = 1;
    g->gated = known && strstr(kernel, "_gate") != NULL;
    g->m = one_in(r, 60) ? 0 : size(r, skinny ? 16 : known ? 150 : 120);
    g->n = one_in(r, 60) ? 0 : size(r, known ? 150 : 120);
    g->k = one_in(r, 30) ? 0 : size(r, 256);
    g->batch = one_in(r, 4) ? 1 + (int64_t)wf_rng_next_below(r, 3) : 1;
    g->ta = known ? form[0] == 't' : one_in(r, 2);
    g->tb = known ? form[1] == 't' : one_in(r, 2);
    g->alpha = ALPHA[wf_rng_next_below(r, COUNT(ALPHA))];
    g->beta = BETA[wf_rng_next_below(r, COUNT(BETA))];
    g->beta = g->gated ? 0 : g->beta;
    if (strcmp(g->a, "i8") == 0) {
        g->alpha = (double)(int64_t)g->alpha;
        g->beta = (double)(int64_t)g->beta;
    }
}

static int64_t aligned(int64_t v, int64_t to)
{
    return (v + to - 1) / to * to;
}

/* A leading dimension, sometimes padded; a batch stride, sometimes more than tight or,
 * for inputs, 0. */
static enum wf_status add_strides(struct wf_buf *b,
                                  struct wf_rng *r,
                                  const char *which,
                                  int64_t rows,
                                  int64_t cols,
                                  const struct gemm_draw *g,
                                  struct wf_error *err)
{
    static const int64_t PAD[] = { 0, 0, 0, 1, 3, 8, 16 };
    const bool input = which[0] != 'd';
    const int64_t tight = cols > 0 ? cols : 1;
    const int64_t ld = aligned(tight + pick(r, PAD, COUNT(PAD)), g->align);
    int64_t stride =
        aligned((rows > 0 ? rows : 1) * ld + pick(r, PAD, COUNT(PAD)), g->align);
    enum wf_status st = WF_OK;
    if (ld != cols) {
        st = wf_buf_printf(b, err, ",\"ld%s\":%" PRId64, which, ld);
    }
    if (g->batch > 1 && input && one_in(r, 4)) {
        stride = 0;
    }
    if (st == WF_OK && g->batch > 1) {
        st = wf_buf_printf(b, err, ",\"stride_%s\":%" PRId64, which, stride);
    }
    return st;
}

enum wf_status wf_right_gemm(struct wf_selftest_env *env,
                             const char *kernel,
                             uint64_t seed,
                             const char **ret,
                             struct wf_error *err)
{
    struct wf_rng r = { seed, 11, 0 };
    struct gemm_draw g;
    struct wf_buf b = WF_BUF_INIT;
    draw_gemm(&r, kernel, &g);
    enum wf_status st = wf_buf_printf(
        &b, err,
        "{\"op\":\"gemm\",\"M\":%" PRId64 ",\"N\":%" PRId64 ",\"K\":%" PRId64
        ",\"batch\":%" PRId64 ",\"trans_a\":\"%s\",\"trans_b\":\"%s\",\"a_type\":\"%s\""
        ",\"b_type\":\"%s\",\"d_type\":\"%s\",\"alpha\":%g,\"beta\":%g,\"inputs\":"
        "\"%s\",\"seed\":%" PRIu64,
        g.m, g.n, g.k, g.batch, g.ta ? "T" : "N", g.tb ? "T" : "N", g.a, g.b, g.d,
        g.alpha, g.beta, inputs(&r), wf_rng_next_below(&r, 1000000));
    if (st == WF_OK) {
        st = add_strides(&b, &r, "a", g.ta ? g.k : g.m, g.ta ? g.m : g.k, &g, err);
    }
    const int64_t columns = g.gated ? 2 * g.n : g.n;
    if (st == WF_OK) {
        st = add_strides(&b, &r, "b", g.tb ? columns : g.k, g.tb ? g.k : columns, &g,
                         err);
    }
    if (st == WF_OK && g.gated) {
        st = wf_buf_puts(&b, ",\"activation\":\"silu_gate\"", err);
    }
    if (st == WF_OK && of_scaled_blocks(kernel)) {
        st = wf_buf_puts(&b, ",\"scale\":\"block128\"", err);
    }
    if (st == WF_OK) {
        st = add_strides(&b, &r, "c", g.m, g.n, &g, err);
    }
    if (st == WF_OK) {
        st = add_strides(&b, &r, "d", g.m, g.n, &g, err);
    }
    if (st == WF_OK) {
        st = wf_buf_puts(&b, "}", err);
    }
    if (st != WF_OK) {
        wf_buf_free(&b);
        return st;
    }
    return wf_selftest_keep(env, b.data, ret, err);
}

/* --- grouped_gemm --- */

static enum wf_status add_groups(struct wf_buf *b,
                                 struct wf_rng *r,
                                 struct wf_error *err)
{
    const int count = one_in(r, 8) ? 70 : 1 + (int)wf_rng_next_below(r, 9);
    enum wf_status st = wf_buf_puts(b, ",\"groups\":[", err);
    for (int i = 0; i < count && st == WF_OK; i++) {
        const bool empty = one_in(r, 3) || (count > 9 && !one_in(r, 8));
        st = wf_buf_printf(b, err, "%s%" PRId64, i > 0 ? "," : "",
                           empty ? 0 : size(r, 70));
    }
    return st == WF_OK ? wf_buf_puts(b, "]", err) : st;
}

static enum wf_status add_grouped_options(struct wf_buf *b,
                                          struct wf_rng *r,
                                          const char *kernel,
                                          const struct gemm_draw *g,
                                          struct wf_error *err)
{
    const bool floats = strcmp(g->d, "i32") != 0 && strcmp(g->a, "f64") != 0;
    const bool fp8 = g->a[0] == 'e' && g->b[0] == 'e';
    const bool free_choice = form_of(kernel) == NULL;
    enum wf_status st = WF_OK;
    if (of_scaled_blocks(kernel)) {
        st = wf_buf_puts(b, ",\"scale\":\"block128\"", err);
    } else if (fp8 && one_in(r, 2)) {
        st = wf_buf_printf(b, err, ",\"scale\":\"%s\"",
                           free_choice && one_in(r, 2) ? "block128" : "row");
    }
    if (st == WF_OK && (g->gated || (free_choice && floats && one_in(r, 4)))) {
        return wf_buf_puts(b, ",\"activation\":\"silu_gate\"", err);
    }
    return st == WF_OK && floats && one_in(r, 4)
               ? wf_buf_puts(b, ",\"activation\":\"silu\"", err)
               : st;
}

enum wf_status wf_right_grouped(struct wf_selftest_env *env,
                                const char *kernel,
                                uint64_t seed,
                                const char **ret,
                                struct wf_error *err)
{
    struct wf_rng r = { seed, 13, 0 };
    struct gemm_draw g;
    struct wf_buf b = WF_BUF_INIT;
    draw_gemm(&r, kernel, &g);
    enum wf_status st = wf_buf_printf(
        &b, err,
        "{\"op\":\"grouped_gemm\",\"N\":%" PRId64 ",\"K\":%" PRId64
        ",\"trans_b\":\"%s\",\"a_type\":\"%s\",\"b_type\":\"%s\",\"d_type\":\"%s\""
        ",\"alpha\":%g,\"inputs\":\"%s\",\"seed\":%" PRIu64 ",\"ldd\":%" PRId64,
        g.n, g.k, g.tb ? "T" : "N", g.a, g.b, g.d, g.alpha, inputs(&r),
        wf_rng_next_below(&r, 1000000),
        (g.n > 0 ? g.n : 1) + (int64_t)wf_rng_next_below(&r, 9));
    if (st == WF_OK) {
        st = add_groups(&b, &r, err);
    }
    if (st == WF_OK) {
        st = add_grouped_options(&b, &r, kernel, &g, err);
    }
    if (st == WF_OK) {
        st = wf_buf_puts(&b, "}", err);
    }
    if (st != WF_OK) {
        wf_buf_free(&b);
        return st;
    }
    return wf_selftest_keep(env, b.data, ret, err);
}

/* --- attention --- */

static void draw_table(struct wf_rng *r, bool paged, bool decode, struct wf_table *t)
{
    static const int64_t PAGES[] = { 1, 4, 16, 16, 17, 32, 64 };
    t->batch = 1 + wf_rng_next_below(r, 5);
    t->page_size = paged ? pick(r, PAGES, COUNT(PAGES)) : 0;
    t->has_q_len = !decode && one_in(r, 2);
    for (size_t i = 0; i < t->batch; i++) {
        t->kv_len[i] = one_in(r, 8) ? 0 : size(r, 200);
        t->q_len[i] = one_in(r, 8) ? 0 : 1 + (int64_t)wf_rng_next_below(r, 9);
    }
    /* The op refuses a table without any key or any query. */
    t->kv_len[0] += t->kv_len[0] == 0;
    t->q_len[0] += t->q_len[0] == 0;
    t->num_pages =
        paged ? (int64_t)wf_table_need(t) + (int64_t)wf_rng_next_below(r, 9) : 0;
    t->seed = wf_rng_next_below(r, 1000000);
}

static enum wf_status add_layout(struct wf_selftest_env *env,
                                 struct wf_buf *b,
                                 struct wf_rng *r,
                                 bool decode,
                                 struct wf_error *err)
{
    char sha[WF_SHA256_HEX];
    const uint64_t layout = decode ? 2 : wf_rng_next_below(r, 3);
    const int64_t q_len = decode || one_in(r, 3) ? 1 : size(r, 24);
    if (layout == 0) {
        return wf_buf_printf(b, err,
                             ",\"batch\":%d,\"q_len\":%" PRId64 ",\"kv_len\":%" PRId64,
                             1 + (int)wf_rng_next_below(r, 3), q_len, size(r, 120));
    }
    struct wf_table *t = wf_calloc(1, sizeof(*t));
    if (t == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a table");
    }
    draw_table(r, layout == 2, decode, t);
    enum wf_status st = wf_table_store(t, env->store, sha, err);
    if (st == WF_OK) {
        st = wf_buf_printf(b, err, ",\"layout\":\"%s\",\"page_table\":\"sha256:%s\"",
                           layout == 2 ? "paged" : "ragged", sha);
    }
    if (st == WF_OK && !t->has_q_len && q_len > 1) {
        st = wf_buf_printf(b, err, ",\"q_len\":%" PRId64, q_len);
    }
    if (st == WF_OK && layout == 2 && one_in(r, 3)) {
        st = wf_buf_puts(b, ",\"kv_layout\":\"HND\"", err);
    }
    free(t);
    return st;
}

static enum wf_status add_shape(struct wf_buf *b,
                                struct wf_rng *r,
                                int64_t fixed_dim,
                                struct wf_error *err)
{
    static const int64_t DIMS[] = { 8, 16, 33, 40, 64, 64, 72, 128 };
    static const int64_t GROUPS[] = { 1, 2, 3, 4, 8 };
    const int64_t kv = 1 + (int64_t)wf_rng_next_below(r, 3);
    const int64_t d = fixed_dim > 0 ? fixed_dim : pick(r, DIMS, COUNT(DIMS));
    enum wf_status st = wf_buf_printf(b, err,
                                      ",\"q_heads\":%" PRId64 ",\"kv_heads\":%" PRId64
                                      ",\"head_dim\":%" PRId64,
                                      kv * pick(r, GROUPS, COUNT(GROUPS)), kv, d);
    if (st == WF_OK && fixed_dim == 0 && one_in(r, 4)) {
        st = wf_buf_printf(b, err, ",\"head_dim_v\":%" PRId64,
                           pick(r, DIMS, COUNT(DIMS)));
    }
    return st;
}

static enum wf_status add_types(struct wf_buf *b,
                                struct wf_rng *r,
                                struct wf_error *err)
{
    static const char *const WIDE[] = { "f16", "bf16", "f32" };
    static const char *const FP8[] = { "e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz" };
    const char *fp8 = pick_text(r, FP8, COUNT(FP8));
    const char *q = one_in(r, 5) ? fp8 : pick_text(r, WIDE, COUNT(WIDE));
    enum wf_status st = wf_buf_printf(b, err, ",\"q_type\":\"%s\"", q);
    if (st == WF_OK && q != fp8 && one_in(r, 3)) {
        st = wf_buf_printf(b, err, ",\"kv_type\":\"%s\",\"k_scale\":%g,\"v_scale\":%g",
                           fp8, one_in(r, 2) ? 0.5 : 0.3, one_in(r, 2) ? 2.0 : 0.7);
    }
    return st;
}

static enum wf_status add_options(struct wf_buf *b,
                                  struct wf_rng *r,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const bool causal = one_in(r, 2);
    if (causal) {
        st = wf_buf_puts(b, ",\"causal\":true", err);
    }
    if (st == WF_OK && one_in(r, 2)) {
        st = wf_buf_puts(b, ",\"lse\":true", err);
    }
    if (st == WF_OK && one_in(r, 3)) {
        st =
            wf_buf_printf(b, err, ",\"window_left\":%d", (int)wf_rng_next_below(r, 40));
    }
    if (st == WF_OK && !causal && one_in(r, 3)) {
        st =
            wf_buf_printf(b, err, ",\"window_right\":%d", (int)wf_rng_next_below(r, 9));
    }
    if (st == WF_OK && one_in(r, 4)) {
        st = wf_buf_printf(b, err, ",\"soft_cap\":%g", one_in(r, 2) ? 5.0 : 30.0);
    }
    if (st == WF_OK && one_in(r, 4)) {
        st = wf_buf_printf(b, err, ",\"scale\":%g", one_in(r, 2) ? 1.0 : 0.05);
    }
    return st;
}

enum wf_status wf_right_attention(struct wf_selftest_env *env,
                                  const char *kernel,
                                  uint64_t seed,
                                  const char **ret,
                                  struct wf_error *err)
{
    struct wf_rng r = { seed, 12, 0 };
    struct wf_buf b = WF_BUF_INIT;
    const bool decode = strncmp(kernel, "paged_decode_f16", 16) == 0;
    const int64_t d = !decode ? 0 : strstr(kernel, "d128") ? 128 : 64;
    enum wf_status st = wf_buf_printf(
        &b, err, "{\"op\":\"attention\",\"seed\":%" PRIu64 ",\"inputs\":\"%s\"",
        wf_rng_next_below(&r, 1000000), inputs(&r));
    if (st == WF_OK) {
        st = add_layout(env, &b, &r, decode, err);
    }
    if (st == WF_OK) {
        st = add_shape(&b, &r, d, err);
    }
    if (st == WF_OK && !decode) {
        st = add_types(&b, &r, err);
    }
    if (st == WF_OK) {
        st = add_options(&b, &r, err);
    }
    if (st == WF_OK) {
        st = wf_buf_puts(&b, "}", err);
    }
    if (st != WF_OK) {
        wf_buf_free(&b);
        return st;
    }
    return wf_selftest_keep(env, b.data, ret, err);
}
