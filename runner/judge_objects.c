/* Device buffers and programs of a task.
 *
 * A set is one copy of the case's tensors and of what is derived from them; hot runs
 * have one, cold runs rotate through many. Workspaces belong to set 0 and are shared.
 * Set s has the objects [s * stride, (s + 1) * stride): tensors first, then buffers,
 * then the workspace of a library. Absent tensors and empty buffers have no object. Two
 * arms of a pair have the same tensors, and the buffers of one lie behind the other's.
 */
#include "runner/judge.h"

#include "runner/subject_wire.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC_NS             (60 * SECOND_NS)
#define PROGRAM_NS           (120 * SECOND_NS)
#define POISON_PATTERN_BYTES 8u

static size_t buffer_count(const struct judge *j)
{
    return j->plan->buffer_count + 1;
}

static uint64_t buffer_bytes(const struct judge *j, size_t buffer)
{
    return buffer < j->plan->buffer_count ? j->plan->buffer[buffer].bytes
                                          : j->library_workspace_bytes;
}

static bool is_derived(const struct judge *j, size_t buffer)
{
    return buffer < j->plan->buffer_count &&
           j->plan->buffer[buffer].kind == WF_BUFFER_DERIVED;
}

size_t judge_set_objects(const struct judge *j)
{
    return j->base.stride ? j->base.stride : j->tensor_count + buffer_count(j);
}

uint32_t judge_tensor_object(const struct judge *j, size_t set, size_t tensor)
{
    if (j->tensor[tensor].bytes == 0) {
        return JUDGE_NO_OBJECT;
    }
    return (uint32_t)(set * judge_set_objects(j) + tensor);
}

uint32_t judge_buffer_object(const struct judge *j, size_t set, size_t buffer)
{
    if (buffer_bytes(j, buffer) == 0) {
        return JUDGE_NO_OBJECT;
    }
    size_t owner = is_derived(j, buffer) ? set : 0;
    return (uint32_t)(owner * judge_set_objects(j) + j->tensor_count + j->base.buffer +
                      buffer);
}

/* A tensor that is read and written keeps a copy of what it held at first. */
uint32_t judge_pristine_object(const struct judge *j, size_t tensor)
{
    bool inout = wf_case_tensor(j->c, tensor)->role == WF_ROLE_INOUT;
    return inout && j->tensor[tensor].bytes ? (uint32_t)(WF_SP_MAX_OBJECTS - 1 - tensor)
                                            : JUDGE_NO_OBJECT;
}

bool judge_has_inout(const struct judge *j)
{
    for (size_t i = 0; i < j->tensor_count; i++) {
        if (judge_pristine_object(j, i) != JUDGE_NO_OBJECT) {
            return true;
        }
    }
    return false;
}

uint64_t judge_set_bytes(const struct judge *j)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < j->tensor_count; i++) {
        sum += j->tensor[i].bytes;
    }
    for (size_t i = 0; i < j->plan->buffer_count; i++) {
        sum += is_derived(j, i) ? j->plan->buffer[i].bytes : 0;
    }
    return sum;
}

/* --- poison --- */

static struct wf_sp_fill poison_of(uint32_t object,
                                   enum wf_dtype type,
                                   const struct judge_range *r)
{
    uint8_t pattern[POISON_PATTERN_BYTES] = { 0 };
    struct wf_sp_fill f = { .object = object,
                            .pattern_bytes = (uint32_t)wf_dtype_bytes(type),
                            .offset = (int64_t)r->at,
                            .bytes = r->bytes };
    wf_poison(type, pattern, 1);
    memcpy(f.pattern, pattern, sizeof(f.pattern));
    return f;
}

enum wf_status judge_poison_range(struct judge *j,
                                  uint32_t object,
                                  size_t i,
                                  const struct judge_range *r,
                                  struct wf_error *err)
{
    struct wf_sp_fill f = poison_of(object, j->tensor[i].dtype, r);
    return judge_call(j, WF_SP_FILL, &f, sizeof(f), ALLOC_NS, NULL, err);
}

/* --- allocation --- */

static enum wf_status fill(struct judge *j,
                           uint32_t object,
                           int64_t offset,
                           uint64_t bytes,
                           uint8_t byte,
                           struct wf_error *err)
{
    struct wf_sp_fill f = { .object = object,
                            .pattern_bytes = 1,
                            .offset = offset,
                            .bytes = bytes,
                            .pattern = { byte } };
    return judge_call(j, WF_SP_FILL, &f, sizeof(f), ALLOC_NS, NULL, err);
}

