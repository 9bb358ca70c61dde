/* Transforms that make derived buffers, on the host. docs/pack.md has the formulas.
 *
 * Sizes are computed with checked arithmetic before anything is read: a run never looks
 * outside the tensor's bytes nor writes outside the result's. */
#include "packs/transform.h"

#include <string.h>

#define MAX_VALUE ((int64_t)1 << 40)
#define NOT_GIVEN (-1)
#define BLOCK     32

struct matrix {
    uint64_t rows, cols, ld, batch;
    size_t element; /* bytes */
};

static enum wf_status too_large(struct wf_error *err)
{
    return wf_errorf(err, WF_ERANGE, "derived buffer does not fit 64 bits");
}

/* Reads rows, cols, ld, batch and checks them against the tensor; *ret_bytes is that of
 * the dense result. */
static enum wf_status read_matrix(const int64_t *v,
                                  const struct wf_plan_tensor *from,
                                  struct matrix *ret,
                                  uint64_t *ret_bytes,
                                  struct wf_error *err)
{
    struct matrix m = { .rows = (uint64_t)v[0],
                        .cols = (uint64_t)v[1],
                        .ld = (uint64_t)(v[2] == NOT_GIVEN ? v[1] : v[2]),
                        .batch = (uint64_t)(v[3] == NOT_GIVEN ? 1 : v[3]),
                        .element = wf_dtype_bytes(from->dtype) };
    if (m.ld < m.cols) {
        return wf_errorf(err, WF_EINVAL, "ld %llu is below cols %llu",
                         (unsigned long long)m.ld, (unsigned long long)m.cols);
    }
    uint64_t panel, source, result;
    if (__builtin_mul_overflow(m.rows, m.ld, &panel) ||
        __builtin_mul_overflow(panel, m.batch, &source) ||
        __builtin_mul_overflow(source, m.element, &source) ||
        __builtin_mul_overflow(m.rows * m.batch, m.cols, &result) ||
        __builtin_mul_overflow(result, m.element, &result)) {
        return too_large(err);
    }
    source -= (m.ld - m.cols) * m.element; /* the last row has no padding */
    if (source > from->bytes) {
        return wf_errorf(
            err, WF_EINVAL, "tensor %s has %llu bytes, the transform reads %llu",
            from->name, (unsigned long long)from->bytes, (unsigned long long)source);
    }
    *ret = m;
    *ret_bytes = result;
    return WF_OK;
}

