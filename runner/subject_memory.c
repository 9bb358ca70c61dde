/* Device memory of the subject: objects with guard zones, transfers through the window,
 * fills and the reset list.
 *
 * An object is one allocation [guard | base | bytes | guard]; ranges may reach into the
 * guard zones and never beyond. Fills are enqueued on the device: a small block of the
 * pattern is copied to the front and then doubled, so that the stream stays busy and no
 * large host copy is needed. */
#include "runner/subject.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_BLOCK_BYTES (64u << 10)

static enum wf_status find_object(const struct subject *s,
                                  uint32_t index,
                                  const struct subject_object **ret,
                                  struct wf_error *err)
{
    if (index >= WF_SP_MAX_OBJECTS || !s->object[index].base) {
        return wf_errorf(err, WF_EINVAL, "no object %u", index);
    }
    *ret = &s->object[index];
    return WF_OK;
}

/* The first byte of a range that must lie in the object or its guard zones. */
static enum wf_status find_range(const struct subject *s,
                                 uint32_t index,
                                 int64_t offset,
                                 uint64_t bytes,
                                 char **ret,
                                 struct wf_error *err)
{
    const struct subject_object *object = NULL;
    enum wf_status st = find_object(s, index, &object, err);
    if (st != WF_OK) {
        return st;
    }
    int64_t low = -(int64_t)(object->guard_bytes + object->base_bytes);
    int64_t high = (int64_t)(object->bytes + object->guard_bytes);
    if (offset < low || offset > high || bytes > (uint64_t)(high - offset)) {
        return wf_errorf(err, WF_EINVAL,
                         "range %" PRId64 " + %" PRIu64
                         " is outside object %u of %" PRIu64 " bytes",
                         offset, bytes, index, object->bytes);
    }
    *ret = object->first + offset;
    return WF_OK;
}

enum wf_status subject_address(const struct subject *s,
                               uint32_t object,
                               char **ret,
                               struct wf_error *err)
{
    *ret = NULL;
    return object == SUBJECT_NO_OBJECT ? WF_OK : find_range(s, object, 0, 0, ret, err);
}

enum wf_status subject_alloc(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    struct wf_sp_alloc want;
    (void)out;
    wire_take(in, &want, sizeof(want));
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        return st;
    }
    if (want.object >= WF_SP_MAX_OBJECTS || s->object[want.object].base ||
        want.guard_bytes > WF_SP_MAX_GUARD || want.guard_bytes % 4096 != 0 ||
        want.base_bytes >= WF_SP_MAX_BASE) {
        return wf_errorf(err, WF_EINVAL,
                         "cannot make object %u of %" PRIu64 " bytes with guard %u",
                         want.object, want.bytes, want.guard_bytes);
    }
    void *base = NULL;
    hipError_t code = hipErrorOutOfMemory; /* more than any address reaches */
    if (want.bytes <= INT64_MAX / 2) {
        uint64_t all = want.bytes + want.base_bytes + 2 * (uint64_t)want.guard_bytes;
        code = s->hip.hipMalloc(&base, all > 0 ? (size_t)all : 1);
    }
    st = wf_hip_check(&s->hip, code, "hipMalloc", err);
    if (st != WF_OK) {
        return wf_error_prefix(err, "%" PRIu64 " bytes", want.bytes);
    }
    s->object[want.object] =
        (struct subject_object){ base,
                                 (char *)base + want.guard_bytes + want.base_bytes,
                                 want.bytes, want.guard_bytes, want.base_bytes };
    return WF_OK;
}

static void free_object(struct subject *s, struct subject_object *object)
{
    if (object->base) {
        (void)s->hip.hipFree(object->base);
        memset(object, 0, sizeof(*object));
    }
}

enum wf_status subject_free(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    struct wf_sp_index which;
    const struct subject_object *object = NULL;
    (void)out;
    wire_take(in, &which, sizeof(which));
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK) {
        st = find_object(s, which.index, &object, err);
    }
    if (st == WF_OK) {
        free_object(s, &s->object[which.index]);
    }
    return st;
}

