/* Facts about launches: from the kernel's descriptor, the pack's blocks and arguments,
 * and what its `supports` and the ops' own checks say of sizes. */
#include "selftest/generate_launch.h"

#include <string.h>

/* kernel_code_properties and compute_pgm_rsrc2, as LLVM's AMDGPU documentation has them
 */
enum {
    PROPERTY_PRIVATE_BUFFER = 1 << 0,
    PROPERTY_DISPATCH_PTR = 1 << 1,
    PROPERTY_QUEUE_PTR = 1 << 2,
    PROPERTY_KERNARG_PTR = 1 << 3,
    RSRC2_WORKGROUP_X = 1 << 7,
    ADDRESS_BITS = 47 /* of a process' half of the address space */
};

static void place_registers(const struct em_kernel *code, struct gen_launch *ret)
{
    unsigned at = 0;
    at += code->properties & PROPERTY_PRIVATE_BUFFER ? 4 : 0;
    at += code->properties & PROPERTY_DISPATCH_PTR ? 2 : 0;
    at += code->properties & PROPERTY_QUEUE_PTR ? 2 : 0;
    ret->kernarg = code->properties & PROPERTY_KERNARG_PTR ? at : EM_NONE;
    ret->workgroup = code->rsrc2 >> 1 & 31;
    for (unsigned i = 0; i < 3; i++) {
        ret->workgroups += (code->rsrc2 & (uint32_t)RSRC2_WORKGROUP_X << i) != 0;
    }
}

/* The greatest value of an argument that is never negative, by the expression that the
 * pack has for it; 0: nothing is known. Ops refuse negative sizes; the limits are those
 * of `supports`. */
static uint32_t greatest(const char *text)
{
    static const struct {
        const char *text;
        uint32_t most;
    } facts[] = { { "M", 1U << 30 },
                  { "N", 1U << 30 },
                  { "K", 1U << 30 },
                  { "max(K, 1)", 1U << 30 },
                  { "SPLIT", 32 },
                  { "K_PER_SPLIT", 1U << 30 },
                  { "device.xcc_count", 64 },
                  { "q_heads", INT32_MAX },
                  { "kv_heads", INT32_MAX },
                  { "page_size", 1U << 30 },
                  { "PARTS", 65535 },
                  { "PART_KEYS", 2048 },
                  { "1", 1 } };
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (strcmp(facts[i].text, text) == 0) {
            return facts[i].most;
        }
    }
    return 0;
}

struct list {
    struct gen_argument *at;
    size_t count;
};

static void add(struct list *l, uint32_t offset, struct gen_bits bits)
{
    if (l->count < GEN_MAX_ARGUMENTS) {
        l->at[l->count++] = (struct gen_argument){ offset, bits };
    }
}

/* Arguments lie at multiples of their own size (docs/pack.md); an address has 47 bits.
 * False: one of another kind, behind which offsets are not worked out. */
static bool take(const struct wf_pack_arg *a, uint32_t *offset, struct list *l)
{
    bool wide = a->kind == WF_ARG_POINTER || a->scalar == WF_SCALAR_I64 ||
                a->scalar == WF_SCALAR_U64 || a->scalar == WF_SCALAR_F64;
    bool word = a->scalar == WF_SCALAR_I32 || a->scalar == WF_SCALAR_U32 ||
                a->scalar == WF_SCALAR_F32;
    if (a->kind != WF_ARG_POINTER && (a->kind != WF_ARG_SCALAR || (!wide && !word))) {
        return false;
    }
    uint32_t bytes = wide ? 8 : 4;
    *offset = (*offset + bytes - 1) / bytes * bytes;
    if (a->kind == WF_ARG_POINTER) {
        add(l, *offset + 4, gen_up_to((1U << (ADDRESS_BITS - 32)) - 1));
    } else if (a->scalar == WF_SCALAR_I32 && greatest(wf_expr_text(a->value)) > 0) {
        add(l, *offset, gen_up_to(greatest(wf_expr_text(a->value))));
    }
    *offset += bytes;
    return true;
}

static enum wf_status block_of(const struct wf_pack_kernel *kernel,
                               const struct wf_pack_launch *launch,
                               int64_t ret[3],
                               struct wf_error *err)
{
    struct wf_knobs *knobs = NULL;
    enum wf_status st = wf_knobs_create(kernel, NULL, &knobs, err);
    for (size_t i = 0; i < 3 && st == WF_OK; i++) {
        ret[i] = 1;
        if (launch->block[i]) {
            st = wf_expr_eval_i64(launch->block[i], wf_knobs_scope(knobs), 1, 1024,
                                  &ret[i], err);
        }
    }
    wf_knobs_destroy(knobs);
    return st;
}

/* Another launch of the same kernel may have other arguments. */
static bool launched_once(const struct wf_pack_kernel *kernel, const char *symbol)
{
    size_t n = 0;
    for (size_t i = 0; i < kernel->launch_count; i++) {
        n += strcmp(kernel->launch[i].symbol, symbol) == 0;
    }
    return n == 1;
}

enum wf_status gen_launch_of(const struct wf_pack_kernel *kernel,
                             const struct wf_pack_launch *launch,
                             const struct em_kernel *code,
                             struct gen_argument argument[GEN_MAX_ARGUMENTS],
                             struct gen_launch *ret,
                             struct wf_error *err)
{
    struct list list = { argument, 0 };
    uint32_t offset = 0;
    int64_t block[3];
    *ret = (struct gen_launch){ .argument = argument };
    place_registers(code, ret);
    if (!launched_once(kernel, launch->symbol)) {
        return WF_OK;
    }
    for (size_t i = 0; i < launch->arg_count; i++) {
        if (!take(&launch->arg[i], &offset, &list)) {
            break;
        }
    }
    ret->arguments = list.count;
    enum wf_status st = block_of(kernel, launch, block, err);
    if (st == WF_OK && block[1] == 1 && block[2] == 1) {
        ret->block_x = (unsigned)block[0];
        ret->whole_waves = block[0] % EM_LANES == 0;
    }
    return st;
}
