/* Exact sums and products in 128 bits, then wrapped or clamped; bits one by one. */
#include "tests/emulator/valu_int_reference.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

static wide pow2(unsigned n)
{
    return (wide)1 << n;
}

static wide sign(uint64_t x, unsigned bits)
{
    wide value = (wide)(x % (uint64_t)pow2(bits));
    return value >= pow2(bits - 1) ? value - pow2(bits) : value;
}

static wide sign64(uint64_t x)
{
    return (wide)(int64_t)x;
}

static uint64_t wrap(wide x, unsigned bits)
{
    wide m = x % pow2(bits);
    return (uint64_t)(m < 0 ? m + pow2(bits) : m);
}

/* In `bits` bits: clamped to what they hold, or wrapped. */
static uint64_t fit(wide x, unsigned bits, bool is_signed, bool clamp)
{
    wide least = is_signed ? -pow2(bits - 1) : 0;
    wide most = is_signed ? pow2(bits - 1) - 1 : pow2(bits) - 1;
    if (clamp && x < least) {
        x = least;
    }
    if (clamp && x > most) {
        x = most;
    }
    return wrap(x, bits);
}

static uint32_t bit(uint64_t x, unsigned n)
{
    return x >> n & 1;
}

static uint32_t field(uint64_t x, unsigned first, unsigned bits)
{
    return (uint32_t)(x >> first) & (uint32_t)(pow2(bits) - 1);
}

static wide floor_shift(wide x, unsigned n) /* rounds down, as an arithmetic shift */
{
    wide q = x / pow2(n);
    return x < 0 && q * pow2(n) != x ? q - 1 : q;
}

static wide lesser(wide x, wide y)
{
    return x < y ? x : y;
}

static wide greater(wide x, wide y)
{
    return x < y ? y : x;
}

static wide middle(wide x, wide y, wide z)
{
    if ((x <= y && y <= z) || (z <= y && y <= x)) {
        return y;
    }
    return (y <= x && x <= z) || (z <= x && x <= y) ? x : z;
}

static wide distance(wide x, wide y)
{
    return x < y ? y - x : x - y;
}

static wide byte_distance(uint64_t x, uint64_t y, bool skip_zero)
{
    wide sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t b = field(y, 8 * i, 8);
        sum += skip_zero && b == 0 ? 0 : distance(field(x, 8 * i, 8), b);
    }
    return sum;
}

static uint64_t four_distances(const struct lane_in *in, bool skip_zero)
{
    uint64_t out = 0;
    for (unsigned k = 0; k < 4; k++) {
        wide sum = byte_distance(in->s[0] >> (8 * k) & 0xffffffff, in->s[1], skip_zero);
        sum += field(in->s[2], 16 * k, 16);
        out |= fit(sum, 16, false, in->clamp) << (16 * k);
    }
    return out;
}

static uint64_t count_ones(uint64_t x)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < 64; i++) {
        n += bit(x, i);
    }
    return n;
}

/* Position of the first bit from the top (or bottom) that is not `not`; -1: none. */
static uint64_t find(uint64_t x, bool from_top, uint32_t not )
{
    for (unsigned i = 0; i < 32; i++) {
        if (bit(x, from_top ? 31 - i : i) != not ) {
            return i;
        }
    }
    return 0xffffffff;
}

static uint64_t perm(uint64_t x, uint64_t y, uint64_t select)
{
    uint64_t bytes = x << 32 | y;
    uint64_t out = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t s = field(select, 8 * i, 8);
        uint64_t value = 0xff;
        switch (s) {
        case 8:
            value = bit(bytes, 15) ? 0xff : 0;
            break;
        case 9:
            value = bit(bytes, 31) ? 0xff : 0;
            break;
        case 10:
            value = bit(bytes, 47) ? 0xff : 0;
            break;
        case 11:
            value = bit(bytes, 63) ? 0xff : 0;
            break;
        case 12:
            value = 0;
            break;
        default:
            value = s < 8 ? field(bytes, 8 * s, 8) : 0xff;
            break;
        }
        out |= value << (8 * i);
    }
    return out;
}