struct judge_zone judge_tensor_zone(const struct judge *j, size_t set, size_t tensor)
{
    const struct wf_tensor *t = wf_case_tensor(j->c, tensor);
    return (struct judge_zone){ .object = judge_tensor_object(j, set, tensor),
                                .guard_bytes = judge_tensor_guard(j, set, tensor),
                                .base_bytes = t->base_bytes,
                                .bytes = t->bytes,
                                .name = t->name,
                                .type = t->dtype };
}

struct judge_zone judge_buffer_zone(const struct judge *j, size_t set, size_t buffer)
{
    const bool named = buffer < j->plan->buffer_count;
    const uint64_t bytes = buffer_bytes(j, buffer);
    return (struct judge_zone){ .object = judge_buffer_object(j, set, buffer),
                                .guard_bytes = judge_buffer_guard(j, set, bytes),
                                .bytes = bytes,
                                .name = named ? j->plan->buffer[buffer].name
                                              : "the library's workspace",
                                .type = WF_F16 };
}

static enum wf_status allocate(struct judge *j,
                               const struct judge_zone *z,
                               struct wf_error *err)
{
    struct wf_sp_alloc want = { z->object, z->guard_bytes, z->bytes, z->base_bytes };
    if (z->object == JUDGE_NO_OBJECT) {
        return WF_OK;
    }
    enum wf_status st =
        judge_call(j, WF_SP_ALLOC, &want, sizeof(want), ALLOC_NS, NULL, err);
    return st == WF_OK ? judge_write_guards(j, z, err) : st;
}

static enum wf_status allocate_tensor(struct judge *j,
                                      size_t set,
                                      size_t i,
                                      struct wf_error *err)
{
    struct judge_zone z = judge_tensor_zone(j, set, i);
    enum wf_status st = allocate(j, &z, err);
    if (st == WF_OK && j->touch[i].sparse && !judge_memory_is_sparse(j)) {
        const struct judge_range all = { 0, z.bytes };
        st = judge_poison_range(j, z.object, i, &all, err);
    }
    z.object = judge_pristine_object(j, i);
    return st == WF_OK && set == 0 ? allocate(j, &z, err) : st;
}

static enum wf_status allocate_set(struct judge *j, size_t set, struct wf_error *err)
{
    enum wf_status st = judge_find_touched(j, err);
    for (size_t i = 0; st == WF_OK && !j->has_twins_tensors && i < j->tensor_count;
         i++) {
        st = allocate_tensor(j, set, i, err);
    }
    for (size_t i = 0; st == WF_OK && i < buffer_count(j); i++) {
        if (set > 0 && !is_derived(j, i)) {
            continue;
        }
        struct judge_zone z = judge_buffer_zone(j, set, i);
        st = allocate(j, &z, err);
        bool once = i < j->plan->buffer_count && !is_derived(j, i) &&
                    j->plan->buffer[i].init == WF_INIT_ONCE;
        if (st == WF_OK && z.object != JUDGE_NO_OBJECT && once) {
            st = fill(j, z.object, 0, z.bytes, j->plan->buffer[i].init_byte, err);
        }
        /* A library sees its workspace in prepare already, before any reset: what it
         * finds is no zero. */
        if (st == WF_OK && i == j->plan->buffer_count && z.object != JUDGE_NO_OBJECT) {
            st = fill(j, z.object, 0, z.bytes, 0xff, err);
        }
    }
    return st;
}

/* Grows to `sets` sets; those that are there stay. */
enum wf_status judge_allocate(struct judge *j, size_t sets, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    while (st == WF_OK && j->sets < sets) {
        st = allocate_set(j, j->sets, err);
        j->sets += st == WF_OK;
    }
    return st;
}

static bool is_kept(const struct judge *j, size_t buffer)
{
    const struct wf_plan_buffer *b = &j->plan->buffer[buffer];
    return b->kind == WF_BUFFER_WORKSPACE && b->init == WF_INIT_ONCE && b->bytes > 0;
}

const char *judge_kept_workspace(const struct judge *j)
{
    for (size_t i = 0; i < j->plan->buffer_count; i++) {
        if (is_kept(j, i)) {
            return j->plan->buffer[i].name;
        }
    }
    return NULL;
}

enum wf_status judge_fill_kept(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < j->plan->buffer_count; i++) {
        if (is_kept(j, i)) {
            st = fill(j, judge_buffer_object(j, 0, i), 0, j->plan->buffer[i].bytes,
                      j->plan->buffer[i].init_byte, err);
        }
    }
    return st;
}

