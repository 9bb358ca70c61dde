/* What is known of an instruction by itself: hints, what commutes, counters of waits.
 */
#include "selftest/generate_kinds.h"

const char *gen_kind_name(enum gen_kind kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        GEN_KIND_LIST(X)
#undef X
    };
    return (size_t)kind < GEN_KINDS ? names[kind] : "?";
}

unsigned gen_wait_vm(uint16_t simm)
{
    return (simm & 15U) | (simm >> 10 & 0x30U);
}

unsigned gen_wait_lgkm(uint16_t simm)
{
    return simm >> 8 & 15U;
}

/* Whether a modifier's bits are the same for sources 0 and 1. */
static bool alike(uint8_t bits)
{
    return (bits & 1) == (bits >> 1 & 1);
}

bool gen_commutes(const struct em_inst *in)
{
    switch (in->op) {
#define COMMUTES(name) case EM_##name:
#include "selftest/generate_commutes.def"
#undef COMMUTES
        return in->extra == EM_PLAIN && alike(in->neg) && alike(in->abs) &&
               alike(in->op_sel) && alike(in->op_sel_hi) && alike(in->neg_hi);
    default:
        return false;
    }
}

bool gen_is_hint(const struct em_inst *in)
{
    switch (in->op) {
    case EM_s_nop:
    case EM_s_sleep:
    case EM_s_setprio:
    case EM_s_wakeup:
    case EM_s_incperflevel:
    case EM_s_decperflevel:
    case EM_s_ttracedata:
    case EM_s_icache_inv:
        return true;
    default:
        return false;
    }
}