static wide dot(uint64_t x, uint64_t y, unsigned bits, bool is_signed)
{
    wide sum = 0;
    for (unsigned i = 0; i < 32; i += bits) {
        wide a = is_signed ? sign(x >> i, bits) : (wide)field(x, i, bits);
        wide b = is_signed ? sign(y >> i, bits) : (wide)field(y, i, bits);
        sum += a * b;
    }
    return sum;
}

/* Moves, bits and shifts. */
static bool bits_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    uint64_t x = in->s[0];
    uint64_t y = in->s[1];
    uint64_t z = in->s[2];
    uint64_t below = in->lane == 0 ? 0 : UINT64_MAX >> (64 - in->lane);
    switch ((unsigned)op) {
    case EM_v_mov_b32:
    case EM_v_mov_b64:
        *d = x;
        return true;
    case EM_v_pk_mov_b32:
        *d = (x & 0xffffffff) | y << 32;
        return true;
    case EM_v_cndmask_b32:
        *d = in->mask ? y : x;
        return true;
    case EM_v_not_b32:
        *d = 0xffffffff - x;
        return true;
    case EM_v_and_b32:
        *d = x & y;
        return true;
    case EM_v_or_b32:
        *d = x | y;
        return true;
    case EM_v_xor_b32:
        *d = (x | y) - (x & y);
        return true;
    case EM_v_xnor_b32:
        *d = 0xffffffff - ((x | y) - (x & y));
        return true;
    case EM_v_and_or_b32:
        *d = (x & y) | z;
        return true;
    case EM_v_or3_b32:
        *d = x | y | z;
        return true;
    case EM_v_bfi_b32:
        *d = 0;
        for (unsigned i = 0; i < 32; i++) {
            *d |= (uint64_t)(bit(x, i) ? bit(y, i) : bit(z, i)) << i;
        }
        return true;
    case EM_v_bfrev_b32:
        *d = 0;
        for (unsigned i = 0; i < 32; i++) {
            *d |= (uint64_t)bit(x, i) << (31 - i);
        }
        return true;
    case EM_v_ffbh_u32:
        *d = find(x, true, 0);
        return true;
    case EM_v_ffbl_b32:
        *d = find(x, false, 0);
        return true;
    case EM_v_ffbh_i32:
        *d = find(x, true, bit(x, 31));
        return true;
    case EM_v_bcnt_u32_b32:
        *d = wrap((wide)count_ones(x) + (wide)y, 32);
        return true;
    case EM_v_mbcnt_lo_u32_b32:
        *d = wrap((wide)count_ones(x & (below & 0xffffffff)) + (wide)y, 32);
        return true;
    case EM_v_mbcnt_hi_u32_b32:
        *d = wrap((wide)count_ones(x & below >> 32) + (wide)y, 32);
        return true;
    case EM_v_perm_b32:
        *d = perm(x, y, z);
        return true;
    default:
        return false;
    }
}

