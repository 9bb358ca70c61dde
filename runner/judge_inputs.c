/* Inputs into device memory, chunk by chunk through the window, and reading back.
 *
 * The digest of what was written stays with the judge; the same bytes must still be
 * there after the launches. All sets get the same inputs. */
#include "runner/judge.h"

#include <stdlib.h>
#include <string.h>

#define COPY_NS (60 * SECOND_NS)

static enum wf_status transfer(struct judge *j,
                               enum wf_sp_command command,
                               uint32_t object,
                               uint64_t offset,
                               uint64_t n,
                               struct wf_error *err)
{
    struct wf_sp_transfer t = { object, 0, (int64_t)offset, n };
    return judge_call(j, command, &t, sizeof(t), COPY_NS, NULL, err);
}

/* Writes what the window holds to the same object of every set. */
static enum wf_status write_all_sets(struct judge *j,
                                     size_t tensor,
                                     uint64_t offset,
                                     uint64_t n,
                                     struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t s = 0; st == WF_OK && s < j->sets; s++) {
        st =
            transfer(j, WF_SP_WRITE, judge_tensor_object(j, s, tensor), offset, n, err);
    }
    uint32_t pristine = judge_pristine_object(j, tensor);
    if (st == WF_OK && pristine != JUDGE_NO_OBJECT) {
        st = transfer(j, WF_SP_WRITE, pristine, offset, n, err);
    }
    return st;
}

static enum wf_status write_range(struct judge *j,
                                  size_t i,
                                  uint64_t seed_offset,
                                  const struct judge_range *r,
                                  struct digest *digest,
                                  struct wf_error *err)
{
    unsigned char *window = subject_client_window(j->subject);
    size_t element = wf_dtype_bytes(wf_case_tensor(j->c, i)->dtype);
    uint64_t chunk = WF_SP_WINDOW_BYTES / element;
    uint64_t end = (r->at + r->bytes) / element;
    enum wf_status st = WF_OK;
    for (uint64_t first = r->at / element; st == WF_OK && first < end; first += chunk) {
        uint64_t n = end - first < chunk ? end - first : chunk;
        st = wf_case_fill(j->c, i, seed_offset, first, n, window, err);
        if (st == WF_OK) {
            digest_add(digest, window, (size_t)n * element);
            st = write_all_sets(j, i, first * element, n * element, err);
        }
    }
    return st;
}

static enum wf_status write_tensor(struct judge *j,
                                   size_t i,
                                   uint64_t seed_offset,
                                   struct wf_error *err)
{
    struct digest digest;
    enum wf_status st = WF_OK;
    digest_start(&digest);
    for (size_t r = 0; st == WF_OK && r < j->touch[i].count; r++) {
        st = write_range(j, i, seed_offset, &j->touch[i].range[r], &digest, err);
    }
    j->input_digest[i] = digest_value(&digest);
    return st;
}

static bool is_filled(const struct judge *j, size_t i, bool index)
{
    enum wf_role role = wf_case_tensor(j->c, i)->role;
    return j->tensor[i].bytes > 0 && role != WF_ROLE_OUTPUT &&
           (role == WF_ROLE_INDEX) == index;
}

static enum wf_status write_role(struct judge *j,
                                 bool index,
                                 uint64_t seed_offset,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        if (is_filled(j, i, index)) {
            st = write_tensor(j, i, seed_offset, err);
        }
    }
    return st;
}

static uint64_t digest_of_indices(const struct judge *j)
{
    struct digest digest;
    digest_start(&digest);
    for (size_t i = 0; i < j->tensor_count; i++) {
        if (is_filled(j, i, true)) {
            digest_add(&digest, &j->input_digest[i], sizeof(j->input_digest[i]));
        }
    }
    return digest_value(&digest);
}

/* Poison over every input that is not structure, for prepare. */
static enum wf_status poison_inputs(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t s = 0; st == WF_OK && s < j->sets; s++) {
        for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
            if (!is_filled(j, i, false)) {
                continue;
            }
            for (size_t r = 0; st == WF_OK && r < j->touch[i].count; r++) {
                st = judge_poison_range(j, judge_tensor_object(j, s, i), i,
                                        &j->touch[i].range[r], err);
            }
        }
    }
    return st;
}

/* --- derived buffers --- */

static enum wf_status write_bytes(struct judge *j,
                                  size_t buffer,
                                  const unsigned char *bytes,
                                  uint64_t n,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (uint64_t at = 0; st == WF_OK && at < n; at += WF_SP_WINDOW_BYTES) {
        uint64_t part = n - at < WF_SP_WINDOW_BYTES ? n - at : WF_SP_WINDOW_BYTES;
        memcpy(subject_client_window(j->subject), bytes + at, (size_t)part);
        for (size_t s = 0; st == WF_OK && s < j->sets; s++) {
            st = transfer(j, WF_SP_WRITE, judge_buffer_object(j, s, buffer), at, part,
                          err);
        }
    }
    return st;
}

