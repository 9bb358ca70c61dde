/* Library kernels: asking whether the case is supported, and preparing.
 *
 * prepare runs when index tensors hold their values and every other tensor is poison,
 * so that nothing can be computed outside the time; it runs again when index tensors
 * change. */
#include "runner/judge.h"

#include "runner/subject_wire.h"

#include <string.h>

#define QUERY_NS   (60 * SECOND_NS)
#define PREPARE_NS (120 * SECOND_NS)

static enum wf_status add_dims(struct wf_buf *out,
                               const int64_t *dim,
                               int ndim,
                               struct wf_error *err)
{
    int64_t padded[WF_MAX_DIMS] = { 0 };
    memcpy(padded, dim, (size_t)ndim * sizeof(*dim));
    return wf_buf_add(out, padded, sizeof(padded), err);
}

static enum wf_status add_tensor(struct wf_buf *out,
                                 const struct wf_tensor *t,
                                 struct wf_error *err)
{
    enum wf_status st = wire_add_text(out, t->name, err);
    st = st == WF_OK ? wire_add_text(out, wf_dtype_name(t->dtype), err) : st;
    st = st == WF_OK ? wire_add_u64(out, t->bytes, err) : st;
    st = st == WF_OK ? wire_add_u32(out, (uint32_t)t->ndim, err) : st;
    st = st == WF_OK ? add_dims(out, t->dim, t->ndim, err) : st;
    return st == WF_OK ? add_dims(out, t->stride, t->ndim, err) : st;
}

enum wf_status judge_library_query(struct judge *j, struct wf_error *err)
{
    struct wf_buf m = WF_BUF_INIT;
    const struct wf_device *device = j->request->device;
    enum wf_status st = wire_add_u32(&m, j->base.library, err);
    st = st == WF_OK ? wire_add_text(&m, j->kernel->name, err) : st;
    st = st == WF_OK ? wire_add_text(&m, wf_case_op_name(j->c), err) : st;
    st = st == WF_OK ? wire_add_text(&m, wf_case_canonical(j->c), err) : st;
    st = st == WF_OK ? wire_add_text(&m, j->device.arch, err) : st;
    st = st == WF_OK ? wire_add_u32(&m, (uint32_t)device->cu_count, err) : st;
    st = st == WF_OK ? wire_add_u32(&m, (uint32_t)j->tensor_count, err) : st;
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        st = add_tensor(&m, wf_case_tensor(j->c, i), err);
    }
    if (st == WF_OK) {
        st = judge_get(j, WF_SP_LIB_QUERY, m.data, m.len, QUERY_NS,
                       &j->library_workspace_bytes, sizeof(j->library_workspace_bytes),
                       err);
    }
    wf_buf_free(&m);
    return st;
}

/* What the library says that it chose, for the result; the first set's counts. */
static enum wf_status note_choice(struct judge *j,
                                  const struct wf_buf *reply,
                                  struct wf_error *err)
{
    struct wire_in in;
    wire_in_start(&in, reply->data, reply->len);
    const char *text = wire_text(&in);
    enum wf_status st = wire_end(&in, err);
    return st == WF_OK && text[0]
               ? wf_json_set_string(j->result->details, "library_choice", text, err)
               : st;
}

static enum wf_status prepare_set(struct judge *j, size_t set, struct wf_error *err)
{
    struct wf_buf m = WF_BUF_INIT;
    struct wf_buf reply = WF_BUF_INIT;
    enum wf_status st = wire_add_u32(&m, j->base.library, err);
    if (st == WF_OK) {
        st = wire_add_u32(&m, j->base.program + (uint32_t)set, err);
    }
    if (st == WF_OK) {
        st = wire_add_u32(&m, judge_buffer_object(j, 0, j->plan->buffer_count), err);
    }
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        st = wire_add_u32(&m, judge_tensor_object(j, set, i), err);
    }
    if (st == WF_OK) {
        st = judge_call(j, WF_SP_LIB_PREPARE, m.data, m.len, PREPARE_NS, &reply, err);
    }
    if (st == WF_OK && set == 0) {
        st = note_choice(j, &reply, err);
    }
    wf_buf_free(&reply);
    wf_buf_free(&m);
    return st;
}

enum wf_status judge_library_prepare(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t s = 0; st == WF_OK && s < j->sets; s++) {
        st = prepare_set(j, s, err);
    }
    return st;
}