static enum wf_status transform_transpose_2d_bytes(const int64_t *v,
                                                   const struct wf_plan_tensor *from,
                                                   uint64_t *ret,
                                                   struct wf_error *err)
{
    struct matrix m = { 0 };
    return read_matrix(v, from, &m, ret, err);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One block; `element` is a constant where this is inlined, so memcpy is one move. */
static inline void transpose_block(const struct matrix *m,
                                   const uint8_t *src,
                                   uint8_t *dst,
                                   uint64_t r0,
                                   uint64_t c0,
                                   size_t element)
{
    uint64_t r1 = min_u64(r0 + BLOCK, m->rows), c1 = min_u64(c0 + BLOCK, m->cols);
    for (uint64_t c = c0; c < c1; c++) {
        for (uint64_t r = r0; r < r1; r++) {
            memcpy(dst + (c * m->rows + r) * element, src + (r * m->ld + c) * element,
                   element);
        }
    }
}

static void transpose_panel(const struct matrix *m, const uint8_t *src, uint8_t *dst)
{
    for (uint64_t r = 0; r < m->rows; r += BLOCK) {
        for (uint64_t c = 0; c < m->cols; c += BLOCK) {
            if (m->element == 1) {
                transpose_block(m, src, dst, r, c, 1);
            } else if (m->element == 2) {
                transpose_block(m, src, dst, r, c, 2);
            } else if (m->element == 4) {
                transpose_block(m, src, dst, r, c, 4);
            } else {
                transpose_block(m, src, dst, r, c, 8);
            }
        }
    }
}

static enum wf_status transform_transpose_2d_run(const int64_t *v,
                                                 const struct wf_plan_tensor *from,
                                                 const void *src,
                                                 void *dst,
                                                 struct wf_error *err)
{
    struct matrix m = { 0 };
    uint64_t bytes = 0;
    enum wf_status st = read_matrix(v, from, &m, &bytes, err);
    for (uint64_t b = 0; st == WF_OK && b < m.batch; b++) {
        transpose_panel(&m, (const uint8_t *)src + b * m.rows * m.ld * m.element,
                        (uint8_t *)dst + b * m.rows * m.cols * m.element);
    }
    return st;
}

static enum wf_status transform_preshuffle_16x16_bytes(
    const int64_t *v,
    const struct wf_plan_tensor *from,
    uint64_t *ret,
    struct wf_error *err)
{
    struct matrix m = { 0 };
    uint64_t bytes = 0;
    enum wf_status st = read_matrix(v, from, &m, &bytes, err);
    if (st != WF_OK) {
        return st;
    }
    uint64_t chunk = 16 / m.element;
    if (m.rows % 16 != 0 || m.cols % chunk != 0) {
        return wf_errorf(err, WF_EINVAL,
                         "rows %llu is not a multiple of 16, or cols %llu not of %llu",
                         (unsigned long long)m.rows, (unsigned long long)m.cols,
                         (unsigned long long)chunk);
    }
    *ret = bytes;
    return WF_OK;
}

/* Moves chunks of 16 bytes: row r, chunk q of the row becomes chunk
 * ((r / 16) * chunks + q) * 16 + r % 16. */
static void preshuffle_panel(const struct matrix *m, const uint8_t *src, uint8_t *dst)
{
    uint64_t chunks = m->cols * m->element / 16;
    for (uint64_t r = 0; r < m->rows; r++) {
        const uint8_t *row = src + r * m->ld * m->element;
        uint8_t *tile = dst + ((r / 16) * chunks * 16 + r % 16) * 16;
        for (uint64_t q = 0; q < chunks; q++) {
            memcpy(tile + q * 256, row + q * 16, 16);
        }
    }
}

static enum wf_status transform_preshuffle_16x16_run(const int64_t *v,
                                                     const struct wf_plan_tensor *from,
                                                     const void *src,
                                                     void *dst,
                                                     struct wf_error *err)
{
    struct matrix m = { 0 };
    uint64_t bytes = 0;
    enum wf_status st = transform_preshuffle_16x16_bytes(v, from, &bytes, err);
    st = st != WF_OK ? st : read_matrix(v, from, &m, &bytes, err);
    for (uint64_t b = 0; st == WF_OK && b < m.batch; b++) {
        preshuffle_panel(&m, (const uint8_t *)src + b * m.rows * m.ld * m.element,
                         (uint8_t *)dst + b * m.rows * m.cols * m.element);
    }
    return st;
}

static enum wf_status transform_split_table_bytes(const int64_t *v,
                                                  const struct wf_plan_tensor *from,
                                                  uint64_t *ret,
                                                  struct wf_error *err)
{
    uint64_t bytes = ((uint64_t)v[0] + 1) * sizeof(int32_t);
    if (from->dtype != WF_I32) {
        return wf_errorf(err, WF_EINVAL, "tensor %s is %s, split_table wants i32",
                         from->name, wf_dtype_name(from->dtype));
    }
    if (bytes > from->bytes) {
        return wf_errorf(err, WF_EINVAL,
                         "tensor %s has %llu bytes, count %lld needs %llu", from->name,
                         (unsigned long long)from->bytes, (long long)v[0],
                         (unsigned long long)bytes);
    }
    *ret = bytes;
    return WF_OK;
}

static enum wf_status transform_split_table_run(const int64_t *v,
                                                const struct wf_plan_tensor *from,
                                                const void *src,
                                                void *dst,
                                                struct wf_error *err)
{
    uint64_t bytes = 0;
    enum wf_status st = transform_split_table_bytes(v, from, &bytes, err);
    const uint8_t *in = src;
    uint8_t *out = dst;
    int64_t parts = 0;
    int32_t begin = 0, end = 0;
    for (int64_t i = 0; st == WF_OK && i <= v[0]; i++) {
        memcpy(&end, in + i * 4, 4);
        if (i > 0 && end < begin) {
            return wf_errorf(err, WF_EINVAL, "%s[%lld] = %d is below %s[%lld] = %d",
                             from->name, (long long)i, end, from->name,
                             (long long)i - 1, begin);
        }
        parts += i == 0 ? 0 : ((int64_t)end - begin + v[1] - 1) / v[1];
        if (parts > INT32_MAX) {
            return wf_errorf(err, WF_ERANGE, "more than 2^31 - 1 parts");
        }
        int32_t stored = (int32_t)parts;
        memcpy(out + i * 4, &stored, 4);
        begin = end;
    }
    return st;
}

static const struct transform_row rows[] = {
#define TRANSFORM(name, p0, r0, p1, r1, p2, r2, p3, r3)   \
    { #name,                                              \
      { { p0, r0 }, { p1, r1 }, { p2, r2 }, { p3, r3 } }, \
      transform_##name##_bytes,                           \
      transform_##name##_run },
#include "packs/transforms.def"
#undef TRANSFORM
};

size_t transform_count(void)
{
    return sizeof rows / sizeof rows[0];
}

const struct transform_row *transform_at(size_t i)
{
    return i < transform_count() ? &rows[i] : NULL;
}

const struct transform_row *transform_find(const char *name)
{
    for (size_t i = 0; i < transform_count(); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static const struct wf_expr *param_expr(const struct wf_pack_buffer *b,
                                        const char *name)
{
    for (size_t i = 0; i < b->param_count; i++) {
        if (strcmp(b->param[i].name, name) == 0) {
            return b->param[i].value;
        }
    }
    return NULL;
}

static const struct transform_row *row_of(const struct wf_pack_buffer *b,
                                          struct wf_error *err)
{
    const struct transform_row *row =
        b->transform == NULL ? NULL : transform_find(b->transform);
    if (row == NULL) {
        (void)wf_errorf(err, WF_EINTERNAL, "buffer %s has no known transform", b->name);
    }
    return row;
}

enum wf_status transform_values(const struct wf_pack_buffer *buffer,
                                const struct wf_scope *scope,
                                int64_t ret[TRANSFORM_MAX_PARAMS],
                                struct wf_error *err)
{
    const struct transform_row *row = row_of(buffer, err);
    if (row == NULL) {
        return WF_EINTERNAL;
    }
    for (size_t i = 0; i < TRANSFORM_MAX_PARAMS; i++) {
        const char *name = row->param[i].name;
        const struct wf_expr *e = name == NULL ? NULL : param_expr(buffer, name);
        ret[i] = NOT_GIVEN;
        if (e == NULL) {
            continue;
        }
        enum wf_status st = wf_expr_eval_i64(e, scope, 1, MAX_VALUE, &ret[i], err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

enum wf_status transform_bytes(const struct wf_pack_buffer *buffer,
                               const struct wf_plan_tensor *from,
                               const int64_t *values,
                               uint64_t *ret,
                               struct wf_error *err)
{
    const struct transform_row *row = row_of(buffer, err);
    if (row == NULL) {
        return WF_EINTERNAL;
    }
    if (from->bytes == 0) {
        *ret = 0;
        return WF_OK;
    }
    enum wf_status st = row->bytes(values, from, ret, err);
    return st == WF_OK ? st
                       : wf_error_prefix(err, "buffer %s: %s", buffer->name, row->name);
}

enum wf_status wf_transform_bytes(const struct wf_pack_buffer *buffer,
                                  const struct wf_plan_tensor *from,
                                  const struct wf_scope *scope,
                                  uint64_t *ret,
                                  struct wf_error *err)
{
    int64_t values[TRANSFORM_MAX_PARAMS];
    enum wf_status st = transform_values(buffer, scope, values, err);
    return st != WF_OK ? st : transform_bytes(buffer, from, values, ret, err);
}

static enum wf_status run(const struct wf_pack_buffer *buffer,
                          const struct wf_plan_tensor *from,
                          const int64_t *values,
                          const void *src,
                          void *dst,
                          struct wf_error *err)
{
    const struct transform_row *row = row_of(buffer, err);
    if (row == NULL) {
        return WF_EINTERNAL;
    }
    if (from->bytes == 0) {
        return WF_OK;
    }
    enum wf_status st = row->run(values, from, src, dst, err);
    return st == WF_OK ? st
                       : wf_error_prefix(err, "buffer %s: %s", buffer->name, row->name);
}

enum wf_status wf_transform_run(const struct wf_pack_buffer *buffer,
                                const struct wf_plan_tensor *from,
                                const struct wf_scope *scope,
                                const void *src,
                                void *dst,
                                struct wf_error *err)
{
    int64_t values[TRANSFORM_MAX_PARAMS];
    enum wf_status st = transform_values(buffer, scope, values, err);
    return st != WF_OK ? st : run(buffer, from, values, src, dst, err);
}

enum wf_status wf_plan_derive(const struct wf_plan *plan,
                              size_t i,
                              const struct wf_plan_tensor *tensors,
                              const void *src,
                              void *dst,
                              struct wf_error *err)
{
    const struct wf_plan_buffer *b = &plan->buffer[i];
    return run(b->source, &tensors[b->from], b->param, src, dst, err);
}
