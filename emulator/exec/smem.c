/* Scalar memory: loads, stores and atomics of one value (or up to 16 dwords) for the
 * whole wave. Registers get their values at once; the shadow knows them as on their
 * way.
 *
 * Without a resource every access has to be in an allocation. With one (s_buffer_*)
 * what is outside of the resource reads 0 and is not written, dword by dword, and what
 * is inside of it has to be in an allocation. */
#include "emulator/check/race.h"
#include "emulator/exec/scalar_internal.h"
#include "emulator/launch/group.h"

#include <inttypes.h>

/* Where an instruction accesses memory, and how much of it its resource lets through.
 */
struct place {
    uint64_t address;
    unsigned inside; /* dwords */
};

static enum em_flow use_operands(struct em_wave *w, const struct em_op *op, bool stores)
{
    const uint64_t all = ~UINT64_C(0);
    if (em_shadow_use(w, op, op->in.src[0], all, "address") != EM_GO ||
        em_shadow_use(w, op, op->in.src[1], all, "address") != EM_GO) {
        return EM_FAULTED;
    }
    return stores ? em_shadow_use(w, op, op->in.src[2], all, "stored value") : EM_GO;
}

static uint64_t offset_of(const struct em_wave *w, const struct em_op *op)
{
    uint64_t offset = (uint64_t)(int64_t)op->in.offset;
    unsigned code = op->in.src[1].code;
    return code < EM_SCALARS ? offset + w->s[code] : offset;
}

/* The first of the dwords [offset, offset + 4 * dwords) that is outside of the
 * resource's bytes. */
static unsigned dwords_inside(uint64_t offset, unsigned dwords, uint64_t bytes)
{
    if (offset >= bytes) {
        return 0;
    }
    uint64_t fit = (bytes - offset) / 4;
    return fit < dwords ? (unsigned)fit : dwords;
}

static struct place place_of(const struct em_wave *w,
                             const struct em_op *op,
                             unsigned dwords)
{
    const uint32_t *s = &w->s[op->in.src[0].code];
    uint64_t offset = offset_of(w, op);
    struct place p = { .inside = dwords };
    if (op->in.src[0].dwords < 4) {
        p.address = em_s64(w, op->in.src[0].code) + offset;
        return p;
    }
    uint64_t base = s[0] | (uint64_t)(s[1] & 0xffff) << 32;
    uint64_t stride = s[1] >> 16 & 0x3fff;
    p.address = base + offset;
    p.inside = dwords_inside(offset, dwords, stride ? stride * s[2] : s[2]);
    return p;
}

/* The race check of `dwords` at `address`. */
static enum em_flow check_race(struct em_wave *w,
                               const struct em_op *op,
                               uint64_t address,
                               unsigned dwords,
                               enum em_access_kind kind,
                               const void *data)
{
    if (!w->group->global_shadow) {
        return EM_GO;
    }
    uint64_t addresses[EM_LANES];
    for (unsigned i = 0; i < EM_LANES; i++) {
        addresses[i] = address + 4 * (uint64_t)i;
    }
    /* One lane a dword: no access of a lane is wider than four. */
    struct em_access access = {
        .lanes = (UINT64_C(1) << dwords) - 1,
        .address = addresses,
        .bytes = 4,
        .kind = kind,
        .data = data,
        .stride = 4,
    };
    if (kind == EM_ATOMIC) {
        access.lanes = 1;
        access.bytes = dwords * 4;
    }
    return em_race_global(w, op, &access);
}

static enum em_flow check(struct em_wave *w,
                          const struct em_op *op,
                          const struct place *p,
                          enum em_access_kind kind,
                          const void *data)
{
    if (w->shadow && use_operands(w, op, kind != EM_READ) != EM_GO) {
        return EM_FAULTED;
    }
    if (p->inside == 0) {
        return EM_GO;
    }
    if (p->address % 4 != 0) {
        return em_fault(w, op, EM_FAULT_MISALIGNED, -1, &p->address,
                        "scalar access at 0x%" PRIx64 ": no multiple of 4", p->address);
    }
    struct em_view *view = &w->group->view;
    uint64_t bytes = p->inside * UINT64_C(4);
    bool write = kind != EM_READ;
    if (!(write ? em_view_writable : em_view_covers)(view, p->address, bytes)) {
        return em_memory_fault(w, op, -1, p->address, bytes, write);
    }
    return check_race(w, op, p->address, p->inside, kind, data);
}

