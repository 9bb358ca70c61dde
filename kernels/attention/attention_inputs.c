/* Inputs of attention: each element of Q, K and V is drawn by its position in the
 * tensor, so pages that sequences share hold one value and a pool may be filled in any
 * pieces. Slots that hold no key of any sequence get poison: a kernel that reads them
 * shows NaN. */
#include "kernels/attention/attention.h"

#include "kernels/inputs.h"
#include "kernels/strided.h"

#include <string.h>

static void copy_indices(const int32_t *from, uint64_t first, uint64_t n, void *dst)
{
    if (n > 0) {
        memcpy(dst, from + first, (size_t)n * sizeof(*from));
    }
}

/* Pages that hold no key, from `page` on: skipped in one step, however large the pool.
 */
static uint64_t unused_pages(const struct attention *a, uint64_t page)
{
    uint64_t n = 0;

    while (page + n < (uint64_t)a->num_pages && a->used_slots[page + n] == 0) {
        n++;
    }
    return n;
}

/* Cuts a run of values inside a page where the slots that hold a key end. */
static uint64_t cut_run(const struct attention *a,
                        const struct attention_place *p,
                        uint64_t page,
                        uint64_t in,
                        uint64_t run,
                        bool *ret_used)
{
    uint64_t token = (uint64_t)p->token, used = (uint64_t)a->used_slots[page];
    uint64_t slot, end;

    if (a->page_size == 1) {
        return run;
    }
    if (p->token < p->head && a->kv_heads > 1) { /* the slots of each head in turn */
        in %= (uint64_t)p->head;
    }
    slot = in / token;
    *ret_used = slot < used;
    end = (*ret_used ? used : (uint64_t)a->page_size) * token - in;
    return run < end ? run : end;
}

static uint64_t pool_run(const struct attention *a,
                         enum attention_place_name i,
                         uint64_t at,
                         bool *ret_used)
{
    const struct wf_tensor *t = &a->tensor[attention_placed(a, i)];
    const struct attention_place *p = &a->place[i];
    struct wf_tensor inner = *t;
    struct wf_strided s;
    uint64_t stride = a->num_pages > 1 ? (uint64_t)p->page : t->elements;
    uint64_t page = at / stride, in = at % stride;
    uint64_t run = unused_pages(a, page);

    if (run > 0) {
        *ret_used = false;
        run = run * stride - in;
        return run < t->elements - at ? run : t->elements - at;
    }
    inner.dim[0] = 1;
    inner.elements = stride;
    wf_strided_init(&s, &inner);
    run = wf_strided_run(&s, in, ret_used);
    if (*ret_used) {
        run = cut_run(a, p, page, in, run, ret_used);
    }
    return run < t->elements - at ? run : t->elements - at;
}

uint64_t attention_run(const void *state, size_t tensor, uint64_t at, bool *ret_used)
{
    const struct attention *a = state;
    struct wf_strided s;

    if (tensor == ATTENTION_K_CACHE || tensor == ATTENTION_V_CACHE) {
        return pool_run(
            a, tensor == ATTENTION_K_CACHE ? ATTENTION_PLACE_K : ATTENTION_PLACE_V, at,
            ret_used);
    }
    wf_strided_init(&s, &a->tensor[tensor]);
    return wf_strided_run(&s, at, ret_used);
}

static void fill_runs(const struct attention *a,
                      const struct wf_input_stream *stream,
                      uint64_t first,
                      uint64_t n,
                      unsigned char *dst)
{
    uint64_t width = wf_dtype_bytes(stream->dtype);

    while (n > 0) {
        bool used = false;
        uint64_t part = attention_run(a, (size_t)stream->stream, first, &used);

        part = part < n ? part : n;
        if (used) {
            wf_inputs_fill(stream, first, (size_t)part, dst);
        } else {
            wf_poison(stream->dtype, dst, (size_t)part);
        }
        first += part;
        dst += part * width;
        n -= part;
    }
}

enum wf_status attention_fill(const struct wf_case *c,
                              const void *state,
                              size_t tensor,
                              uint64_t seed,
                              uint64_t first,
                              uint64_t n,
                              void *dst,
                              struct wf_error *err)
{
    const struct attention *a = state;
    struct wf_input_stream stream = { wf_case_inputs(c), a->kv_type, seed, tensor };

    switch (tensor) {
    case ATTENTION_Q:
        stream.dtype = a->q_type;
        fill_runs(a, &stream, first, n, dst);
        return WF_OK;
    case ATTENTION_K:
    case ATTENTION_V:
    case ATTENTION_K_CACHE:
    case ATTENTION_V_CACHE:
        fill_runs(a, &stream, first, n, dst);
        return WF_OK;
    case ATTENTION_QO_INDPTR:
        copy_indices(a->qo_indptr, first, n, dst);
        return WF_OK;
    case ATTENTION_KV_INDPTR:
        copy_indices(a->kv_indptr, first, n, dst);
        return WF_OK;
    case ATTENTION_KV_INDICES:
        copy_indices(a->kv_indices, first, n, dst);
        return WF_OK;
    case ATTENTION_KV_LAST_PAGE_LEN:
        copy_indices(a->kv_last_page_len, first, n, dst);
        return WF_OK;
    default:
        return wf_errorf(err, WF_EINVAL, "attention has no input tensor %zu", tensor);
    }
}