static enum wf_status derive(struct judge *j,
                             size_t buffer,
                             uint64_t seed_offset,
                             struct wf_error *err)
{
    const struct wf_plan_buffer *b = &j->plan->buffer[buffer];
    const struct wf_tensor *from = wf_case_tensor(j->c, b->from);
    unsigned char *src = wf_calloc((size_t)from->bytes + 1, 1);
    unsigned char *dst = wf_calloc((size_t)b->bytes + 1, 1);
    enum wf_status st = WF_OK;
    if (!src || !dst) {
        st = wf_errorf(err, WF_ENOMEM, "no memory to derive %s", b->name);
    }
    if (st == WF_OK && from->bytes) {
        st = wf_case_fill(j->c, b->from, seed_offset, 0, from->elements, src, err);
    }
    if (st == WF_OK) {
        st = wf_plan_derive(j->plan, buffer, j->tensor, src, dst, err);
    }
    if (st == WF_OK) {
        st = write_bytes(j, buffer, dst, b->bytes, err);
    }
    free(src);
    free(dst);
    return st;
}

static enum wf_status derive_all(struct judge *j,
                                 uint64_t seed_offset,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < j->plan->buffer_count; i++) {
        const struct wf_plan_buffer *b = &j->plan->buffer[i];
        if (b->kind == WF_BUFFER_DERIVED && b->bytes) {
            st = derive(j, i, seed_offset, err);
        }
    }
    return st;
}

static enum wf_status prepare_library(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (j->kernel->kind == WF_KERNEL_LIBRARY) {
        uint64_t digest = digest_of_indices(j);
        if (!j->inputs_written || digest != j->index_digest) {
            st = poison_inputs(j, err);
            st = st == WF_OK ? judge_library_prepare(j, err) : st;
        }
        j->index_digest = digest;
    }
    return st;
}

/* What the twin must know of the inputs that it finds in its tensors. */
static void tell_twin(const struct judge *j, struct judge *twin)
{
    memcpy(twin->input_digest, j->input_digest,
           j->tensor_count * sizeof(*j->input_digest));
    twin->spliced = j->spliced;
    twin->splice_base = j->splice_base;
    twin->splice_offset = j->splice_offset;
}

enum wf_status judge_write_inputs(struct judge *j,
                                  uint64_t seed_offset,
                                  struct wf_error *err)
{
    struct judge *twin = j->twin;
    enum wf_status st = write_role(j, true, seed_offset, err);
    st = st == WF_OK ? prepare_library(j, err) : st;
    if (st == WF_OK && twin) {
        tell_twin(j, twin);
        st = prepare_library(twin, err);
    }
    if (st == WF_OK) {
        st = write_role(j, false, seed_offset, err);
    }
    if (st == WF_OK) {
        st = derive_all(j, seed_offset, err);
    }
    j->inputs_written = st == WF_OK;
    if (st == WF_OK && twin) {
        tell_twin(j, twin);
        st = derive_all(twin, seed_offset, err);
        twin->inputs_written = st == WF_OK;
    }
    return st;
}

static enum wf_status read_range(struct judge *j,
                                 uint32_t object,
                                 const struct judge_range *r,
                                 uint64_t chunk,
                                 judge_chunk_fn take,
                                 void *ctx,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (uint64_t at = 0; st == WF_OK && at < r->bytes; at += chunk) {
        uint64_t n = r->bytes - at < chunk ? r->bytes - at : chunk;
        st = transfer(j, WF_SP_READ, object, r->at + at, n, err);
        if (st == WF_OK) {
            st = take(ctx, r->at + at, subject_client_window(j->subject), n, err);
        }
    }
    return st;
}

enum wf_status judge_read_object(struct judge *j,
                                 uint32_t object,
                                 uint64_t bytes,
                                 uint64_t chunk_unit,
                                 judge_chunk_fn take,
                                 void *ctx,
                                 struct wf_error *err)
{
    const struct judge_range all = { 0, bytes };
    return read_range(j, object, &all, WF_SP_WINDOW_BYTES / chunk_unit * chunk_unit,
                      take, ctx, err);
}

enum wf_status judge_read_tensor(struct judge *j,
                                 size_t set,
                                 size_t tensor,
                                 judge_chunk_fn take,
                                 void *ctx,
                                 struct wf_error *err)
{
    const struct judge_touch *touch = &j->touch[tensor];
    enum wf_status st = WF_OK;
    for (size_t r = 0; st == WF_OK && r < touch->count; r++) {
        st = read_range(j, judge_tensor_object(j, set, tensor), &touch->range[r],
                        WF_SP_WINDOW_BYTES, take, ctx, err);
    }
    return st;
}
