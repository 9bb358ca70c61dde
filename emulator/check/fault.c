/* Records what a kernel did wrong. The first fault of a workgroup is kept: its waves
 * run in turn on one host thread, so which one is first does not depend on the threads;
 * the launch keeps the one of the lowest workgroup. */
#include "emulator/check/fault.h"

#include "emulator/launch/group.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *answer, *words;
} kinds[] = { { "NONE", "OK", "no fault" },
#define X(name, answer, words) { #name, answer, words },
              EM_FAULT_KINDS(X)
#undef X
};

static size_t kind_index(enum em_fault_kind kind)
{
    size_t i = (size_t)kind;
    return i < sizeof(kinds) / sizeof(kinds[0]) ? i : 0;
}

const char *em_fault_name(enum em_fault_kind kind)
{
    return kinds[kind_index(kind)].name;
}

const char *em_fault_answer(enum em_fault_kind kind)
{
    return kinds[kind_index(kind)].answer;
}

const char *em_fault_words(enum em_fault_kind kind)
{
    return kinds[kind_index(kind)].words;
}

struct em_fault *em_wave_fault(struct em_wave *w)
{
    return w->group ? &w->group->fault : NULL;
}

/* The lane that a message names is always one that took part, so that a debugger can be
 * pointed at it. */
enum em_flow em_fault(struct em_wave *w,
                      const struct em_op *op,
                      enum em_fault_kind kind,
                      int lane,
                      const uint64_t *address,
                      const char *format,
                      ...)
{
    struct em_fault *f = em_wave_fault(w);
    if (!f || f->kind != EM_FAULT_NONE) {
        return EM_FAULTED;
    }
    memset(f, 0, sizeof(*f));
    f->kind = kind;
    f->pc = op ? op->index : w->pc;
    memcpy(f->workgroup, w->group->id, sizeof(f->workgroup));
    f->workgroup_index = w->group->index;
    f->wave = w->id;
    f->lane = lane;
    f->has_address = address != NULL;
    f->address = address ? *address : 0;
    f->other_pc = UINT32_MAX;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(f->text, sizeof(f->text), format, list);
    va_end(list);
    return EM_FAULTED;
}

enum em_flow em_memory_fault(struct em_wave *w,
                             const struct em_op *op,
                             int lane,
                             uint64_t address,
                             uint64_t bytes,
                             bool write)
{
    enum em_fault_kind kind = EM_FAULT_OUT_OF_BOUNDS;
    struct em_allocation a;
    if (em_space_find(w->space, address, &a) && address - a.address < a.bytes &&
        bytes <= a.bytes - (address - a.address)) {
        kind = a.freed ? EM_FAULT_USE_AFTER_FREE
                       : (write ? EM_FAULT_READ_ONLY : EM_FAULT_OUT_OF_BOUNDS);
    }
    char text[200];
    em_space_explain(w->space, address, bytes, text, sizeof(text));
    return em_fault(w, op, kind, lane, &address, "%s", text);
}
