/* Transforms against the formulas of docs/pack.md, element by element. */
#include "packs/plan.h"
#include "tests/packs/plan_case.h"

#include "core/buf.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct named_value nothing[] = { { NULL, { 0 } } };
static const struct wf_scope scope = { .find = find_named, .ctx = nothing };

#define MAX_PARAMS 4

struct derived {
    struct wf_pack_buffer buffer;
    struct wf_pack_param param[MAX_PARAMS];
};

static void add_param(struct derived *d, const char *name, long value)
{
    char *text = wf_asprintf("%ld", value);
    struct wf_pack_param *p = &d->param[d->buffer.param_count++];
    p->name = name;
    cr_assert_eq(wf_expr_parse(text, name, &p->value, NULL), WF_OK);
    free(text);
}

static struct derived *make(const char *transform)
{
    struct derived *d = calloc(1, sizeof *d);
    d->buffer = (struct wf_pack_buffer){ .name = "X",
                                         .kind = WF_BUFFER_DERIVED,
                                         .transform = transform,
                                         .from = "T",
                                         .param = d->param };
    return d;
}

static struct derived *make_matrix(const char *transform, const long v[4])
{
    static const char *const names[] = { "rows", "cols", "ld", "batch" };
    struct derived *d = make(transform);
    for (int i = 0; i < 4; i++) {
        if (v[i] != 0) {
            add_param(d, names[i], v[i]);
        }
    }
    return d;
}

static void done(struct derived *d)
{
    for (size_t i = 0; i < d->buffer.param_count; i++) {
        wf_expr_free(d->param[i].value);
    }
    free(d);
}

static uint8_t *pattern(size_t n)
{
    uint8_t *p = malloc(n);
    uint32_t x = 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        p[i] = (uint8_t)(x >> 24);
    }
    return p;
}

typedef size_t place_fn(long r, long c, const long v[4], size_t element);

static size_t transposed(long r, long c, const long v[4], size_t element)
{
    (void)element;
    return (size_t)(c * v[0] + r);
}

static size_t preshuffled(long r, long c, const long v[4], size_t element)
{
    const long chunk = 16 / (long)element;
    return (size_t)((((r / 16) * (v[1] / chunk) + c / chunk) * 16 + r % 16) * chunk +
                    c % chunk);
}

static void check_matrix(const char *transform,
                         enum wf_dtype type,
                         const long v[4],
                         place_fn *place)
{
    const size_t es = wf_dtype_bytes(type);
    const long ld = v[2] != 0 ? v[2] : v[1], batch = v[3] != 0 ? v[3] : 1;
    const size_t source = (size_t)(batch * v[0] * ld) * es;
    const size_t panel = (size_t)(v[0] * v[1]) * es;
    struct derived *d = make_matrix(transform, v);
    struct wf_plan_tensor from = { "T", type, source };
    struct wf_error err = { .text = "" };
    uint64_t bytes = 0;
    cr_assert_eq(wf_transform_bytes(&d->buffer, &from, &scope, &bytes, &err), WF_OK,
                 "%s", err.text);
    cr_assert_eq(bytes, panel * (size_t)batch);
    uint8_t *src = pattern(source), *dst = calloc(1, bytes);
    cr_assert_eq(wf_transform_run(&d->buffer, &from, &scope, src, dst, &err), WF_OK);
    size_t wrong = 0;
    for (long b = 0; b < batch; b++) {
        for (long r = 0; r < v[0]; r++) {
            for (long c = 0; c < v[1]; c++) {
                const uint8_t *want = src + (size_t)((b * v[0] + r) * ld + c) * es;
                const uint8_t *got = dst + (size_t)b * panel + place(r, c, v, es) * es;
                wrong += memcmp(want, got, es) != 0;
            }
        }
    }
    cr_expect_eq(wrong, 0, "%s %ldx%ld ld %ld batch %ld: %zu wrong", transform, v[0],
                 v[1], ld, batch, wrong);
    free(dst);
    free(src);
    done(d);
}

Test(transform, transpose_2d)
{
    static const long shapes[][4] = { { 1, 1 },         { 3, 5 },
                                      { 33, 65 },       { 64, 32, 40 },
                                      { 31, 33, 0, 3 }, { 7, 100, 101, 2 } };
    static const enum wf_dtype types[] = { WF_F64, WF_F32, WF_F16, WF_E4M3FNUZ };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (size_t t = 0; t < 4; t++) {
            check_matrix("transpose_2d", types[t], shapes[i], transposed);
        }
    }
}

Test(transform, preshuffle_16x16)
{
    static const long shapes[][4] = {
        { 16, 16 }, { 16, 32 }, { 48, 64 }, { 32, 48, 64 }, { 64, 32, 0, 3 }
    };
    static const enum wf_dtype types[] = { WF_F32, WF_F16, WF_BF16, WF_E4M3FN };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (size_t t = 0; t < 4; t++) {
            check_matrix("preshuffle_16x16", types[t], shapes[i], preshuffled);
        }
    }
}

static enum wf_status bytes_of(const char *transform,
                               enum wf_dtype type,
                               uint64_t bytes,
                               const long v[4],
                               struct wf_error *err)
{
    uint64_t ret = 0;
    struct derived *d = make_matrix(transform, v);
    struct wf_plan_tensor from = { "T", type, bytes };
    enum wf_status st = wf_transform_bytes(&d->buffer, &from, &scope, &ret, err);
    done(d);
    return st;
}