static uint32_t *host(uint64_t address)
{
    return (uint32_t *)(uintptr_t)address;
}

static void issue(struct em_wave *w,
                  const struct em_op *op,
                  unsigned code,
                  unsigned count)
{
    if (w->shadow) {
        struct em_span span = { .first = (uint16_t)code, .count = (uint16_t)count };
        em_shadow_set_scalar(w->shadow, code, count, true);
        em_shadow_issue(w, op, EM_LGKM_SMEM, span, 0, 0);
    }
}

/* Other threads may write what is read here, a dword at a time. */
static enum em_flow load(struct em_wave *w, const struct em_op *op, unsigned dwords)
{
    struct place p = place_of(w, op, dwords);
    enum em_flow flow = check(w, op, &p, EM_READ, NULL);
    if (flow != EM_GO) {
        return flow;
    }
    uint32_t *to = &w->s[op->in.dst.code];
    const uint32_t *from = host(p.address);
    for (unsigned i = 0; i < dwords; i++) {
        to[i] = i < p.inside ? __atomic_load_n(from + i, __ATOMIC_RELAXED) : 0;
    }
    issue(w, op, op->in.dst.code, dwords);
    return EM_GO;
}

static enum em_flow store(struct em_wave *w, const struct em_op *op, unsigned dwords)
{
    struct place p = place_of(w, op, dwords);
    const uint32_t *from = &w->s[op->in.src[2].code];
    enum em_flow flow = check(w, op, &p, EM_WRITE, from);
    if (flow != EM_GO) {
        return flow;
    }
    uint32_t *to = host(p.address);
    for (unsigned i = 0; i < p.inside; i++) {
        __atomic_store_n(to + i, from[i], __ATOMIC_RELAXED);
    }
    issue(w, op, 0, 0);
    return EM_GO;
}

#define LOAD(n)                                                                 \
    static enum em_flow run_load_##n(struct em_wave *w, const struct em_op *op) \
    {                                                                           \
        return load(w, op, n);                                                  \
    }
LOAD(1)
LOAD(2)
LOAD(4)
LOAD(8)
LOAD(16)
#define STORE(n)                                                                 \
    static enum em_flow run_store_##n(struct em_wave *w, const struct em_op *op) \
    {                                                                            \
        return store(w, op, n);                                                  \
    }
STORE(1)
STORE(2)
STORE(4)

/* X(name, what replaces old, given x (data) and y (cmpswap: what is expected)) */
#define ATOMICS(X)                     \
    X(swap, x)                         \
    X(cmpswap, old == y ? x : old)     \
    X(add, old + x)                    \
    X(sub, old - x)                    \
    X(smin, is_less(old, x) ? old : x) \
    X(umin, old < x ? old : x)         \
    X(smax, is_less(x, old) ? old : x) \
    X(umax, old > x ? old : x)         \
    X(and, old &x)                     \
    X(or, old | x)                     \
    X(xor, old ^ x)                    \
    X(inc, old >= x ? 0 : old + 1)     \
    X(dec, old == 0 || old > x ? x : old - 1)

static bool less_32(uint32_t a, uint32_t b)
{
    return (int32_t)a < (int32_t)b;
}

static bool less_64(uint64_t a, uint64_t b)
{
    return (int64_t)a < (int64_t)b;
}

/* Each: the replacement until nobody came between. The old value is the result with
 * glc.
 */
#define is_less less_32
#define X(name, rule)                                                                 \
    static uint32_t exchange_##name##_1(uint32_t *p, uint32_t x, uint32_t y)          \
    {                                                                                 \
        uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);                          \
        (void)y;                                                                      \
        while (!__atomic_compare_exchange_n(p, &old, (rule), false, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED)) {                      \
        }                                                                             \
        return old;                                                                   \
    }
ATOMICS(X)
#undef X
#undef is_less
#define is_less less_64
#define X(name, rule)                                                                 \
    static uint64_t exchange_##name##_2(uint64_t *p, uint64_t x, uint64_t y)          \
    {                                                                                 \
        uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);                          \
        (void)y;                                                                      \
        while (!__atomic_compare_exchange_n(p, &old, (rule), false, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED)) {                      \
        }                                                                             \
        return old;                                                                   \
    }