/* --- programs --- */

static uint32_t reloc_object(const struct judge *j,
                             size_t set,
                             const struct wf_plan_reloc *r)
{
    if (r->index == WF_PLAN_NULL) {
        return JUDGE_NO_OBJECT;
    }
    return r->is_buffer ? judge_buffer_object(j, set, r->index)
                        : judge_tensor_object(j, set, r->index);
}

static uint32_t code_number(const struct judge *j, const char *label)
{
    for (size_t i = 0; i < j->kernel->code_count; i++) {
        if (strcmp(j->kernel->code[i].label, label) == 0) {
            return (uint32_t)i;
        }
    }
    return 0;
}

/* A message under construction: after a failure nothing more is added. */
struct message {
    struct wf_buf buf;
    enum wf_status st;
    struct wf_error *err;
};

static void add_u32(struct message *m, uint32_t v)
{
    m->st = m->st == WF_OK ? wire_add_u32(&m->buf, v, m->err) : m->st;
}

static void add_u64(struct message *m, uint64_t v)
{
    m->st = m->st == WF_OK ? wire_add_u64(&m->buf, v, m->err) : m->st;
}

static void add_text(struct message *m, const char *text)
{
    m->st = m->st == WF_OK ? wire_add_text(&m->buf, text, m->err) : m->st;
}

static void add_bytes(struct message *m, const void *bytes, size_t n)
{
    m->st = m->st == WF_OK ? wf_buf_add(&m->buf, bytes, n, m->err) : m->st;
}

static void add_addresses(struct message *m,
                          const struct judge *j,
                          size_t set,
                          const struct wf_plan_launch *l)
{
    add_u32(m, (uint32_t)l->reloc_count);
    for (size_t i = 0; i < l->reloc_count; i++) {
        add_u32(m, l->reloc[i].offset);
        add_u32(m, reloc_object(j, set, &l->reloc[i]));
    }
    add_u32(m, (uint32_t)l->pointers_count);
    for (size_t i = 0; i < l->pointers_count; i++) {
        const struct wf_plan_pointer_array *p = &l->pointers[i];
        add_u32(m, p->offset);
        add_u32(m, (uint32_t)p->count);
        for (size_t k = 0; k < p->count; k++) {
            add_u32(m, reloc_object(j, set, &p->item[k]));
            add_u64(m, (uint64_t)p->item_addend[k]);
        }
    }
}

static void add_tensor_maps(struct message *m,
                            const struct judge *j,
                            size_t set,
                            const struct wf_plan_launch *l)
{
    add_u32(m, (uint32_t)l->map_count);
    for (size_t i = 0; i < l->map_count; i++) {
        const struct wf_plan_tensor_map *map = &l->map[i];
        add_u32(m, map->offset);
        add_u32(m, reloc_object(j, set, &map->base));
        add_u64(m, 0);
        add_u32(m, (uint32_t)map->rank);
        add_text(m, wf_dtype_name(map->dtype));
        add_u32(m, (uint32_t)wf_dtype_bytes(map->dtype));
        add_bytes(m, map->dim, sizeof(map->dim));
        add_bytes(m, map->stride_bytes, sizeof(map->stride_bytes));
        add_bytes(m, map->box, sizeof(map->box));
        add_u32(m, map->swizzle_bytes);
    }
}

static void add_launch(struct message *m,
                       const struct judge *j,
                       size_t program,
                       const struct wf_plan_launch *l)
{
    size_t set = judge_program_set(j, program);
    size_t copy = j->copies > 1 ? program % j->copies : 0;
    add_u32(m, j->base.code + (uint32_t)(copy * j->kernel->code_count) +
                   code_number(j, l->code));
    add_text(m, l->symbol);
    add_bytes(m, l->grid, sizeof(l->grid));
    add_bytes(m, l->block, sizeof(l->block));
    add_bytes(m, l->cluster, sizeof(l->cluster));
    add_u32(m, l->shared_bytes);
    add_u32(m, l->cooperative);
    add_u32(m, l->args_bytes);
    add_bytes(m, l->args, l->args_bytes);
    add_u32(m, (uint32_t)l->arg_count);
    add_bytes(m, l->arg_offset, l->arg_count * sizeof(l->arg_offset[0]));
    add_addresses(m, j, set, l);
    add_tensor_maps(m, j, set, l);
}

