/* Guard zones before and behind every object.
 *
 * A zone is as large as what a kernel without a tail check would write: TILE_ROWS rows
 * of the widest step, within what memory allows. Its bytes come from a key that is
 * drawn for each task and stays with the judge, and differ from place to place, so that
 * no constant can be written unseen. Whatever type reads them, most give NaN: every
 * 16-bit lane has all exponent bits of f16, bf16, f32 and f64 set; for the fnuz types,
 * whose one NaN is 0x80, every other byte is that. An index that is read from a zone is
 * far out of range.
 *
 * On the emulator there are none, as it knows bounds to the byte; only what lies
 * between an allocation's start and an offset tensor is filled and checked. */
#include "runner/judge.h"

#include "core/sha256.h"

#include <inttypes.h>
#include <string.h>

#define GUARD_NS   (60 * SECOND_NS)
#define MIN_BYTES  4096u
#define MAX_BYTES  (4u << 20)
#define FREE_BYTES (1u << 20) /* a zone of so much is no question of memory */
#define SHARE      32u        /* larger ones are at most such a part of their object */
#define TILE_ROWS  256u

enum wf_status judge_draw_guard_key(struct judge *j, struct wf_error *err)
{
    return wf_random_bytes(&j->guard_key, sizeof(j->guard_key), err);
}

static uint32_t clamp(uint64_t bytes, uint64_t object_bytes)
{
    uint64_t part = object_bytes / SHARE;
    uint64_t most = part < FREE_BYTES  ? FREE_BYTES
                    : part < MAX_BYTES ? part
                                       : MAX_BYTES;
    uint64_t v = bytes < most ? bytes : most;
    v = (v + MIN_BYTES - 1) / MIN_BYTES * MIN_BYTES;
    return (uint32_t)(v > MIN_BYTES ? v : MIN_BYTES);
}

/* Copies of a set, which only cold runs have, keep the least: there may be many. */
uint32_t judge_tensor_guard(const struct judge *j, size_t set, size_t tensor)
{
    const struct wf_tensor *t = wf_case_tensor(j->c, tensor);
    uint64_t widest = 0;
    if (j->guard_bytes == 0 || set > 0) {
        return j->guard_bytes;
    }
    for (int d = 0; d < t->ndim; d++) {
        uint64_t stride = t->dim[d] > 1 ? (uint64_t)t->stride[d] : 0;
        widest = stride > widest ? stride : widest;
    }
    widest = widest < MAX_BYTES ? widest : MAX_BYTES;
    return clamp(widest * wf_dtype_bytes(t->dtype) * TILE_ROWS, t->bytes);
}

uint32_t judge_buffer_guard(const struct judge *j, size_t set, uint64_t bytes)
{
    return j->guard_bytes == 0 || set > 0 ? j->guard_bytes : clamp(bytes / 8, bytes);
}

static uint64_t mix(uint64_t v)
{
    v ^= v >> 32;
    v *= 0xd6e8feb86659fd93u;
    v ^= v >> 32;
    v *= 0xd6e8feb86659fd93u;
    return v ^ v >> 32;
}

/* Bytes [first, first + n) of a zone; `first` is a multiple of 8. */
static void pattern(const struct judge *j,
                    const struct judge_zone *z,
                    uint64_t first,
                    unsigned char *dst,
                    uint64_t n)
{
    const bool fnuz = z->type == WF_E4M3FNUZ || z->type == WF_E5M2FNUZ;
    const uint64_t keep = fnuz ? 0xff00ff00ff00ff00u : 0x8007800780078007u;
    const uint64_t set = fnuz ? 0x0080008000800080u : 0x7ff87ff87ff87ff8u;
    const uint64_t salt = mix(j->guard_key ^ ((uint64_t)z->object << 1 | z->before));
    for (uint64_t at = 0; at < n; at += sizeof(salt)) {
        uint64_t word = (mix(salt + (first + at) * 0x9e3779b97f4a7c15u) & keep) | set;
        uint64_t part = n - at < sizeof(word) ? n - at : sizeof(word);
        memcpy(dst + at, &word, (size_t)part);
    }
}