static bool shift_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    uint64_t x = in->s[0];
    uint64_t y = in->s[1];
    uint64_t z = in->s[2];
    wide bytes = (wide)x * pow2(32) + (wide)y;
    switch ((unsigned)op) {
    case EM_v_lshrrev_b32:
        *d = wrap((wide)y / pow2(x % 32), 32);
        return true;
    case EM_v_lshlrev_b32:
        *d = wrap((wide)y * pow2(x % 32), 32);
        return true;
    case EM_v_ashrrev_i32:
        *d = wrap(floor_shift(sign(y, 32), x % 32), 32);
        return true;
    case EM_v_lshrrev_b16:
        *d = wrap((wide)field(y, 0, 16) / pow2(x % 16), 16);
        return true;
    case EM_v_lshlrev_b16:
        *d = wrap((wide)field(y, 0, 16) * pow2(x % 16), 16);
        return true;
    case EM_v_ashrrev_i16:
        *d = wrap(floor_shift(sign(y, 16), x % 16), 16);
        return true;
    case EM_v_lshrrev_b64:
        *d = wrap((wide)y / pow2(x % 64), 64);
        return true;
    case EM_v_lshlrev_b64:
        *d = x % 64 == 0 ? y : y * (UINT64_C(1) << x % 64);
        return true;
    case EM_v_ashrrev_i64:
        *d = wrap(floor_shift(sign64(y), x % 64), 64);
        return true;
    case EM_v_bfm_b32:
        *d = wrap((pow2(x % 32) - 1) * pow2(y % 32), 32);
        return true;
    case EM_v_bfe_u32:
        *d = wrap((wide)x / pow2(y % 32), z % 32);
        return true;
    case EM_v_bfe_i32:
        *d = z % 32 == 0
                 ? 0
                 : wrap(sign(wrap(floor_shift(sign(x, 32), y % 32), 32), z % 32), 32);
        return true;
    case EM_v_alignbit_b32:
        *d = wrap(bytes / pow2(z % 32), 32);
        return true;
    case EM_v_alignbyte_b32:
        *d = wrap(bytes / pow2(8 * (z % 4)), 32);
        return true;
    case EM_v_lshl_or_b32:
        *d = wrap((wide)x * pow2(y % 32), 32) | z;
        return true;
    case EM_v_lshl_add_u32:
        *d = wrap((wide)x * pow2(y % 32) + (wide)z, 32);
        return true;
    case EM_v_add_lshl_u32:
        *d = wrap(((wide)x + (wide)y) * pow2(z % 32), 32);
        return true;
    case EM_v_lshl_add_u64:
        *d = wrap((wide)x * pow2(y % 8) + (wide)z, 64);
        return true;
    default:
        return false;
    }
}

/* Sums with and without carries. */
static bool sum_lane(enum em_opcode op, const struct lane_in *in, struct lane_out *out)
{
    wide x = (wide)in->s[0];
    wide y = (wide)in->s[1];
    wide z = (wide)in->s[2];
    wide c = in->mask;
    bool clamp = in->clamp;
    wide sum = 0;
    switch ((unsigned)op) {
    case EM_v_add_u32:
    case EM_v_add_co_u32:
        sum = x + y;
        break;
    case EM_v_sub_u32:
    case EM_v_sub_co_u32:
        sum = x - y;
        break;
    case EM_v_subrev_u32:
    case EM_v_subrev_co_u32:
        sum = y - x;
        break;
    case EM_v_addc_co_u32:
        sum = x + y + c;
        break;
    case EM_v_subb_co_u32:
        sum = x - y - c;
        break;
    case EM_v_subbrev_co_u32:
        sum = y - x - c;
        break;
    case EM_v_add3_u32:
        sum = x + y + z;
        clamp = false;
        break;
    case EM_v_xad_u32:
        sum = (wide)(in->s[0] ^ in->s[1]) + z;
        clamp = false;
        break;
    case EM_v_add_i32:
        out->d = fit(sign(in->s[0], 32) + sign(in->s[1], 32), 32, true, clamp);
        return true;
    case EM_v_sub_i32:
        out->d = fit(sign(in->s[0], 32) - sign(in->s[1], 32), 32, true, clamp);
        return true;
    case EM_v_mad_u64_u32: {
        wide exact = x * y + z;
        out->mask = exact >= pow2(64);
        out->d = clamp && out->mask ? UINT64_MAX : wrap(exact, 64);
        return true;
    }
    case EM_v_mad_i64_i32: {
        wide exact = sign(in->s[0], 32) * sign(in->s[1], 32) + sign64(in->s[2]);
        out->mask = exact < 0;
        out->d = fit(exact, 64, true, clamp);
        return true;
    }
    default:
        return false;
    }
    out->mask = sum < 0 || sum >= pow2(32);
    out->d = fit(sum, 32, false, clamp);
    return true;
}