static void add_each(struct message *m, const struct judge *j)
{
    uint32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < j->plan->buffer_count; i++) {
            const struct wf_plan_buffer *b = &j->plan->buffer[i];
            if (b->kind != WF_BUFFER_WORKSPACE || b->init != WF_INIT_EACH ||
                b->bytes == 0) {
                continue;
            }
            if (pass == 0) {
                count++;
                continue;
            }
            add_u32(m, judge_buffer_object(j, 0, i));
            add_u32(m, b->init_byte);
        }
        if (pass == 0) {
            add_u32(m, count);
        }
    }
}

static enum wf_status set_program(struct judge *j, size_t program, struct wf_error *err)
{
    struct message m = { WF_BUF_INIT, WF_OK, err };
    add_u32(&m, j->base.program + (uint32_t)program);
    add_each(&m, j);
    add_u32(&m, (uint32_t)j->plan->launch_count);
    for (size_t i = 0; i < j->plan->launch_count; i++) {
        add_launch(&m, j, program, &j->plan->launch[i]);
    }
    if (m.st == WF_OK) {
        m.st = judge_call(j, WF_SP_SET_PROGRAM, m.buf.data, m.buf.len, PROGRAM_NS, NULL,
                          err);
    }
    wf_buf_free(&m.buf);
    return m.st;
}

enum wf_status judge_set_programs(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t p = 0; st == WF_OK && p < judge_program_count(j); p++) {
        st = set_program(j, p, err);
    }
    return st;
}

/* --- the reset list: poison before each checked launch and each timed batch --- */

/* Poison for an output, its first content for a tensor that is read and written. */
static uint32_t add_tensor_reset(struct message *m,
                                 const struct judge *j,
                                 size_t set,
                                 size_t tensor)
{
    uint32_t object = judge_tensor_object(j, set, tensor);
    uint32_t pristine = judge_pristine_object(j, tensor);
    const struct wf_plan_tensor *t = &j->tensor[tensor];
    if (object == JUDGE_NO_OBJECT) {
        return 0;
    }
    if (pristine != JUDGE_NO_OBJECT) {
        struct wf_sp_fill f = { .object = object,
                                .source = pristine,
                                .set = (uint32_t)set + 1,
                                .bytes = t->bytes };
        add_bytes(m, &f, sizeof(f));
        return 1;
    }
    if (wf_case_tensor(j->c, tensor)->role != WF_ROLE_OUTPUT) {
        return 0;
    }
    for (size_t r = 0; r < j->touch[tensor].count; r++) {
        const struct judge_range *range = &j->touch[tensor].range[r];
        struct wf_sp_fill f = poison_of(object, t->dtype, range);
        f.set = (uint32_t)set + 1;
        if (j->output_fill != JUDGE_POISON_TYPE) {
            f.pattern_bytes = 1;
            f.pattern[0] = (uint8_t)j->output_fill;
        }
        add_bytes(m, &f, sizeof(f));
    }
    return (uint32_t)j->touch[tensor].count;
}

/* A workspace that nothing promises to fill: a library's is one. */
static bool is_scratch(const struct judge *j, size_t buffer)
{
    const bool scratch = buffer == j->plan->buffer_count ||
                         (j->plan->buffer[buffer].kind == WF_BUFFER_WORKSPACE &&
                          j->plan->buffer[buffer].init == WF_INIT_NONE);
    return scratch && buffer_bytes(j, buffer) > 0;
}

static uint32_t add_resets(struct message *m, const struct judge *j)
{
    uint32_t count = 0;
    for (size_t s = 0; s < j->sets; s++) {
        for (size_t i = 0; i < j->tensor_count; i++) {
            count += add_tensor_reset(m, j, s, i);
        }
    }
    for (size_t i = 0; i < buffer_count(j); i++) {
        if (is_scratch(j, i)) {
            struct wf_sp_fill f = { .object = judge_buffer_object(j, 0, i),
                                    .pattern_bytes = 1,
                                    .bytes = buffer_bytes(j, i),
                                    .pattern = { (uint8_t)j->workspace_poison } };
            add_bytes(m, &f, sizeof(f));
            count++;
        }
    }
    return count;
}

enum wf_status judge_set_reset(struct judge *j, struct wf_error *err)
{
    struct message m = { WF_BUF_INIT, WF_OK, err };
    add_u32(&m, 0);
    uint32_t count = add_resets(&m, j);
    if (m.st == WF_OK) {
        memcpy(m.buf.data, &count, sizeof(count));
        m.st = judge_call(j, WF_SP_SET_RESET, m.buf.data, m.buf.len, PROGRAM_NS, NULL,
                          err);
    }
    wf_buf_free(&m.buf);
    return m.st;
}
