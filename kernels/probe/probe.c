/* The probe op: reading, tensors, parameters, inputs. */
#include "kernels/probe/probe.h"

#include "core/buf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES  ((int64_t)1 << 34)
#define MAX_LANES  ((int64_t)1 << 26)
#define MAX_NS     ((int64_t)1000000000)
#define MAX_CLOCKS ((int64_t)2000000000)

#define OF(work)  (1u << PROBE_##work)
#define READ_LIKE (OF(READ) | OF(HBM))
#define LANE_LIKE (OF(CODE) | OF(ALU) | OF(LDS))

/* Members: X(name, kinds of work it belongs to, default, least, most, multiple of). A
 * default of 0 means that it must be given. */
/* clang-format off */
#define MEMBER_LIST(X)                                                        \
    X(bytes,  READ_LIKE,  0,     PROBE_GROUP_BYTES, MAX_BYTES,  PROBE_GROUP_BYTES) \
    X(parts,  READ_LIKE,  1024,  1,                 65536,      1)                 \
    X(lanes,  LANE_LIKE,  65536, 256,               MAX_LANES,  256)               \
    X(steps,  LANE_LIKE,  1024,  1,                 65536,      1)                 \
    X(ns,     OF(SPIN),   0,     1,                 MAX_NS,     1)                 \
    X(clocks, OF(CLOCKS), 0,     1,                 MAX_CLOCKS, 1)
/* clang-format on */

static const struct member {
    const char *name;
    size_t offset;
    unsigned works;
    int64_t otherwise, least, most, multiple;
} MEMBERS[] = {
#define X(name, works, otherwise, least, most, multiple)                   \
    { #name,  offsetof(struct probe, name), (works), (otherwise), (least), \
      (most), (int64_t)(multiple) },
    MEMBER_LIST(X)
#undef X
};

#define MEMBER_COUNT (sizeof(MEMBERS) / sizeof(MEMBERS[0]))

static const char *const WORKS[PROBE_WORK_COUNT] = {
#define X(name, text) text,
    PROBE_WORK_LIST(X)
#undef X
};

static bool belongs(const struct member *m, const struct probe *p)
{
    return (m->works >> p->work & 1) != 0;
}

static int64_t *value_of(struct probe *p, const struct member *m)
{
    return (int64_t *)(void *)((char *)p + m->offset);
}

static enum wf_status read_member(const struct wf_json *json,
                                  struct probe *p,
                                  const struct member *m,
                                  struct wf_error *err)
{
    int64_t v = m->otherwise;
    if (!belongs(m, p)) {
        return wf_json_find(json, m->name)
                   ? wf_errorf(err, WF_EINVAL, "%s has no meaning where work is \"%s\"",
                               m->name, WORKS[p->work])
                   : WF_OK;
    }
    enum wf_status st =
        m->otherwise ? wf_json_opt_i64(json, m->name, m->least, m->most, &v, err)
                     : wf_json_get_i64(json, m->name, m->least, m->most, &v, err);
    if (st == WF_OK && v % m->multiple != 0) {
        st = wf_errorf(err, WF_EINVAL, "%s is %lld; it must be a multiple of %lld",
                       m->name, (long long)v, (long long)m->multiple);
    }
    *value_of(p, m) = v;
    return st;
}

static enum wf_status read_work(const struct wf_json *json,
                                struct probe *p,
                                struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status st = wf_json_get_string(json, "work", &text, err);
    for (int i = 0; st == WF_OK && i < PROBE_WORK_COUNT; i++) {
        if (strcmp(text, WORKS[i]) == 0) {
            p->work = (enum probe_work)i;
            return WF_OK;
        }
    }
    return st == WF_OK ? wf_errorf(err, WF_EINVAL,
                                   "work is \"%.20s\"; it must be \"read\", \"code\", "
                                   "\"spin\", \"clocks\", \"alu\", \"hbm\" or "
                                   "\"lds\"",
                                   text)
                       : st;
}

static void set_tensor(struct probe *p,
                       int which,
                       const char *name,
                       enum wf_role role,
                       int64_t words)
{
    p->tensor[which] = (struct wf_tensor){ .name = name,
                                           .dtype = WF_I32,
                                           .role = role,
                                           .ndim = 1,
                                           .dim = { words },
                                           .stride = { 1 },
                                           .elements = (uint64_t)words,
                                           .bytes = (uint64_t)words * 4,
                                           .optional = true };
}

static int64_t tail_words(int64_t bytes)
{
    const int64_t group = (int64_t)PROBE_GROUP_BYTES;
    const int64_t groups = (bytes / group * PROBE_TAIL_PERCENT + 99) / 100;
    return groups * group / 4;
}

/* Words of X and of Y. */
static void count_words(const struct probe *p, int64_t *ret_in, int64_t *ret_out)
{
    switch (p->work) {
    case PROBE_READ:
    case PROBE_HBM:
        *ret_in = p->bytes / 4 + (p->work == PROBE_HBM ? tail_words(p->bytes) : 0);
        *ret_out = p->parts;
        break;
    case PROBE_CODE:
    case PROBE_ALU:
        *ret_in = *ret_out = p->lanes;
        break;
    case PROBE_LDS:
        *ret_in = (int64_t)PROBE_TABLE * 4;
        *ret_out = p->lanes;
        break;
    case PROBE_SPIN:
    case PROBE_CLOCKS:
    case PROBE_WORK_COUNT:
        *ret_in = 0;
        *ret_out = PROBE_SPIN_WORDS;
        break;
    }
}

