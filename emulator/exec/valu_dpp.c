/* DPP: a source is taken from another lane of the row of 16 or of the wave. */
#include "emulator/exec/valu_run.h"

enum {
    DPP_ROW_SHL = 0x100, /* + 1..15 */
    DPP_ROW_SHR = 0x110,
    DPP_ROW_ROR = 0x120,
    DPP_WAVE_SHL = 0x130,
    DPP_WAVE_ROL = 0x134,
    DPP_WAVE_SHR = 0x138,
    DPP_WAVE_ROR = 0x13c,
    DPP_ROW_MIRROR = 0x140,
    DPP_ROW_HALF_MIRROR = 0x141,
    DPP_ROW_BCAST15 = 0x142,
    DPP_ROW_BCAST31 = 0x143,
    DPP_ROW_NEWBCAST = 0x150, /* + 0..15 */
    ROW = 16                  /* lanes */
};

#define EACH_ROW UINT64_C(0x0001000100010001)

bool em_dpp_known(unsigned ctrl)
{
    switch (ctrl) {
    case DPP_WAVE_SHL:
    case DPP_WAVE_ROL:
    case DPP_WAVE_SHR:
    case DPP_WAVE_ROR:
    case DPP_ROW_MIRROR:
    case DPP_ROW_HALF_MIRROR:
    case DPP_ROW_BCAST15:
    case DPP_ROW_BCAST31:
        return true;
    default:
        return ctrl < DPP_ROW_SHL || (ctrl < DPP_WAVE_SHL && ctrl % ROW != 0) ||
               (ctrl >= DPP_ROW_NEWBCAST && ctrl < DPP_ROW_NEWBCAST + ROW);
    }
}

uint64_t em_dpp_enabled(const struct em_inst *in)
{
    uint64_t banks = _pdep_u64(in->bank_mask, 0x1111) * 0xf * EACH_ROW;
    return banks & _pdep_u64(in->row_mask, EACH_ROW) * 0xffff;
}

/* The bits of each byte in reverse order. */
static uint64_t reverse_bytes(uint64_t x)
{
    x = (x >> 1 & UINT64_C(0x5555555555555555)) | (x & UINT64_C(0x5555555555555555))
                                                      << 1;
    x = (x >> 2 & UINT64_C(0x3333333333333333)) | (x & UINT64_C(0x3333333333333333))
                                                      << 2;
    return (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (x & UINT64_C(0x0f0f0f0f0f0f0f0f))
                                                         << 4;
}

static uint64_t quad_perm_lanes(unsigned ctrl, uint64_t bits)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < 4; i++) {
        out |= (bits >> (ctrl >> (2 * i) & 3) & UINT64_C(0x1111111111111111)) << i;
    }
    return out;
}

static uint64_t row_lanes(unsigned ctrl, uint64_t bits)
{
    unsigned n = ctrl % ROW;
    uint64_t low = (0xffffU >> n) * EACH_ROW;
    switch (ctrl - n) {
    case DPP_ROW_SHL:
        return bits >> n & low;
    case DPP_ROW_SHR:
        return (bits & low) << n;
    case DPP_ROW_ROR:
        return (bits & low) << n | (bits >> (ROW - n) & ~(low << n));
    default: /* DPP_ROW_NEWBCAST */
        return (bits >> n & EACH_ROW) * 0xffff;
    }
}

uint64_t em_dpp_lanes(unsigned ctrl, uint64_t bits)
{
    switch (ctrl) {
    case DPP_WAVE_SHL:
        return bits >> 1;
    case DPP_WAVE_ROL:
        return bits >> 1 | bits << 63;
    case DPP_WAVE_SHR:
        return bits << 1;
    case DPP_WAVE_ROR:
        return bits << 1 | bits >> 63;
    case DPP_ROW_MIRROR:
        bits = reverse_bytes(bits);
        return (bits >> 8 & UINT64_C(0x00ff00ff00ff00ff)) |
               (bits & UINT64_C(0x00ff00ff00ff00ff)) << 8;
    case DPP_ROW_HALF_MIRROR:
        return reverse_bytes(bits);
    case DPP_ROW_BCAST15:
        return (bits >> 15 & EACH_ROW) * 0xffff << ROW;
    case DPP_ROW_BCAST31:
        return (bits >> 31 & 1) * 0xffffffff << 32;
    default:
        return ctrl < DPP_ROW_SHL ? quad_perm_lanes(ctrl, bits) : row_lanes(ctrl, bits);
    }
}