static enum wf_status transfer(struct subject *s,
                               struct wire_in *in,
                               bool to_window,
                               struct wf_error *err)
{
    struct wf_sp_transfer t;
    char *at = NULL;
    wire_take(in, &t, sizeof(t));
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK && t.bytes > WF_SP_WINDOW_BYTES) {
        st = wf_errorf(err, WF_EINVAL, "%" PRIu64 " bytes do not fit the window",
                       t.bytes);
    }
    if (st == WF_OK) {
        st = find_range(s, t.object, t.offset, t.bytes, &at, err);
    }
    if (st != WF_OK) {
        return st;
    }
    hipError_t code =
        to_window
            ? s->hip.hipMemcpy(s->window, at, (size_t)t.bytes, hipMemcpyDeviceToHost)
            : s->hip.hipMemcpy(at, s->window, (size_t)t.bytes, hipMemcpyHostToDevice);
    return wf_hip_check(&s->hip, code, "hipMemcpy", err);
}

enum wf_status subject_write(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    (void)out;
    return transfer(s, in, false, err);
}

enum wf_status subject_read(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    (void)out;
    return transfer(s, in, true, err);
}

/* --- fills --- */

static enum wf_status make_pattern(struct subject *s,
                                   const struct wf_sp_fill *fill,
                                   struct subject_pattern *ret,
                                   struct wf_error *err)
{
    unsigned char *image = wf_calloc(1, PATTERN_BLOCK_BYTES);
    if (!image) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a pattern");
    }
    for (size_t i = 0; i < PATTERN_BLOCK_BYTES; i++) {
        image[i] = fill->pattern[i % fill->pattern_bytes];
    }
    memcpy(ret->pattern, fill->pattern, sizeof(ret->pattern));
    ret->pattern_bytes = fill->pattern_bytes;
    ret->block = NULL;
    enum wf_status st = wf_hip_check(
        &s->hip, s->hip.hipMalloc(&ret->block, PATTERN_BLOCK_BYTES), "hipMalloc", err);
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip,
                          s->hip.hipMemcpy(ret->block, image, PATTERN_BLOCK_BYTES,
                                           hipMemcpyHostToDevice),
                          "hipMemcpy", err);
    }
    free(image);
    return st;
}

static enum wf_status find_pattern(struct subject *s,
                                   const struct wf_sp_fill *fill,
                                   void **ret,
                                   struct wf_error *err)
{
    for (size_t i = 0; i < s->pattern_count; i++) {
        struct subject_pattern *p = &s->pattern[i];
        if (p->pattern_bytes == fill->pattern_bytes &&
            memcmp(p->pattern, fill->pattern, fill->pattern_bytes) == 0) {
            *ret = p->block;
            return WF_OK;
        }
    }
    if (s->pattern_count == SUBJECT_MAX_PATTERNS) {
        return wf_errorf(err, WF_ERANGE, "more than %u fill patterns",
                         SUBJECT_MAX_PATTERNS);
    }
    struct subject_pattern *p = &s->pattern[s->pattern_count];
    enum wf_status st = make_pattern(s, fill, p, err);
    if (p->block) {
        s->pattern_count++;
    }
    *ret = p->block;
    return st;
}

static hipError_t copy_async(struct subject *s,
                             char *dst,
                             const void *src,
                             uint64_t bytes)
{
    return s->hip.hipMemcpyAsync(dst, src, (size_t)bytes, hipMemcpyDeviceToDevice,
                                 s->stream);
}

enum wf_status subject_copy(struct subject *s,
                            const struct wf_sp_step *step,
                            struct wf_error *err)
{
    char *to = NULL;
    char *from = NULL;
    enum wf_status st =
        find_range(s, step->object, step->offset, step->bytes, &to, err);
    if (st == WF_OK) {
        st = find_range(s, step->source, step->from, step->bytes, &from, err);
    }
    return st == WF_OK ? wf_hip_check(&s->hip, copy_async(s, to, from, step->bytes),
                                      "copy", err)
                       : st;
}

