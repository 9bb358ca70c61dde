/* The attention op: problem, tensors and semantics.
 *
 *   s[i][j] = scale * q_scale * k_scale * sum_d Q[i][d] K[j][d]
 *   s       = soft_cap * tanh(s / soft_cap)              when soft_cap > 0, before
 * masks O[i]    = v_scale * sum_j softmax(s[i])[j] * V[j]    over the visible keys j
 *   lse[i]  = natural log of sum_j exp(s[i][j])
 *
 * for each sequence and query head h, with kv head h / (q_heads / kv_heads).
 *
 * Masks are anchored bottom-right: query i of a sequence stands at key position
 * p = i + kv_len - q_len. causal: j <= p. window_left = W: j >= p - W, so W + 1 keys
 * with causal (a model's "window of w tokens" is window_left = w - 1). window_right =
 * W: j <= p + W. -1 is no limit. A query that sees no key gives O = 0 and lse = -inf.
 *
 * Members of a case (default):
 *   layout        "dense", "ragged" or "paged" (dense)
 *   batch         sequences (dense: 1; else what the dataset holds)
 *   q_len         queries a sequence (1: decode); refused when the dataset has
 * qo_indptr kv_len        keys a sequence; dense only, required there q_heads required;
 * kv_heads divides it (q_heads) head_dim      required;  head_dim_v (head_dim) q_type
 * f32 f16 bf16 or fp8 (f16) kv_type       q_type, or an fp8 type (q_type) o_type f32
 * f16 bf16 (q_type; f16 when that is fp8) scale         (1 / sqrt(head_dim)); a parsed
 * problem always has the number, canonical JSON leaves it out only when it is that very
 * double causal        (false);  window_left, window_right (-1);  soft_cap (0: off) lse
 * also write lse (false) q_scale k_scale v_scale   what one unit of a stored element is
 * worth (1) page_table    "sha256:<hex>" of a dataset; required by ragged and paged
 *   page_size     slots a page (the dataset's metadata page_size; equal when both say
 * it) kv_layout     paged: "NHD" [page][slot][head][d] or "HND" [page][head][slot][d]
 * (NHD)
 *
 * Dataset, all int32 as FlashInfer has them: paged: kv_indptr[batch + 1] in pages,
 * kv_indices, kv_last_page_len[batch], optional qo_indptr[batch + 1]; metadata
 * num_pages (required: the pool is larger than what the table uses) and page_size.
 * ragged: kv_indptr[batch + 1] in tokens, optional qo_indptr. Sequences may share pages
 * and may be empty.
 *
 * Tensors: Q [total_q][q_heads][head_dim]; dense K, V [batch][kv_len][kv_heads][d];
 * ragged K, V [total_kv][kv_heads][d]; paged k_cache, v_cache; qo_indptr, kv_indptr,
 * kv_indices, kv_last_page_len; O [total_q][q_heads][head_dim_v]; lse f32
 * [total_q][q_heads]. Slots that no sequence uses hold poison.
 *
 * Layout members, all in elements (default: dense):
 *   q_token_stride q_head_stride, o_..., k_..., v_...   between tokens (page slots),
 * and between heads k_page_stride v_page_stride   paged only: between pages. A pool
 * that K and V share has twice the dense stride in both q_offset k_offset v_offset
 * o_offset lse_offset   storage begins this far behind an aligned address, as a view
 * into a larger buffer does Steps over smaller dimensions must not overlap; gaps hold
 * poison and are never written. A stride whose dimension has one index still belongs to
 * the case's id.
 *
 * FLOPs: 2 * q_heads * (head_dim + head_dim_v) for each visible (query, key) pair.
 * Bytes: Q, O, lse, the index arrays, and every visible K and V slot once. */
#ifndef WF_KERNELS_ATTENTION_ATTENTION_H
#define WF_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/op.h"

/* X(NAME, text) */
#define ATTENTION_TENSOR_LIST(X)            \
    X(Q, "Q")                               \
    X(K, "K")                               \
    X(V, "V")                               \
    X(K_CACHE, "k_cache")                   \
    X(V_CACHE, "v_cache")                   \
    X(QO_INDPTR, "qo_indptr")               \
    X(KV_INDPTR, "kv_indptr")               \
    X(KV_INDICES, "kv_indices")             \
    X(KV_LAST_PAGE_LEN, "kv_last_page_len") \
    X(O, "O")                               \
    X(LSE, "lse")

enum attention_tensor {
#define X(name, text) ATTENTION_##name,
    ATTENTION_TENSOR_LIST(X)
#undef X
    ATTENTION_TENSOR_COUNT
};

enum attention_layout {
    ATTENTION_DENSE,
    ATTENTION_RAGGED,
    ATTENTION_PAGED
};

/* Tensors that a case may lay out. X(NAME, text, tensor, tensor when paged) */
#define ATTENTION_PLACE_LIST(X) \
    X(Q, "q", Q, Q)             \
    X(K, "k", K, K_CACHE)       \
    X(V, "v", V, V_CACHE)       \
    X(O, "o", O, O)             \
    X(LSE, "lse", LSE, LSE)

enum attention_place_name {
#define X(name, text, dense, paged) ATTENTION_PLACE_##name,
    ATTENTION_PLACE_LIST(X)
#undef X
    ATTENTION_PLACE_COUNT
};