static bool order_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    wide u[3];
    wide s[3];
    wide h[3];
    wide hs[3];
    for (unsigned i = 0; i < 3; i++) {
        u[i] = (wide)in->s[i];
        s[i] = sign(in->s[i], 32);
        h[i] = (wide)field(in->s[i], 0, 16);
        hs[i] = sign(in->s[i], 16);
    }
    const char *name = em_op_info(op)->name;
    size_t length = strlen(name);
    bool is_16 = strcmp(name + length - 2, "16") == 0;
    bool is_signed = name[length - 3] == 'i';
    if (strchr("iu", name[length - 3]) == NULL) {
        return false;
    }
    const wide *v = is_16 ? (is_signed ? hs : h) : (is_signed ? s : u);
    unsigned bits = is_16 ? 16 : 32;
    if (strncmp(name, "v_min_", 6) == 0) {
        *d = wrap(lesser(v[0], v[1]), bits);
    } else if (strncmp(name, "v_max_", 6) == 0) {
        *d = wrap(greater(v[0], v[1]), bits);
    } else if (strncmp(name, "v_min3_", 7) == 0) {
        *d = wrap(lesser(lesser(v[0], v[1]), v[2]), bits);
    } else if (strncmp(name, "v_max3_", 7) == 0) {
        *d = wrap(greater(greater(v[0], v[1]), v[2]), bits);
    } else if (strncmp(name, "v_med3_", 7) == 0) {
        *d = wrap(middle(v[0], v[1], v[2]), bits);
    } else {
        return false;
    }
    return true;
}

static bool product_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    wide x = (wide)in->s[0];
    wide y = (wide)in->s[1];
    wide z = (wide)in->s[2];
    wide product24 = (x % pow2(24)) * (y % pow2(24));
    wide signed24 = sign(in->s[0], 24) * sign(in->s[1], 24);
    wide signed32 = sign(in->s[0], 32) * sign(in->s[1], 32);
    bool clamp = in->clamp;
    switch ((unsigned)op) {
    case EM_v_mul_u32_u24:
        *d = fit(product24, 32, false, clamp);
        return true;
    case EM_v_mul_hi_u32_u24:
        *d = wrap(product24 / pow2(32), 32);
        return true;
    case EM_v_mul_i32_i24:
        *d = fit(signed24, 32, true, clamp);
        return true;
    case EM_v_mul_hi_i32_i24:
        *d = wrap(floor_shift(signed24, 32), 32);
        return true;
    case EM_v_mad_u32_u24:
        *d = fit(product24 + z, 32, false, clamp);
        return true;
    case EM_v_mad_i32_i24:
        *d = fit(signed24 + sign(in->s[2], 32), 32, true, clamp);
        return true;
    case EM_v_mul_lo_u32:
        *d = wrap(x * y, 32);
        return true;
    case EM_v_mul_hi_u32:
        *d = wrap(x * y / pow2(32), 32);
        return true;
    case EM_v_mul_hi_i32:
        *d = wrap(floor_shift(signed32, 32), 32);
        return true;
    default:
        return false;
    }
}

