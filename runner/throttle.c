/* The makers' bits in our words. A bit that is not known is "other", never nothing. */
#include "runner/throttle.h"

bool throttle_counts(uint32_t reasons)
{
    const uint32_t mask = 0
#define THROTTLE(name, text, counts) | ((counts) ? (uint32_t)THROTTLE_##name : 0u)
#include "runner/throttle.def"
#undef THROTTLE
        ;
    return (reasons & mask) != 0;
}

const char *throttle_name(size_t index)
{
    static const char *const names[] = {
#define THROTTLE(name, text, counts) text,
#include "runner/throttle.def"
#undef THROTTLE
    };
    return index < THROTTLE_COUNT ? names[index] : "unknown";
}

struct rule {
    uint64_t bits;
    uint32_t reason;
};

static uint32_t translate(uint64_t bits, const struct rule *rule, size_t n)
{
    uint32_t reasons = 0;
    for (size_t i = 0; i < n; i++) {
        reasons |= bits & rule[i].bits ? rule[i].reason : 0;
        bits &= ~rule[i].bits;
    }
    return bits ? reasons | THROTTLE_OTHER : reasons;
}

uint32_t throttle_from_nvml(uint64_t bits)
{
    static const struct rule rules[] = {
        { 0x1 | 0x2 | 0x10 | 0x100, 0 }, /* idle, chosen clocks, sync boost, display */
        { 0x4, THROTTLE_POWER_CAP },       { 0x8, THROTTLE_HW_SLOWDOWN },
        { 0x20 | 0x40, THROTTLE_THERMAL }, /* by software, by hardware */
        { 0x80, THROTTLE_POWER_BRAKE },
    };
    return translate(bits, rules, sizeof(rules) / sizeof(rules[0]));
}

#define BITS(from, to) ((UINT64_MAX >> (63 - (to))) & (UINT64_MAX << (from)))

uint32_t throttle_from_amd_common(uint64_t bits)
{
    static const struct rule rules[] = {
        { BITS(0, 7), THROTTLE_POWER_CAP }, /* package and slow or fast power limits */
        { BITS(16, 23), THROTTLE_CURRENT }, /* TDC, EDC, APCC */
        { BITS(34, 34), THROTTLE_HBM_THERMAL },
        { BITS(38, 41) | BITS(44, 45), THROTTLE_VR_THERMAL },
        { BITS(46, 47), THROTTLE_PROCHOT },
        { BITS(32, 45), THROTTLE_THERMAL },
    };
    return translate(bits, rules, sizeof(rules) / sizeof(rules[0]));
}

uint32_t throttle_from_mi300(uint32_t bits)
{
    static const struct rule rules[] = {
        { 1u << 0, THROTTLE_PROCHOT },     { 1u << 1, THROTTLE_POWER_CAP },
        { 1u << 2, THROTTLE_THERMAL },     { 1u << 3, THROTTLE_VR_THERMAL },
        { 1u << 4, THROTTLE_HBM_THERMAL },
    };
    return translate(bits, rules, sizeof(rules) / sizeof(rules[0]));
}