static uint64_t zone_bytes(const struct judge_zone *z)
{
    return z->guard_bytes + (z->before ? z->base_bytes : 0);
}

static struct wf_sp_transfer zone_transfer(const struct judge_zone *z)
{
    uint64_t n = zone_bytes(z);
    return (struct wf_sp_transfer){ z->object, 0,
                                    z->before ? -(int64_t)n : (int64_t)z->bytes, n };
}

enum wf_status judge_write_guards(struct judge *j,
                                  const struct judge_zone *object,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    struct judge_zone z = *object;
    for (int side = 0; st == WF_OK && side < 2; side++) {
        z.before = side == 0;
        struct wf_sp_transfer t = zone_transfer(&z);
        if (t.bytes > 0) {
            pattern(j, &z, 0, subject_client_window(j->subject), t.bytes);
            st = judge_call(j, WF_SP_WRITE, &t, sizeof(t), GUARD_NS, NULL, err);
        }
    }
    return st;
}

/* --- checking --- */

struct damage {
    uint64_t first, count; /* from the zone's start */
};

static bool find_damage(const struct judge *j,
                        const struct judge_zone *z,
                        const unsigned char *got,
                        struct damage *ret)
{
    unsigned char want[MIN_BYTES];
    const uint64_t n = zone_bytes(z);
    *ret = (struct damage){ 0, 0 };
    for (uint64_t at = 0; at < n; at += sizeof(want)) {
        uint64_t m = n - at < sizeof(want) ? n - at : sizeof(want);
        pattern(j, z, at, want, m);
        if (memcmp(want, got + at, (size_t)m) == 0) {
            continue;
        }
        for (uint64_t i = 0; i < m; i++) {
            if (want[i] != got[at + i]) {
                ret->first = ret->count ? ret->first : at + i;
                ret->count++;
            }
        }
    }
    return ret->count > 0;
}

static enum wf_status check_zone(struct judge *j,
                                 const struct judge_zone *z,
                                 struct wf_error *err)
{
    struct damage d;
    struct wf_sp_transfer t = zone_transfer(z);
    if (t.bytes == 0) {
        return WF_OK;
    }
    enum wf_status st = judge_call(j, WF_SP_READ, &t, sizeof(t), GUARD_NS, NULL, err);
    if (st != WF_OK || !find_damage(j, z, subject_client_window(j->subject), &d)) {
        return st;
    }
    if (z->before) {
        result_answer(j->result, WF_ANSWER_OUT_OF_BOUNDS,
                      "%" PRIu64 " bytes before %s were written, from %" PRIu64
                      " bytes before its start",
                      d.count, z->name, t.bytes - d.first);
    } else {
        result_answer(j->result, WF_ANSWER_OUT_OF_BOUNDS,
                      "%" PRIu64 " bytes behind %s (%" PRIu64
                      " bytes) were written, from %" PRIu64 " bytes behind its end",
                      d.count, z->name, z->bytes, d.first);
    }
    return st;
}

static enum wf_status check_object(struct judge *j,
                                   struct judge_zone z,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (z.object == JUDGE_NO_OBJECT) {
        return WF_OK;
    }
    for (int side = 0; st == WF_OK && side < 2; side++) {
        z.before = side == 0;
        st = check_zone(j, &z, err);
    }
    return st;
}

/* Those of `of`, which is `j` itself or its twin. */
static enum wf_status check_buffers(struct judge *j,
                                    const struct judge *of,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i <= of->plan->buffer_count; i++) {
        const bool derived =
            i < of->plan->buffer_count && of->plan->buffer[i].kind == WF_BUFFER_DERIVED;
        for (size_t s = 0; st == WF_OK && s < (derived ? of->sets : 1); s++) {
            st = check_object(j, judge_buffer_zone(of, s, i), err);
        }
    }
    return st;
}

enum wf_status judge_check_guards(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t s = 0; st == WF_OK && s < j->sets; s++) {
        for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
            st = check_object(j, judge_tensor_zone(j, s, i), err);
        }
    }
    st = st == WF_OK ? check_buffers(j, j, err) : st;
    return st == WF_OK && j->twin ? check_buffers(j, j->twin, err) : st;
}