static void quad_perm(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    int a = (int)(ctrl & 3);
    int b = (int)(ctrl >> 2 & 3);
    int c = (int)(ctrl >> 4 & 3);
    int d = (int)(ctrl >> 6 & 3);
    __m256i index = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 value = _mm256_castsi256_ps(em_load8(src, i));
        em_store8(dst, i, _mm256_castps_si256(_mm256_permutevar_ps(value, index)));
    }
}

/* Lane i of a row takes lane (((i & keep) ^ flip) + add) % 16 of it; where a shift
 * leaves the row, what is taken is of no account. */
static void row_permute(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    int n = (int)(ctrl % ROW);
    int keep = ROW - 1;
    int flip = 0;
    int add = -n; /* row_shr, row_ror */
    switch (ctrl & ~(ROW - 1U)) {
    case DPP_ROW_SHL:
        add = n;
        break;
    case DPP_ROW_MIRROR: /* and row_half_mirror */
        flip = ctrl == DPP_ROW_MIRROR ? 15 : 7;
        add = 0;
        break;
    case DPP_ROW_NEWBCAST:
        keep = 0;
        add = n;
        break;
    default:
        break;
    }
    __m256i index[2];
    __m256i high[2];
    for (int half = 0; half < 2; half++) {
        __m256i lane = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                        _mm256_set1_epi32(8 * half));
        lane = _mm256_and_si256(lane, _mm256_set1_epi32(keep));
        lane = _mm256_xor_si256(lane, _mm256_set1_epi32(flip));
        index[half] = _mm256_add_epi32(lane, _mm256_set1_epi32(add));
        /* Bit 3, which says which half of the row, to the sign. */
        high[half] = _mm256_slli_epi32(index[half], 28);
    }
    for (unsigned row = 0; row < EM_LANES; row += ROW) {
        __m256i a = em_load8(src, row);
        __m256i b = em_load8(src, row + 8);
        for (unsigned half = 0; half < 2; half++) {
            __m256 low =
                _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(a, index[half]));
            __m256 top =
                _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(b, index[half]));
            __m256 both = _mm256_blendv_ps(low, top, _mm256_castsi256_ps(high[half]));
            em_store8(dst, row + 8 * half, _mm256_castps_si256(both));
        }
    }
}

static void wave_move(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    bool up = ctrl >= DPP_WAVE_SHR; /* to higher lanes */
    memcpy(dst + up, src + !up, (EM_LANES - 1) * sizeof(*src));
    dst[up ? 0 : EM_LANES - 1] = src[up ? EM_LANES - 1 : 0];
}

static void row_bcast(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    for (unsigned row = 0; row < EM_LANES; row += ROW) {
        unsigned from = ctrl == DPP_ROW_BCAST31 ? 31 : (row - 1) % EM_LANES;
        for (unsigned i = 0; i < ROW; i++) {
            dst[row + i] = src[from];
        }
    }
}

/* Lanes without a source lane get any value. */
static void move_row(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    switch (ctrl) {
    case DPP_WAVE_SHL:
    case DPP_WAVE_ROL:
    case DPP_WAVE_SHR:
    case DPP_WAVE_ROR:
        wave_move(ctrl, src, dst);
        break;
    case DPP_ROW_BCAST15:
    case DPP_ROW_BCAST31:
        row_bcast(ctrl, src, dst);
        break;
    default:
        if (ctrl < DPP_ROW_SHL) {
            quad_perm(ctrl, src, dst);
        } else {
            row_permute(ctrl, src, dst);
        }
        break;
    }
}

/* Lanes whose source lane is disabled by EXEC read 0 as those without one do (where the
 * instruction has bound_ctrl; else they store nothing). */
void em_dpp_row(unsigned ctrl, uint64_t exec, const uint32_t *src, uint32_t *dst)
{
    move_row(ctrl, src, dst);
    uint64_t valid = em_dpp_lanes(ctrl, exec);
    if (~valid) {
        for (unsigned i = 0; i < EM_LANES; i += 8) {
            __m256i mask = em_lanes8((uint32_t)(valid >> i) & 0xff);
            em_store8(dst, i, _mm256_and_si256(em_load8(dst, i), mask));
        }
    }
}
