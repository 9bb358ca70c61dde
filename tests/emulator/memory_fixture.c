#include "tests/emulator/memory_fixture.h"

#include <stdlib.h>
#include <string.h>

void fixture_init(struct memory_fixture *f, uint32_t lds_bytes)
{
    struct wf_error err;
    memset(f, 0, sizeof(*f));
    f->seed = 1;
    f->w = em_wave_create();
    f->group.lds = aligned_alloc(64, EM_MAX_LDS_BYTES);
    if (em_space_create(&f->space, &err) != WF_OK || !f->w || !f->group.lds) {
        abort();
    }
    memset(f->group.lds, 0, EM_MAX_LDS_BYTES);
    f->group.lds_bytes = lds_bytes;
    f->group.waves = 1;
    f->group.wave[0] = f->w;
    f->group.view.space = f->space;
    f->w->group = &f->group;
    f->w->space = f->space;
}

void fixture_fini(struct memory_fixture *f)
{
    free(f->w->scratch);
    em_wave_destroy(f->w);
    free(f->group.lds);
    em_space_destroy(f->space);
}

uint64_t fixture_alloc(struct memory_fixture *f, uint64_t bytes)
{
    struct wf_error err;
    uint64_t address = 0;
    if (em_space_alloc(f->space, 0, EM_MEMORY_DEVICE, bytes, &address, &err) != WF_OK) {
        abort();
    }
    return address;
}

uint32_t fixture_random(struct memory_fixture *f)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(f->seed >> 32);
}

void fixture_scramble(struct memory_fixture *f)
{
    for (unsigned i = 0; i < 64 * EM_LANES; i++) {
        f->w->v[i] = fixture_random(f);
    }
    for (unsigned i = 0; i < EM_MAX_LDS_BYTES; i++) {
        f->group.lds[i] = (uint8_t)fixture_random(f);
    }
    uint64_t exec = fixture_random(f) | (uint64_t)fixture_random(f) << 32;
    unsigned how = fixture_random(f) % 4;
    em_set_s64(f->w, EM_EXEC,
               how == 0   ? UINT64_MAX
               : how == 1 ? exec & exec >> 7
                          : exec);
}

void fixture_set64(struct memory_fixture *f,
                   unsigned vgpr,
                   unsigned lane,
                   uint64_t value)
{
    f->w->v[vgpr * EM_LANES + lane] = (uint32_t)value;
    f->w->v[(vgpr + 1) * EM_LANES + lane] = (uint32_t)(value >> 32);
}

struct em_operand v(unsigned n, unsigned dwords)
{
    return (struct em_operand){ .code = (uint16_t)(EM_VGPR0 + n),
                                .dwords = (uint8_t)dwords };
}

struct em_operand s(unsigned n, unsigned dwords)
{
    return (struct em_operand){ .code = (uint16_t)n, .dwords = (uint8_t)dwords };
}

struct em_inst fixture_inst(enum em_opcode op, enum em_encoding encoding)
{
    struct em_operand none = { .code = EM_NONE };
    struct em_inst in = { .op = (uint16_t)op,
                          .encoding = (uint8_t)encoding,
                          .bytes = 8 };
    in.dst = in.sdst = in.src[0] = in.src[1] = in.src[2] = in.src[3] = none;
    return in;
}

enum em_flow fixture_run(struct memory_fixture *f, const struct em_inst *in)
{
    struct em_op op;
    em_bind(in, &op);
    memset(&f->group.fault, 0, sizeof(f->group.fault));
    return op.run(f->w, &op);
}