static bool byte_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    uint64_t x = in->s[0];
    uint64_t y = in->s[1];
    wide z = (wide)in->s[2];
    bool clamp = in->clamp;
    switch ((unsigned)op) {
    case EM_v_lerp_u8:
        *d = 0;
        for (unsigned i = 0; i < 32; i += 8) {
            uint32_t sum = field(x, i, 8) + field(y, i, 8) + bit(in->s[2], i);
            *d |= (uint64_t)(sum / 2) << i;
        }
        return true;
    case EM_v_sad_u8:
        *d = fit(byte_distance(x, y, false) + z, 32, false, clamp);
        return true;
    case EM_v_msad_u8:
        *d = fit(byte_distance(x, y, true) + z, 32, false, clamp);
        return true;
    case EM_v_sad_hi_u8:
        *d = fit(byte_distance(x, y, false) * pow2(16) + z, 32, false, clamp);
        return true;
    case EM_v_sad_u16:
        *d = fit(distance(field(x, 0, 16), field(y, 0, 16)) +
                     distance(field(x, 16, 16), field(y, 16, 16)) + z,
                 32, false, clamp);
        return true;
    case EM_v_sad_u32:
        *d = fit(distance((wide)x, (wide)y) + z, 32, false, clamp);
        return true;
    case EM_v_qsad_pk_u16_u8:
        *d = four_distances(in, false);
        return true;
    case EM_v_mqsad_pk_u16_u8:
        *d = four_distances(in, true);
        return true;
    default:
        return false;
    }
}

static bool short_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    wide x = (wide)field(in->s[0], 0, 16);
    wide y = (wide)field(in->s[1], 0, 16);
    wide z = (wide)field(in->s[2], 0, 16);
    wide sx = sign(in->s[0], 16);
    wide sy = sign(in->s[1], 16);
    wide sz = sign(in->s[2], 16);
    bool clamp = in->clamp;
    switch ((unsigned)op) {
    case EM_v_add_u16:
        *d = fit(x + y, 16, false, clamp);
        return true;
    case EM_v_sub_u16:
        *d = fit(x - y, 16, false, clamp);
        return true;
    case EM_v_subrev_u16:
        *d = fit(y - x, 16, false, clamp);
        return true;
    case EM_v_mul_lo_u16:
        *d = fit(x * y, 16, false, clamp);
        return true;
    case EM_v_add_i16:
        *d = fit(sx + sy, 16, true, clamp);
        return true;
    case EM_v_sub_i16:
        *d = fit(sx - sy, 16, true, clamp);
        return true;
    case EM_v_mad_u16:
    case EM_v_mad_legacy_u16:
        *d = fit(x * y + z, 16, false, clamp);
        return true;
    case EM_v_mad_i16:
    case EM_v_mad_legacy_i16:
        *d = fit(sx * sy + sz, 16, true, clamp);
        return true;
    case EM_v_mad_u32_u16:
        *d = fit(x * y + (wide)in->s[2], 32, false, clamp);
        return true;
    case EM_v_mad_i32_i16:
        *d = fit(sx * sy + sign(in->s[2], 32), 32, true, clamp);
        return true;
    case EM_v_cvt_pk_u16_u32:
        *d = fit((wide)in->s[0], 16, false, true) | fit((wide)in->s[1], 16, false, true)
                                                        << 16;
        return true;
    case EM_v_cvt_pk_i16_i32:
        *d = fit(sign(in->s[0], 32), 16, true, true) |
             fit(sign(in->s[1], 32), 16, true, true) << 16;
        return true;
    case EM_v_sat_pk_u8_i16:
        *d = fit(sx, 8, false, true) | fit(sign(in->s[0] >> 16, 16), 8, false, true)
                                           << 8;
        return true;
    default:
        return false;
    }
}