static enum wf_status enqueue_pattern(struct subject *s,
                                      const struct wf_sp_fill *fill,
                                      char *at,
                                      struct wf_error *err)
{
    void *block = NULL;
    enum wf_status st = find_pattern(s, fill, &block, err);
    if (st != WF_OK) {
        return st;
    }
    uint64_t done =
        fill->bytes < PATTERN_BLOCK_BYTES ? fill->bytes : PATTERN_BLOCK_BYTES;
    hipError_t code = copy_async(s, at, block, done);
    while (code == hipSuccess && done < fill->bytes) {
        uint64_t n = fill->bytes - done < done ? fill->bytes - done : done;
        code = copy_async(s, at + done, at, n);
        done += n;
    }
    return wf_hip_check(&s->hip, code, "fill", err);
}

static enum wf_status enqueue_fill(struct subject *s,
                                   const struct wf_sp_fill *fill,
                                   struct wf_error *err)
{
    char *at = NULL;
    char *from = NULL;
    enum wf_status st =
        find_range(s, fill->object, fill->offset, fill->bytes, &at, err);
    if (st != WF_OK || fill->bytes == 0) {
        return st;
    }
    switch (fill->pattern_bytes) {
    case 0:
        st = find_range(s, fill->source, fill->offset, fill->bytes, &from, err);
        return st == WF_OK ? wf_hip_check(&s->hip, copy_async(s, at, from, fill->bytes),
                                          "copy", err)
                           : st;
    case 1:
        return wf_hip_check(
            &s->hip,
            s->hip.hipMemsetAsync(at, fill->pattern[0], (size_t)fill->bytes, s->stream),
            "hipMemsetAsync", err);
    case 2:
    case 4:
    case 8:
        return enqueue_pattern(s, fill, at, err);
    default:
        return wf_errorf(err, WF_EINVAL, "a pattern of %u bytes", fill->pattern_bytes);
    }
}

enum wf_status subject_fill(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    struct wf_sp_fill fill;
    (void)out;
    wire_take(in, &fill, sizeof(fill));
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK) {
        st = enqueue_fill(s, &fill, err);
    }
    return st == WF_OK ? wf_hip_check(&s->hip, s->hip.hipStreamSynchronize(s->stream),
                                      "hipStreamSynchronize", err)
                       : st;
}

enum wf_status subject_set_reset(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    (void)out;
    uint32_t count = wire_u32(in);
    if (count > WF_SP_MAX_OBJECTS) {
        return wf_errorf(err, WF_EINVAL, "%u resets", count);
    }
    struct wf_sp_fill *list = wf_calloc(count ? count : 1, sizeof(*list));
    if (!list) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %u resets", count);
    }
    wire_take(in, list, count * sizeof(*list));
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        free(list);
        return st;
    }
    free(s->reset);
    s->reset = list;
    s->reset_count = count;
    return WF_OK;
}

enum wf_status subject_reset(struct subject *s, struct wf_error *err)
{
    return subject_reset_sets(s, 0, 0, 0, err);
}

/* Hundreds of fills before a batch of a few launches would leave the device waiting for
 * the host, and the batch would measure that. */
enum wf_status subject_reset_sets(struct subject *s,
                                  uint32_t first,
                                  uint32_t count,
                                  uint32_t set_count,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < s->reset_count; i++) {
        const uint32_t set = s->reset[i].set;
        const bool turns = set_count > 0 && set > 0 && set <= set_count;
        const uint32_t behind = turns ? (set - 1 + set_count - first) % set_count : 0;
        if (set_count == 0 || set == 0 || behind < count) {
            st = enqueue_fill(s, &s->reset[i], err);
        }
    }
    return st;
}

void subject_memory_destroy(struct subject *s)
{
    for (size_t i = 0; i < s->pattern_count; i++) {
        (void)s->hip.hipFree(s->pattern[i].block);
    }
    s->pattern_count = 0;
    for (size_t i = 0; s->object && i < WF_SP_MAX_OBJECTS; i++) {
        free_object(s, &s->object[i]);
    }
    free(s->reset);
    s->reset = NULL;
    s->reset_count = 0;
}

enum wf_status subject_clear(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    (void)out;
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK && s->open) {
        st = wf_hip_check(&s->hip, s->hip.hipDeviceSynchronize(),
                          "hipDeviceSynchronize", err);
    }
    if (st == WF_OK) {
        subject_programs_destroy(s);
        subject_libs_forget(s);
        subject_memory_destroy(s);
        wf_buf_clear(&s->reports);
    }
    return st;
}
