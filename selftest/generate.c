/* Draws mutants of a kernel's code objects, leaves out those that provably compute the
 * same, and makes packs of them.
 *
 * Every change that could be made is listed, by kind, in an order that the seed
 * shuffles. Kinds take turns: the next change of a kind becomes a mutant, or is counted
 * as left out. Equal packs, kernels, counts and seeds give equal sets. */
#include "selftest/generate.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/rng.h"
#include "emulator/isa/print.h"
#include "selftest/generate_object.h"
#include "selftest/generate_prove.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct candidate {
    struct gen_change change;
    uint16_t object, function;
};

struct pile {
    struct candidate *at;
    size_t count, capacity, next;
};

struct mutant {
    struct candidate what;
    char *name;
};

struct wf_generated_set {
    char *kernel;
    struct gen_objects objects;
    struct pile pile[GEN_KINDS];
    struct mutant *mutant;
    size_t count;
    size_t excluded[GEN_REASONS];
    bool failed;               /* no memory while listing */
    uint16_t object, function; /* being listed */
};

static void add_candidate(void *ctx, const struct gen_change *change)
{
    struct wf_generated_set *set = ctx;
    struct pile *p = &set->pile[change->kind];
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 256;
        struct candidate *grown = wf_realloc_array(p->at, capacity, sizeof(*grown));
        if (!grown) {
            set->failed = true;
            return;
        }
        p->at = grown;
        p->capacity = capacity;
    }
    p->at[p->count++] = (struct candidate){ .change = *change,
                                            .object = set->object,
                                            .function = set->function };
}

static enum wf_status list_changes(struct wf_generated_set *set, struct wf_error *err)
{
    for (size_t o = 0; o < set->objects.count; o++) {
        const struct gen_object *object = &set->objects.object[o];
        for (size_t f = 0; f < object->count; f++) {
            const struct gen_function *function = &object->function[f];
            set->object = (uint16_t)o;
            set->function = (uint16_t)f;
            for (uint32_t i = function->entry; i < function->end;
                 i = em_code_at(object->code, i)->next) {
                gen_enumerate(object->code, i, &function->limits, add_candidate, set);
            }
        }
    }
    return set->failed ? wf_errorf(err, WF_ENOMEM, "no memory for the mutants of %s",
                                   set->kernel)
                       : WF_OK;
}

static void shuffle(struct pile *p, struct wf_rng *rng)
{
    for (size_t i = p->count; i > 1; i--) {
        size_t j = (size_t)wf_rng_next_below(rng, i);
        struct candidate c = p->at[i - 1];
        p->at[i - 1] = p->at[j];
        p->at[j] = c;
    }
}

static char *name_of(const struct wf_generated_set *set, const struct candidate *c)
{
    const struct gen_object *object = &set->objects.object[c->object];
    const struct gen_function *function = &object->function[c->function];
    const struct em_op *op = em_code_at(object->code, c->change.at);
    struct em_inst now;
    char was[160];
    char is[160];
    (void)em_print(&op->in, was, sizeof(was));
    (void)em_decode(c->change.word, c->change.words, &now);
    (void)em_print(&now, is, sizeof(is));
    return wf_asprintf("%s/%s+0x%" PRIx32 " %s: %s -> %s", set->kernel, function->name,
                       (c->change.at - function->entry) * 4,
                       gen_kind_name((enum gen_kind)c->change.kind), was, is);
}

/* The next of a kind that is not proven the same; false: there are no more. */
static bool draw_one(struct wf_generated_set *set, struct pile *p)
{
    while (p->next < p->count) {
        const struct candidate *c = &p->at[p->next++];
        const struct gen_function *f =
            &set->objects.object[c->object].function[c->function];
        enum gen_reason reason = gen_prove(&f->flow, f->waits, f->values, &c->change);
        if (reason != GEN_NOT_PROVEN) {
            set->excluded[reason]++;
            continue;
        }
        struct mutant *m = &set->mutant[set->count];
        m->what = *c;
        m->name = name_of(set, c);
        set->failed = set->failed || !m->name;
        set->count++;
        return true;
    }
    return false;
}

static enum wf_status draw(struct wf_generated_set *set,
                           size_t count,
                           uint64_t seed,
                           struct wf_error *err)
{
    struct wf_rng rng = { .seed = seed };
    set->mutant = wf_calloc(count ? count : 1, sizeof(*set->mutant));
    if (!set->mutant) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu mutants", count);
    }
    for (size_t k = 0; k < GEN_KINDS; k++) {
        rng.stream = k;
        rng.next = 0;
        shuffle(&set->pile[k], &rng);
    }
    bool more = true;
    while (more && set->count < count && !set->failed) {
        more = false;
        for (size_t k = 0; k < GEN_KINDS && set->count < count; k++) {
            more = draw_one(set, &set->pile[k]) || more;
        }
    }
    if (set->failed) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu mutants", count);
    }
    return set->count == count
               ? WF_OK
               : wf_errorf(err, WF_EINVAL,
                           "%s: %zu mutants are asked for, there are %zu", set->kernel,
                           count, set->count);
}

enum wf_status wf_generated_create(const char *pack_folder,
                                   const char *kernel,
                                   size_t count,
                                   uint64_t seed,
                                   struct wf_generated_set **ret,
                                   struct wf_error *err)
{
    struct wf_generated_set *set = wf_calloc(1, sizeof(*set));
    if (!set || !(set->kernel = wf_strdup(kernel))) {
        free(set);
        return wf_errorf(err, WF_ENOMEM, "no memory for mutants of %s", kernel);
    }
    enum wf_status st = gen_objects_open(pack_folder, kernel, &set->objects, err);
    if (st == WF_OK) {
        st = list_changes(set, err);
    }
    if (st == WF_OK) {
        st = draw(set, count, seed, err);
    }
    for (size_t k = 0; k < GEN_KINDS; k++) {
        free(set->pile[k].at);
        set->pile[k] = (struct pile){ 0 };
    }
    if (st != WF_OK) {
        wf_generated_destroy(set);
        return st;
    }
    *ret = set;
    return WF_OK;
}

void wf_generated_destroy(struct wf_generated_set *set)
{
    if (!set) {
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        free(set->mutant[i].name);
    }
    free(set->mutant);
    gen_objects_close(&set->objects);
    free(set->kernel);
    free(set);
}

size_t wf_generated_count(const struct wf_generated_set *set)
{
    return set->count;
}

const char *wf_generated_name(const struct wf_generated_set *set, size_t i)
{
    return set->mutant[i].name;
}

const char *wf_generated_kind(const struct wf_generated_set *set, size_t i)
{
    return gen_kind_name((enum gen_kind)set->mutant[i].what.change.kind);
}

const char *wf_generated_excluded(const struct wf_generated_set *set,
                                  size_t i,
                                  size_t *ret_count)
{
    if (i >= GEN_REASONS) {
        return NULL;
    }
    *ret_count = set->excluded[i];
    return gen_reason_text((enum gen_reason)i);
}

enum wf_status wf_generated_write(const struct wf_generated_set *set,
                                  size_t i,
                                  const char *folder,
                                  struct wf_error *err)
{
    const struct candidate *c = &set->mutant[i].what;
    return gen_objects_write(&set->objects, c->object, &c->change, folder, err);
}