/* One half of a packed operation, by the operation on one half. */
static bool packed_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    *d = 0;
    for (unsigned i = 0; i < 32; i += 16) {
        uint64_t x = field(in->s[0], i, 16);
        uint64_t y = field(in->s[1], i, 16);
        uint64_t z = field(in->s[2], i, 16);
        bool c = in->clamp;
        uint64_t half = 0;
        switch ((unsigned)op) {
        case EM_v_pk_add_u16:
            half = fit((wide)x + (wide)y, 16, false, c);
            break;
        case EM_v_pk_sub_u16:
            half = fit((wide)x - (wide)y, 16, false, c);
            break;
        case EM_v_pk_mul_lo_u16:
            half = fit((wide)x * (wide)y, 16, false, c);
            break;
        case EM_v_pk_mad_u16:
            half = fit((wide)x * (wide)y + (wide)z, 16, false, c);
            break;
        case EM_v_pk_add_i16:
            half = fit(sign(x, 16) + sign(y, 16), 16, true, c);
            break;
        case EM_v_pk_sub_i16:
            half = fit(sign(x, 16) - sign(y, 16), 16, true, c);
            break;
        case EM_v_pk_mad_i16:
            half = fit(sign(x, 16) * sign(y, 16) + sign(z, 16), 16, true, c);
            break;
        case EM_v_pk_lshlrev_b16:
            half = wrap((wide)y * pow2(x % 16), 16);
            break;
        case EM_v_pk_lshrrev_b16:
            half = wrap((wide)y / pow2(x % 16), 16);
            break;
        case EM_v_pk_ashrrev_i16:
            half = wrap(floor_shift(sign(y, 16), x % 16), 16);
            break;
        case EM_v_pk_max_i16:
            half = wrap(greater(sign(x, 16), sign(y, 16)), 16);
            break;
        case EM_v_pk_min_i16:
            half = wrap(lesser(sign(x, 16), sign(y, 16)), 16);
            break;
        case EM_v_pk_max_u16:
            half = x > y ? x : y;
            break;
        case EM_v_pk_min_u16:
            half = x > y ? y : x;
            break;
        default:
            return false;
        }
        *d |= half << i;
    }
    return true;
}

static bool dot_lane(enum em_opcode op, const struct lane_in *in, uint64_t *d)
{
    const char *name = em_op_info(op)->name;
    unsigned elements = 0;
    char text[8] = "";
    if (strncmp(name, "v_dot", 5) != 0 || strchr(name, 'f')) {
        return false;
    }
    elements = (unsigned)(name[5] - '0');
    (void)strncpy(text, name + strlen(name) - 3, sizeof(text) - 1);
    bool is_signed = strchr(text, 'i') != NULL;
    wide sum = dot(in->s[0], in->s[1], 32 / elements, is_signed);
    sum += is_signed ? sign(in->s[2], 32) : (wide)in->s[2];
    *d = fit(sum, 32, is_signed, in->clamp);
    return true;
}

/* A comparison's operands against each other. */
enum relation {
    LESS = 1,
    EQUAL = 2,
    GREATER = 4,
    UNORDERED = 8
};

static double number(uint64_t x, const char *type, const struct lane_in *in)
{
    double value;
    if (strcmp(type, "f64") == 0) {
        (void)memcpy(&value, &x, sizeof(value));
    } else if (strcmp(type, "f32") == 0) {
        uint32_t low = (uint32_t)x;
        float single;
        (void)memcpy(&single, &low, sizeof(single));
        value = (double)single;
    } else {
        int exponent = (int)field(x, 10, 5);
        double fraction = (double)field(x, 0, 10);
        value = exponent == 0    ? ldexp(fraction, -24)
                : exponent != 31 ? ldexp(1024 + fraction, exponent - 25)
                : fraction != 0  ? (double)NAN
                                 : (double)INFINITY;
        value = bit(x, 15) ? -value : value;
    }
    double least = strcmp(type, "f64") == 0   ? 0x1p-1022
                   : strcmp(type, "f32") == 0 ? 0x1p-126
                                              : 0x1p-14;
    bool flush = strcmp(type, "f32") == 0 ? in->flush_f32 : in->flush_f64_f16;
    return flush && fabs(value) < least ? 0 : value;
}

static enum relation relate(const char *type, const struct lane_in *in)
{
    if (type[0] == 'f') {
        double x = number(in->s[0], type, in);
        double y = number(in->s[1], type, in);
        return isnan(x) || isnan(y) ? UNORDERED
               : x < y              ? LESS
               : x > y              ? GREATER
                                    : EQUAL;
    }
    unsigned bits = type[1] == '6' ? 64 : type[1] == '3' ? 32 : 16;
    wide v[2];
    for (unsigned i = 0; i < 2; i++) {
        v[i] = bits == 64       ? (type[0] == 'i' ? sign64(in->s[i]) : (wide)in->s[i])
               : type[0] == 'i' ? sign(in->s[i], bits)
                                : (wide)in->s[i] % pow2(bits);
    }
    return v[0] < v[1] ? LESS : v[0] > v[1] ? GREATER : EQUAL;
}