ATOMICS(X)
#undef X
#undef is_less

/* What all atomics do before and after: false where the access is not carried out. */
static bool begin_atomic(struct em_wave *w,
                         const struct em_op *op,
                         unsigned dwords,
                         struct place *ret,
                         enum em_flow *ret_flow)
{
    *ret = place_of(w, op, dwords);
    *ret_flow = check(w, op, ret, EM_ATOMIC, NULL);
    if (*ret_flow != EM_GO || ret->inside < dwords) {
        return false;
    }
    if (ret->address % (4 * dwords) != 0) {
        *ret_flow =
            em_fault(w, op, EM_FAULT_MISALIGNED, -1, &ret->address,
                     "atomic of %u bytes at 0x%" PRIx64, 4 * dwords, ret->address);
        return false;
    }
    return true;
}

static enum em_flow end_atomic(struct em_wave *w,
                               const struct em_op *op,
                               unsigned dwords,
                               uint64_t old)
{
    unsigned code = op->in.src[2].code;
    if (op->in.sc0) {
        memcpy(&w->s[code], &old, dwords * sizeof(w->s[0]));
    }
    issue(w, op, code, op->in.sc0 ? dwords : 0);
    return EM_GO;
}

#define X(name, rule)                                                             \
    static enum em_flow run_##name##_1(struct em_wave *w, const struct em_op *op) \
    {                                                                             \
        const uint32_t *data = &w->s[op->in.src[2].code];                         \
        uint32_t y = #name[0] == 'c' ? data[1] : 0;                               \
        struct place p;                                                           \
        enum em_flow flow;                                                        \
        uint64_t old = 0;                                                         \
        if (begin_atomic(w, op, 1, &p, &flow)) {                                  \
            old = exchange_##name##_1(host(p.address), data[0], y);               \
        }                                                                         \
        return flow == EM_GO ? end_atomic(w, op, 1, old) : flow;                  \
    }                                                                             \
    static enum em_flow run_##name##_2(struct em_wave *w, const struct em_op *op) \
    {                                                                             \
        unsigned data = op->in.src[2].code;                                       \
        uint64_t y = #name[0] == 'c' ? em_s64(w, data + 2) : 0;                   \
        struct place p;                                                           \
        enum em_flow flow;                                                        \
        uint64_t old = 0;                                                         \
        if (begin_atomic(w, op, 2, &p, &flow)) {                                  \
            uint64_t *at = (uint64_t *)(uintptr_t)p.address;                      \
            old = exchange_##name##_2(at, em_s64(w, data), y);                    \
        }                                                                         \
        return flow == EM_GO ? end_atomic(w, op, 2, old) : flow;                  \
    }
ATOMICS(X)
#undef X

/* Hints without an effect here. */
static enum em_flow run_probe(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_GO;
}

#define ROW(name, run) { EM_##name, 0, EM_CLASS_SMEM, run },
/* clang-format off */
const struct em_scalar_row em_scalar_memory[] = {
    ROW(s_load_dword, run_load_1) ROW(s_load_dwordx2, run_load_2)
    ROW(s_load_dwordx4, run_load_4) ROW(s_load_dwordx8, run_load_8)
    ROW(s_load_dwordx16, run_load_16)
    ROW(s_buffer_load_dword, run_load_1) ROW(s_buffer_load_dwordx2, run_load_2)
    ROW(s_buffer_load_dwordx4, run_load_4) ROW(s_buffer_load_dwordx8, run_load_8)
    ROW(s_buffer_load_dwordx16, run_load_16)
    ROW(s_store_dword, run_store_1) ROW(s_store_dwordx2, run_store_2)
    ROW(s_store_dwordx4, run_store_4)
    ROW(s_buffer_store_dword, run_store_1) ROW(s_buffer_store_dwordx2, run_store_2)
    ROW(s_buffer_store_dwordx4, run_store_4)
    ROW(s_atc_probe, run_probe) ROW(s_atc_probe_buffer, run_probe)
#define X(name, rule) \
    ROW(s_atomic_##name, run_##name##_1) ROW(s_atomic_##name##_x2, run_##name##_2) \
    ROW(s_buffer_atomic_##name, run_##name##_1) \
    ROW(s_buffer_atomic_##name##_x2, run_##name##_2)
    ATOMICS(X)
#undef X
    { 0, 0, 0, NULL }
};
/* clang-format on */