static void set_tensors(struct probe *p)
{
    int64_t in = 0, out = 0;
    count_words(p, &in, &out);
    set_tensor(p, PROBE_X, "X", WF_ROLE_INPUT, in);
    set_tensor(p, PROBE_Y, "Y", WF_ROLE_OUTPUT, out);
}

static enum wf_status parse(const struct wf_json *json,
                            const struct wf_dataset_resolver *datasets,
                            void **ret_state,
                            struct wf_error *err)
{
    (void)datasets;
    struct probe *p = wf_calloc(1, sizeof *p);
    if (p == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a probe");
    }
    enum wf_status st = read_work(json, p, err);
    for (size_t i = 0; st == WF_OK && i < MEMBER_COUNT; i++) {
        st = read_member(json, p, &MEMBERS[i], err);
    }
    if (st != WF_OK) {
        free(p);
        return st;
    }
    set_tensors(p);
    *ret_state = p;
    return WF_OK;
}

static int64_t member_value(const struct probe *p, const struct member *m)
{
    int64_t v;
    memcpy(&v, (const char *)p + m->offset, sizeof v);
    return v;
}

static enum wf_status canonical(const void *state,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    const struct probe *p = state;
    enum wf_status st = wf_json_set_string(obj, "work", WORKS[p->work], err);
    for (size_t i = 0; st == WF_OK && i < MEMBER_COUNT; i++) {
        const int64_t v = member_value(p, &MEMBERS[i]);
        if (belongs(&MEMBERS[i], p) && v != MEMBERS[i].otherwise) {
            st = wf_json_set_i64(obj, MEMBERS[i].name, v, err);
        }
    }
    return st;
}

static enum wf_status label(const void *state, struct wf_buf *out, struct wf_error *err)
{
    const struct probe *p = state;
    enum wf_status st = wf_buf_printf(out, err, "probe %s", WORKS[p->work]);
    for (size_t i = 0; st == WF_OK && i < MEMBER_COUNT; i++) {
        if (belongs(&MEMBERS[i], p)) {
            st = wf_buf_printf(out, err, " %s %lld", MEMBERS[i].name,
                               (long long)member_value(p, &MEMBERS[i]));
        }
    }
    return st;
}

static enum wf_status param(const void *state,
                            const char *name,
                            struct wf_value *ret,
                            struct wf_error *err)
{
    const struct probe *p = state;
    if (strcmp(name, "work") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = WORKS[p->work] };
        return WF_OK;
    }
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(name, MEMBERS[i].name) == 0) {
            *ret = (struct wf_value){ .kind = WF_VALUE_INT,
                                      .i = member_value(p, &MEMBERS[i]) };
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_ENOTFOUND, "probe has no parameter \"%.64s\"", name);
}

static size_t tensor_count(const void *state)
{
    (void)state;
    return PROBE_TENSOR_COUNT;
}

static const struct wf_tensor *tensor(const void *state, size_t i)
{
    const struct probe *p = state;
    return &p->tensor[i];
}

static const char *dataset(const void *state)
{
    (void)state;
    return NULL;
}

/* Integer work has no peak in the models' tables: no floor from arithmetic. */
static double flops(const void *state)
{
    (void)state;
    return 0;
}

static double bytes(const void *state)
{
    const struct probe *p = state;
    const double out = (double)p->tensor[PROBE_Y].bytes;
    return out +
           (p->work == PROBE_HBM ? (double)p->bytes : (double)p->tensor[PROBE_X].bytes);
}

static enum wf_dtype math_type(const void *state)
{
    (void)state;
    return WF_I32;
}

void probe_words(uint64_t seed, uint64_t first, uint64_t n, uint32_t *dst)
{
    for (uint64_t i = 0; i < n; i++) {
        /* Splitmix64's mixing of the position: any split gives the same words. */
        uint64_t z = seed + (first + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        dst[i] = (uint32_t)(z ^ (z >> 31));
    }
}

static enum wf_status fill(const struct wf_case *c,
                           const void *state,
                           size_t which,
                           uint64_t seed,
                           uint64_t first,
                           uint64_t n,
                           void *dst,
                           struct wf_error *err)
{
    (void)c;
    (void)state;
    (void)which;
    (void)err;
    probe_words(seed, first, n, dst);
    return WF_OK;
}

static const char *const KEYS[] = { "work",
#define X(name, works, otherwise, least, most, multiple) #name,
                                    MEMBER_LIST(X)
#undef X
                                        NULL };

const struct wf_op wf_op_probe = {
    .name = "probe",
    .summary = "work of which everything is known, to measure the measuring",
    .keys = KEYS,
    .params = KEYS,
    .parse = parse,
    .free_state = free,
    .canonical = canonical,
    .dataset = dataset,
    .label = label,
    .tensor_count = tensor_count,
    .tensor = tensor,
    .param = param,
    .flops = flops,
    .bytes = bytes,
    .math_type = math_type,
    .fill = fill,
    .reference = &probe_reference_ops,
};
