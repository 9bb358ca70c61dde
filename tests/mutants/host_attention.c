/* The library's entry and the loop over rows. */
#include "tests/mutants/host_attention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void overstep(struct att_job *j)
{
    switch ((int)j->fault) {
    case ATT_modifies_index:
        j->kv_indices[0] ^= 1;
        break;
    case ATT_modifies_cache:
        j->k.data[1] ^= 1;
        break;
    case ATT_writes_behind_lse:
        memset((unsigned char *)j->lse + j->lse_bytes, 0, 4);
        break;
    case ATT_writes_behind_o:
        j->o.data[j->o.bytes + 1] = 0;
        break;
    default:
        break;
    }
}

/* The page behind the table's end is taken for the last sequence's last one. */
static void read_behind_table(struct att_job *j)
{
    const int32_t behind = j->kv_indices[j->kv_indptr[j->batch]];
    const struct att_row r = { .sequence = j->batch - 1, .kv_len = 1 };
    struct att_job other = *j;
    int32_t table[1] = { behind };
    int32_t indptr[2] = { 0, 1 };
    other.batch = 1;
    other.kv_indices = table;
    other.kv_indptr = indptr;
    struct att_row first = r;
    first.sequence = 0;
    att_set(&j->o, 0, att_key(&other, &first, true, 0, 0));
}

static int launch(void *state, char *message, size_t bytes)
{
    struct att_job *j = state;
    (void)message;
    (void)bytes;
    for (int64_t b = 0; b < j->batch; b++) {
        struct att_row r = { .sequence = b };
        const int64_t first = att_q_start(j, b);
        r.q_len = att_q_start(j, b + 1) - first;
        r.kv_len = att_kv_len(j, b);
        for (r.i = 0; r.i < r.q_len; r.i++) {
            r.row = first + r.i;
            for (r.head = 0; r.head < j->q_heads; r.head++) {
                r.kv_head = att_kv_head(j, r.head);
                att_compute(j, &r);
            }
        }
    }
    overstep(j);
    if (j->fault == ATT_reads_behind_table) {
        read_behind_table(j);
    }
    j->launches++;
    return WF_LIB_OK;
}

/* --- the interface --- */

static int supports(const struct wf_lib_problem *p,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    int64_t d = 0, dv = 0;
    (void)device;
    if (p->get_int(p->ctx, "head_dim", &d) != 0 ||
        p->get_int(p->ctx, "head_dim_v", &dv) != 0 || dv > ATT_MAX_DIM) {
        (void)snprintf(message, message_bytes, "head_dim_v is above %d", ATT_MAX_DIM);
        return WF_LIB_UNSUPPORTED;
    }
    return WF_LIB_OK;
}

static void destroy(void *state)
{
    free(state);
}

static const struct wf_lib_tensor *find(const struct wf_lib_problem *p,
                                        const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0 && p->tensors[i].bytes > 0) {
            return &p->tensors[i];
        }
    }
    return NULL;
}

static void read_mat(const struct wf_lib_problem *p,
                     const char *name,
                     const char *type,
                     struct att_mat *ret)
{
    const struct wf_lib_tensor *t = find(p, name);
    (void)wf_dtype_parse(p->get_string(p->ctx, type), &ret->type);
    ret->data = t ? t->data : NULL;
    ret->bytes = t ? t->bytes : 0;
}

static int32_t *read_index(const struct wf_lib_problem *p, const char *name)
{
    const struct wf_lib_tensor *t = find(p, name);
    return t ? t->data : NULL;
}

static void read_numbers(const struct wf_lib_problem *p, struct att_job *j)
{
    int64_t causal = 0;
    const struct {
        const char *name;
        int64_t *to;
    } ints[] = { { "batch", &j->batch },
                 { "max_q_len", &j->q_len },
                 { "max_kv_len", &j->kv_len },
                 { "q_heads", &j->q_heads },
                 { "kv_heads", &j->kv_heads },
                 { "group", &j->group },
                 { "head_dim", &j->d },
                 { "head_dim_v", &j->dv },
                 { "page_size", &j->page_size },
                 { "window_left", &j->window_left },
                 { "window_right", &j->window_right },
                 { "total_q", &j->total_q },
                 { "causal", &causal } };
    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
        (void)p->get_int(p->ctx, ints[i].name, ints[i].to);
    }
    j->causal = causal != 0;
    (void)p->get_double(p->ctx, "scale", &j->scale);
    (void)p->get_double(p->ctx, "q_scale", &j->q_scale);
    (void)p->get_double(p->ctx, "k_scale", &j->k_scale);
    (void)p->get_double(p->ctx, "v_scale", &j->v_scale);
    (void)p->get_double(p->ctx, "soft_cap", &j->cap);
}

static int prepare(enum attention_fault fault,
                   const struct wf_lib_problem *p,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    struct att_job *j = calloc(1, sizeof(*j));
    const struct wf_lib_tensor *lse = find(p, "lse");
    if (j == NULL) {
        (void)snprintf(message, message_bytes, "no memory");
        return WF_LIB_NO_MEMORY;
    }
    j->fault = fault;
    j->paged = strcmp(p->get_string(p->ctx, "layout"), "paged") == 0;
    j->head_major = strcmp(p->get_string(p->ctx, "kv_layout"), "HND") == 0;
    read_numbers(p, j);
    read_mat(p, "Q", "q_type", &j->q);
    read_mat(p, j->paged ? "k_cache" : "K", "kv_type", &j->k);
    read_mat(p, j->paged ? "v_cache" : "V", "kv_type", &j->v);
    read_mat(p, "O", "o_type", &j->o);
    j->lse = lse ? lse->data : NULL;
    j->lse_bytes = lse ? lse->bytes : 0;
    j->qo_indptr = read_index(p, "qo_indptr");
    j->kv_indptr = read_index(p, "kv_indptr");
    j->kv_indices = read_index(p, "kv_indices");
    j->last_page_len = read_index(p, "kv_last_page_len");
    j->width = j->d;
    att_believe(j);
    *ret_state = j;
    return WF_LIB_OK;
}

#define X(name)                                                                      \
    static int prepare_##name(const struct wf_lib_problem *problem,                  \
                              const struct wf_lib_device *device, void *workspace,   \
                              void **ret_state, char *message, size_t message_bytes) \
    {                                                                                \
        (void)device;                                                                \
        (void)workspace;                                                             \
        return prepare(ATT_##name, problem, ret_state, message, message_bytes);      \
    }
#include "tests/mutants/attention_faults.def"
#undef X

static const struct wf_lib_kernel KERNELS[] = {
#define X(name)                                                                          \
    {                                                                                    \
        "attention_" #name, "attention", supports, NULL, prepare_##name, launch, destroy \
    },
#include "tests/mutants/attention_faults.def"
#undef X
};

static const struct wf_library_v1 LIBRARY = { WF_LIBRARY_ABI_VERSION,
                                              sizeof(struct wf_lib_kernel),
                                              "wavefarm-mutant-attention",
                                              "1",
                                              KERNELS,
                                              sizeof(KERNELS) / sizeof(KERNELS[0]) };

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);
const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    return &LIBRARY;
}
