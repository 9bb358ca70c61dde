/* Which LDS accesses are ordered before which: by barriers, by waits before them, and
 * perhaps by LDS atomics.
 *
 * Each wave has a time, which a barrier moves to a common value beyond all of them; an
 * access leaves its wave's time in the dword's tag. known_*[u][v] is the time of wave v
 * up to which its accesses are ordered before what wave u does now: the barrier's, less
 * the writes that v had not waited for; or, since an LDS atomic may be how two waves
 * order themselves, what v had done before an atomic that u's own atomic follows.
 * base_* is the smallest of them: a tag that is not newer is settled by one compare. */
#include "emulator/check/race_lds.h"

#include "core/buf.h"
#include "emulator/check/shadow.h"

#include <stdlib.h>

static void clear_tags(struct em_lds_shadow *s)
{
    for (uint32_t i = 0; i < s->dwords; i++) {
        s->writer[i] =
            s->writer[i] == EM_LDS_PENDING && s->pending ? EM_LDS_PENDING : 0;
    }
    memset(s->reader, 0, s->dwords * sizeof(*s->reader));
}

/* Everything up to now is settled; waves start at `time`. */
static void settle(struct em_lds_shadow *s, uint32_t time)
{
    s->base_w = time - 1;
    s->base_r = time - 1;
    for (unsigned u = 0; u < EM_MAX_WAVES; u++) {
        s->time[u] = time;
        s->done[u] = time - 1;
        s->used[u] = false;
        s->sync[u] = time - 1;
        for (unsigned v = 0; v < EM_MAX_WAVES; v++) {
            s->known_w[u][v] = time - 1;
            s->known_r[u][v] = time - 1;
        }
    }
}

static void restart(struct em_lds_shadow *s)
{
    clear_tags(s);
    settle(s, 1);
}

static uint32_t latest(const struct em_lds_shadow *s)
{
    uint32_t time = 0;
    for (unsigned u = 0; u < EM_MAX_WAVES; u++) {
        time = s->time[u] > time ? s->time[u] : time;
    }
    return time;
}

struct em_lds_shadow *em_lds_shadow_create(uint32_t lds_bytes)
{
    if (lds_bytes > EM_MAX_LDS_BYTES) {
        lds_bytes = EM_MAX_LDS_BYTES;
    }
    struct em_lds_shadow *s = wf_calloc(1, sizeof(*s));
    uint32_t dwords = (lds_bytes + 3) / 4;
    uint32_t *tags = wf_calloc(4 * ((size_t)dwords + EM_LDS_PAD), sizeof(*tags));
    uint8_t *written = wf_calloc((size_t)dwords + EM_LDS_PAD, 1);
    if (!s || !tags || !written) {
        free(s);
        free(tags);
        free(written);
        return NULL;
    }
    s->bytes = lds_bytes;
    s->dwords = dwords;
    s->writer = tags;
    s->reader = tags + dwords + EM_LDS_PAD;
    s->writer_pc = s->reader + dwords + EM_LDS_PAD;
    s->reader_pc = s->writer_pc + dwords + EM_LDS_PAD;
    s->written = written;
    settle(s, 1);
    return s;
}

void em_lds_shadow_reset(struct em_lds_shadow *s)
{
    uint32_t time = latest(s) + 1;
    if (time > EM_LDS_MAX_TIME || s->pending) {
        s->pending = 0;
        restart(s);
    } else {
        settle(s, time);
    }
    s->epoch = 0;
    memset(s->written, 0, s->dwords);
}

void em_lds_shadow_destroy(struct em_lds_shadow *s)
{
    if (s) {
        free(s->writer);
        free(s->written);
        free(s);
    }
}

/* Up to which time the wave's writes are ordered by a barrier that it passes now. */
static uint32_t waited(const struct em_lds_shadow *s, const struct em_wave *w)
{
    const struct em_shadow *shadow = w ? w->shadow : NULL;
    for (unsigned i = 0; shadow && i < shadow->outstanding; i++) {
        const struct em_outstanding *e = &shadow->entry[i];
        if (e->lds_time > s->done[w->id]) {
            return e->lds_time - 1;
        }
    }
    return w ? s->time[w->id] : 0;
}

void em_race_lds_barriers(struct em_wave *w)
{
    struct em_lds_shadow *s = w->group ? w->group->lds_shadow : NULL;
    if (!s || s->epoch == w->group->epoch) {
        return;
    }
    s->epoch = w->group->epoch;
    uint32_t now = latest(s);
    if (now + 1 > EM_LDS_MAX_TIME) {
        restart(s);
        return;
    }
    uint32_t least = now;
    uint32_t written[EM_MAX_WAVES];
    for (unsigned v = 0; v < EM_MAX_WAVES; v++) {
        written[v] = now;
        if (v < w->group->waves && w->group->wave[v]) {
            uint32_t until = waited(s, w->group->wave[v]);
            written[v] = until < s->time[v] ? until : now;
        }
        least = written[v] < least ? written[v] : least;
    }
    uint32_t done[EM_MAX_WAVES];
    memcpy(done, s->done, sizeof(done));
    settle(s, now + 1);
    s->base_w = least;
    for (unsigned v = 0; v < EM_MAX_WAVES && least < now; v++) {
        s->done[v] = written[v] < now ? done[v] : now;
        s->sync[v] = written[v];
        for (unsigned u = 0; u < EM_MAX_WAVES; u++) {
            s->known_w[u][v] = written[v];
        }
    }
}

/* What the wave does from now on has a time of its own. */
static void tick(struct em_lds_shadow *s, unsigned id)
{
    if (!s->used[id]) {
        return;
    }
    s->used[id] = false;
    if (++s->time[id] > EM_LDS_MAX_TIME) {
        restart(s);
    }
}

/* Writes are done one by one, so each has a time of its own: a wait for some of them,
 * or a counter that is full, says nothing of those behind. */
void em_race_lds_issued(struct em_wave *w)
{
    if (w->group && w->group->lds_shadow) {
        tick(w->group->lds_shadow, w->id);
    }
}

uint32_t em_race_lds_time(struct em_wave *w)
{
    struct em_lds_shadow *s = w->group ? w->group->lds_shadow : NULL;
    return s ? s->time[w->id] : 0;
}

void em_race_lds_done(struct em_wave *w, uint32_t time)
{
    struct em_lds_shadow *s = w->group->lds_shadow;
    if (s && time > s->done[w->id] && time <= s->time[w->id]) {
        s->done[w->id] = time;
        if (time == s->time[w->id]) {
            tick(s, w->id);
        }
    }
}

void em_race_lds_synchronise(struct em_lds_shadow *s, unsigned id)
{
    for (unsigned v = 0; v < EM_MAX_WAVES; v++) {
        uint32_t known = v == id ? s->time[id] : s->known_r[id][v];
        s->sync[v] = known > s->sync[v] ? known : s->sync[v];
        if (v != id && s->sync[v] > s->known_r[id][v]) {
            s->known_r[id][v] = s->sync[v];
            s->known_w[id][v] = s->sync[v];
        }
    }
    tick(s, id);
}
