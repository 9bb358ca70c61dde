/* Collects rows of Q, K and V as doubles, from wherever they lie: dense, ragged or
 * paged. The address rule of each layout is written here once more, apart from every
 * kernel. */
#include "kernels/attention/attention_ref.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

enum wf_status attention_gather_init(struct attention_gather *g,
                                     const struct attention *a,
                                     const struct attention_source *source,
                                     struct wf_error *err)
{
    int64_t widest = a->head_dim > a->head_dim_v ? a->head_dim : a->head_dim_v;

    g->a = a;
    g->source = source;
    g->raw_elements = (uint64_t)widest < 16384 ? 16384 : (uint64_t)widest;
    g->raw = wf_calloc((size_t)g->raw_elements, sizeof(float));
    return g->raw ? WF_OK
                  : wf_errorf(err, WF_ENOMEM, "out of memory for attention inputs");
}

void attention_gather_fini(struct attention_gather *g)
{
    free(g->raw);
    g->raw = NULL;
}

static enum wf_status read_run(struct attention_gather *g,
                               size_t tensor,
                               uint64_t first,
                               uint64_t n,
                               double *dst,
                               struct wf_error *err)
{
    enum wf_dtype type = g->a->tensor[tensor].dtype;

    while (n > 0) {
        uint64_t part = n < g->raw_elements ? n : g->raw_elements;
        enum wf_status st =
            g->source->read(g->source->ctx, tensor, first, part, g->raw, err);

        if (st != WF_OK) {
            return st;
        }
        wf_to_f64(type, g->raw, dst, (size_t)part);
        first += part;
        dst += part;
        n -= part;
    }
    return WF_OK;
}

enum wf_status attention_gather_q(struct attention_gather *g,
                                  int64_t b,
                                  int64_t i,
                                  int64_t h,
                                  double *dst,
                                  struct wf_error *err)
{
    const struct attention *a = g->a;
    int64_t at = attention_row_at(a, ATTENTION_PLACE_Q, a->q_start[b] + i, h);

    return read_run(g, ATTENTION_Q, (uint64_t)at, (uint64_t)a->head_dim, dst, err);
}

/* Storage element where key j begins, and how many following keys lie straight behind
 * it: d elements each. */
static int64_t locate(const struct attention *a,
                      const struct attention_keys *keys,
                      int64_t j,
                      int64_t *ret_run)
{
    const struct attention_place *p =
        &a->place[keys->values ? ATTENTION_PLACE_V : ATTENTION_PLACE_K];
    int64_t b = keys->sequence, page, slot;
    bool dense = p->token == (keys->values ? a->head_dim_v : a->head_dim);

    if (a->layout != ATTENTION_PAGED) {
        *ret_run = dense ? INT64_MAX : 1;
        return (a->kv_start[b] + j) * p->token + keys->kv_head * p->head;
    }
    page = j / a->page_size;
    slot = j % a->page_size;
    if (keys->pages == ATTENTION_PAGES_IDENTITY) {
        page = (a->kv_indptr[b] + page) % a->num_pages;
    } else {
        page = a->kv_indices[a->kv_indptr[b] + page];
    }
    *ret_run = dense ? a->page_size - slot : 1;
    return page * p->page + slot * p->token + keys->kv_head * p->head;
}

enum wf_status attention_gather_kv(struct attention_gather *g,
                                   const struct attention_keys *keys,
                                   double *dst,
                                   struct wf_error *err)
{
    const struct attention *a = g->a;
    int64_t d = keys->values ? a->head_dim_v : a->head_dim;
    int64_t j = keys->first, end = keys->first + keys->count;
    size_t tensor = a->layout == ATTENTION_PAGED ? ATTENTION_K_CACHE : ATTENTION_K;

    if (keys->values) {
        tensor++; /* V follows K in both pairs */
    }
    while (j < end) {
        int64_t run = 1, at = locate(a, keys, j, &run);
        enum wf_status st;

        run = run < end - j ? run : end - j;
        st = read_run(g, tensor, (uint64_t)at, (uint64_t)(run * d), dst, err);
        if (st != WF_OK) {
            return st;
        }
        dst += run * d;
        j += run;
    }
    return WF_OK;
}