/* The relations that a condition accepts; -1: no such condition. */
static int accepted(const char *condition)
{
    static const struct {
        const char *name;
        int relations;
    } conditions[] = {
        { "f", 0 },
        { "lt", LESS },
        { "eq", EQUAL },
        { "le", LESS | EQUAL },
        { "gt", GREATER },
        { "lg", LESS | GREATER },
        { "ne", LESS | GREATER },
        { "ge", GREATER | EQUAL },
        { "o", LESS | EQUAL | GREATER },
        { "u", UNORDERED },
        { "nge", LESS | UNORDERED },
        { "nlg", EQUAL | UNORDERED },
        { "ngt", LESS | EQUAL | UNORDERED },
        { "nle", GREATER | UNORDERED },
        { "neq", LESS | GREATER | UNORDERED },
        { "nlt", EQUAL | GREATER | UNORDERED },
        { "t", 15 },
        { "tru", 15 },
    };
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        if (strcmp(condition, conditions[i].name) == 0) {
            return conditions[i].relations;
        }
    }
    return -1;
}

/* Number of the class: signalling NaN 0, quiet NaN 1, then from -infinity to infinity.
 */
static unsigned float_class(uint64_t x, const char *type)
{
    unsigned fraction_bits = strcmp(type, "f64") == 0   ? 52
                             : strcmp(type, "f32") == 0 ? 23
                                                        : 10;
    unsigned bits = strcmp(type, "f64") == 0 ? 64 : strcmp(type, "f32") == 0 ? 32 : 16;
    uint64_t magnitude = x & (uint64_t)(pow2(bits - 1) - 1);
    uint64_t infinity = (uint64_t)(pow2(bits - 1) - pow2(fraction_bits));
    bool negative = bit(x, bits - 1);
    if (magnitude > infinity) {
        return bit(x, fraction_bits - 1);
    }
    unsigned size = magnitude == infinity                        ? 3
                    : magnitude >= (uint64_t)pow2(fraction_bits) ? 2
                    : magnitude > 0                              ? 1
                                                                 : 0;
    return negative ? 5 - size : 6 + size;
}

static bool compare_lane(enum em_opcode op, const struct lane_in *in, bool *mask)
{
    char text[32] = "";
    (void)strncpy(text, em_op_info(op)->name, sizeof(text) - 1);
    char *condition = strncmp(text, "v_cmp_", 6) == 0    ? text + 6
                      : strncmp(text, "v_cmpx_", 7) == 0 ? text + 7
                                                         : NULL;
    char *end = condition ? strrchr(condition, '_') : NULL;
    if (!end) {
        return false;
    }
    *end = '\0';
    const char *type = end + 1;
    if (strcmp(condition, "class") == 0) {
        *mask = in->s[1] >> float_class(in->s[0], type) & 1;
        return true;
    }
    int relations = accepted(condition);
    if (relations < 0) {
        return false;
    }
    *mask = ((unsigned)relations & relate(type, in)) != 0;
    return true;
}

bool reference_lane(enum em_opcode op, const struct lane_in *in, struct lane_out *ret)
{
    memset(ret, 0, sizeof(*ret));
    return bits_lane(op, in, &ret->d) || shift_lane(op, in, &ret->d) ||
           sum_lane(op, in, ret) || order_lane(op, in, &ret->d) ||
           product_lane(op, in, &ret->d) || byte_lane(op, in, &ret->d) ||
           short_lane(op, in, &ret->d) || packed_lane(op, in, &ret->d) ||
           dot_lane(op, in, &ret->d) || compare_lane(op, in, &ret->mask);
}
