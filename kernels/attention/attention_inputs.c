/* Inputs of attention: each element of Q, K and V is drawn by its position in the
 * tensor, so pages that sequences share hold one value and a pool may be filled in any
 * pieces. Slots that hold no key of any sequence get poison: a kernel that reads them
 * shows NaN. */
#include "kernels/attention/attention.h"

#include "kernels/inputs.h"

#include <string.h>

static void copy_indices(const int32_t *from, uint64_t first, uint64_t n, void *dst)
{
    if (n > 0) {
        memcpy(dst, from + first, (size_t)n * sizeof(*from));
    }
}

/* A pool is a row of blocks: a page (NHD), or one head of a page (HND); the leading
 * elements of a block belong to used slots. */
struct pool {
    uint64_t block, slot; /* elements of a block, and of one slot in it */
    uint64_t blocks_a_page;
};

static struct pool pool_of(const struct attention *a, int64_t d)
{
    struct pool p = { 0, (uint64_t)d, 1 };

    if (a->head_major) {
        p.blocks_a_page = (uint64_t)a->kv_heads;
    } else {
        p.slot *= (uint64_t)a->kv_heads;
    }
    p.block = p.slot * (uint64_t)a->page_size;
    return p;
}

static void fill_pool(const struct attention *a,
                      const struct wf_input_stream *stream,
                      int64_t d,
                      uint64_t first,
                      uint64_t n,
                      unsigned char *dst)
{
    struct pool p = pool_of(a, d);
    uint64_t width = wf_dtype_bytes(stream->dtype);

    while (n > 0) {
        uint64_t block = first / p.block, in = first % p.block;
        uint64_t used = (uint64_t)a->used_slots[block / p.blocks_a_page] * p.slot;
        uint64_t end = in < used ? used : p.block;
        uint64_t part = end - in < n ? end - in : n;

        if (in < used) {
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
        wf_inputs_fill(&stream, first, (size_t)n, dst);
        return WF_OK;
    case ATTENTION_K:
    case ATTENTION_V:
        wf_inputs_fill(&stream, first, (size_t)n, dst);
        return WF_OK;
    case ATTENTION_K_CACHE:
        fill_pool(a, &stream, a->head_dim, first, n, dst);
        return WF_OK;
    case ATTENTION_V_CACHE:
        fill_pool(a, &stream, a->head_dim_v, first, n, dst);
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