Test(transform, wrong_shapes)
{
    struct wf_error err = { .text = "" };
    cr_expect_eq(bytes_of("transpose_2d", WF_F16, 100, (const long[4]){ 10, 6 }, &err),
                 WF_EINVAL);
    cr_expect(strstr(err.text, "tensor T has 100 bytes, the transform reads 120"), "%s",
              err.text);
    cr_expect_eq(
        bytes_of("transpose_2d", WF_F16, 1000, (const long[4]){ 10, 6, 5 }, &err),
        WF_EINVAL);
    cr_expect(strstr(err.text, "ld 5 is below cols 6"), "%s", err.text);
    cr_expect_eq(
        bytes_of("preshuffle_16x16", WF_F16, 9999, (const long[4]){ 15, 32 }, &err),
        WF_EINVAL);
    cr_expect_eq(
        bytes_of("preshuffle_16x16", WF_F16, 9999, (const long[4]){ 16, 12 }, &err),
        WF_EINVAL);
    cr_expect(strstr(err.text, "multiple of 16"), "%s", err.text);
    const long huge = 1L << 40;
    cr_expect_eq(
        bytes_of("transpose_2d", WF_F16, 100, (const long[4]){ huge, huge }, &err),
        WF_ERANGE);
    cr_expect_eq(bytes_of("transpose_2d", WF_F16, 100,
                          (const long[4]){ huge, 1, 1, huge }, &err),
                 WF_ERANGE);
    cr_expect_eq(bytes_of("transpose_2d", WF_F16, 100, (const long[4]){ -1, 6 }, &err),
                 WF_ERANGE);
}

Test(transform, the_last_row_needs_no_padding)
{
    struct wf_error err = { .text = "" };
    cr_expect_eq(bytes_of("transpose_2d", WF_F16, 2 * (9 * 8 + 6),
                          (const long[4]){ 10, 6, 8 }, &err),
                 WF_OK, "%s", err.text);
}

Test(transform, an_absent_tensor_gives_nothing)
{
    uint64_t bytes = 7;
    struct derived *d = make_matrix("transpose_2d", (const long[4]){ 4, 4 });
    struct wf_plan_tensor from = { "T", WF_F16, 0 };
    cr_expect_eq(wf_transform_bytes(&d->buffer, &from, &scope, &bytes, NULL), WF_OK);
    cr_expect_eq(bytes, 0);
    cr_expect_eq(wf_transform_run(&d->buffer, &from, &scope, NULL, NULL, NULL), WF_OK);
    done(d);
}

static enum wf_status split_table(const int32_t *in,
                                  long count,
                                  long chunk,
                                  int32_t *out,
                                  struct wf_error *err)
{
    struct derived *d = make("split_table");
    add_param(d, "count", count);
    add_param(d, "chunk", chunk);
    struct wf_plan_tensor from = { "T", WF_I32, (uint64_t)(count + 1) * 4 };
    uint64_t bytes = 0;
    enum wf_status st = wf_transform_bytes(&d->buffer, &from, &scope, &bytes, err);
    cr_assert_eq(bytes, from.bytes);
    st = st != WF_OK ? st : wf_transform_run(&d->buffer, &from, &scope, in, out, err);
    done(d);
    return st;
}

Test(transform, split_table)
{
    static const int32_t in[] = { 5, 5, 6, 16, 17, 49 };
    static const int32_t by_16[] = { 0, 0, 1, 2, 3, 5 },
                         by_1[] = { 0, 0, 1, 11, 12, 44 };
    int32_t out[6];
    cr_expect_eq(split_table(in, 5, 16, out, NULL), WF_OK);
    cr_expect_arr_eq(out, by_16, sizeof out);
    cr_expect_eq(split_table(in, 5, 1, out, NULL), WF_OK);
    cr_expect_arr_eq(out, by_1, sizeof out);
}

Test(transform, split_table_refuses_wrong_offsets)
{
    static const int32_t falling[] = { 0, 10, 9 },
                         wide[] = { INT32_MIN, INT32_MAX, INT32_MAX };
    int32_t out[3];
    struct wf_error err = { .text = "" };
    cr_expect_eq(split_table(falling, 2, 4, out, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "T[2] = 9 is below T[1] = 10"), "%s", err.text);
    cr_expect_eq(split_table(wide, 2, 1, out, &err), WF_ERANGE);
}

Test(transform, split_table_wants_i32_and_enough_of_it)
{
    uint64_t bytes = 0;
    struct wf_error err = { .text = "" };
    struct derived *d = make("split_table");
    add_param(d, "count", 8);
    add_param(d, "chunk", 2);
    struct wf_plan_tensor wrong_type = { "T", WF_I64, 1000 },
                          short_one = { "T", WF_I32, 35 };
    cr_expect_eq(wf_transform_bytes(&d->buffer, &wrong_type, &scope, &bytes, &err),
                 WF_EINVAL);
    cr_expect(strstr(err.text, "split_table wants i32"), "%s", err.text);
    cr_expect_eq(wf_transform_bytes(&d->buffer, &short_one, &scope, &bytes, &err),
                 WF_EINVAL);
    done(d);
}