struct attention_place {
    int64_t page, token, head; /* strides in elements; page is 0 unless paged K, V */
    int64_t offset;            /* elements behind an aligned address */
};

/* X(member of the case, place, member of struct attention_place) */
#define ATTENTION_PLACE_MEMBERS(X) \
    X("q_token_stride", Q, token)  \
    X("q_head_stride", Q, head)    \
    X("q_offset", Q, offset)       \
    X("k_page_stride", K, page)    \
    X("k_token_stride", K, token)  \
    X("k_head_stride", K, head)    \
    X("k_offset", K, offset)       \
    X("v_page_stride", V, page)    \
    X("v_token_stride", V, token)  \
    X("v_head_stride", V, head)    \
    X("v_offset", V, offset)       \
    X("o_token_stride", O, token)  \
    X("o_head_stride", O, head)    \
    X("o_offset", O, offset)       \
    X("lse_offset", LSE, offset)

#define ATTENTION_SHA_TEXT 72 /* "sha256:" and 64 digits */

struct attention {
    enum attention_layout layout;
    bool head_major; /* kv_layout HND */
    bool causal, lse;
    bool has_qo_indptr;      /* the dataset sets the query counts, not q_len */
    bool page_size_from_set; /* the dataset's metadata states it */
    int64_t batch, uniform_q_len, uniform_kv_len;
    int64_t q_heads, kv_heads, group, head_dim, head_dim_v;
    enum wf_dtype q_type, kv_type, o_type;
    double scale, soft_cap, q_scale, k_scale, v_scale;
    int64_t window_left, window_right;
    int64_t page_size, num_pages; /* 0 unless paged */
    char page_table[ATTENTION_SHA_TEXT];

    int64_t *q_len, *kv_len;     /* [batch] */
    int64_t *q_start, *kv_start; /* [batch + 1] rows; kv_start is unused when paged */
    int64_t total_q, total_kv, max_q_len, max_kv_len;
    /* Index tensors as they are on the device; NULL when the layout has none. */
    int32_t *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_len;
    int64_t index_count;  /* of kv_indices */
    int32_t *used_slots;  /* [num_pages] leading slots of the page that hold a key */
    int64_t unique_slots; /* sum of used_slots */
    double pairs;         /* visible (query, key) pairs, all sequences, one head */
    double visible_slots; /* sum over sequences of keys that some query sees */
    struct attention_place place[ATTENTION_PLACE_COUNT];
    struct attention_place dense[ATTENTION_PLACE_COUNT]; /* defaults of `place` */
    struct wf_tensor tensor[ATTENTION_TENSOR_COUNT];
};

/* Keys [lo, hi) that a query sees; lo == hi when none. */
struct attention_span {
    int64_t lo, hi;
};
struct attention_span attention_visible(const struct attention *a,
                                        int64_t q_len,
                                        int64_t kv_len,
                                        int64_t i);

/* attention.c */
enum wf_status attention_parse(const struct wf_json *json,
                               const struct wf_dataset_resolver *datasets,
                               void **ret_state,
                               struct wf_error *err);
void attention_free(void *state);

/* attention_table.c: lengths and index arrays, from the members or the dataset. */
enum wf_status attention_load_lengths(struct attention *a,
                                      const struct wf_json *json,
                                      const struct wf_dataset_resolver *datasets,
                                      struct wf_error *err);

/* attention_place.c: strides and offsets from the members of a case; before the
 * shapes. */
enum wf_status attention_read_places(struct attention *a,
                                     const struct wf_json *json,
                                     struct wf_error *err);
enum wf_status attention_put_places(const struct attention *a,
                                    struct wf_json *obj,
                                    struct wf_error *err);
/* Tensor of a place in this layout. */
enum attention_tensor attention_placed(const struct attention *a,
                                       enum attention_place_name i);
/* "q_offset", "k_page_stride", ... and "align_q", ...; false: not one of them. */
bool attention_place_param(const struct attention *a, const char *name, int64_t *ret);
/* Storage element of a row of Q or O, and of a key; in elements. */
int64_t attention_row_at(const struct attention *a,
                         enum attention_place_name i,
                         int64_t row,
                         int64_t head);

/* After the shapes: strides that overlap are refused. */
enum wf_status attention_check_places(const struct attention *a, struct wf_error *err);

/* attention_shape.c */
void attention_name_tensors(struct attention *a); /* names, roles, types */
enum wf_status attention_make_shapes(struct attention *a, struct wf_error *err);
double attention_flops(const void *state);
double attention_bytes(const void *state);

/* attention_describe.c */
enum wf_status attention_canonical(const void *state,
                                   struct wf_json *obj,
                                   struct wf_error *err);
enum wf_status attention_label(const void *state,
                               struct wf_buf *out,
                               struct wf_error *err);
enum wf_status attention_param(const void *state,
                               const char *name,
                               struct wf_value *ret,
                               struct wf_error *err);
const char *attention_layout_name(enum attention_layout layout);

/* attention_inputs.c */
uint64_t attention_run(const void *state, size_t tensor, uint64_t at, bool *ret_used);
enum wf_status attention_fill(const struct wf_case *c,
                              const void *state,
                              size_t tensor,
                              uint64_t seed,
                              uint64_t first,
                              uint64_t n,
                              void *dst,
                              struct wf_error *err);

/* attention_ref.c, attention_check.c */
extern const struct wf_reference_ops attention_reference_ops;

#endif
