/* Decodes a code object's executable part at once: an operation for every dword, also
 * for those that are the second half of an instruction, so that a jump anywhere finds
 * what the hardware would find there. One more stands behind the last dword, for waves
 * that run off the end. */
#include "emulator/exec/code.h"

#include "core/buf.h"
#include "emulator/check/fault.h"

#include <inttypes.h>
#include <stdlib.h>

struct em_code {
    struct em_op *op; /* [count + 1] */
    size_t count;
    uint64_t address;
};

enum {
    MAX_DWORDS = 64 << 20 /* 256 MiB of code */
};

static enum em_flow run_bad_instruction(struct em_wave *w, const struct em_op *op)
{
    return em_fault(w, op, EM_FAULT_BAD_INSTRUCTION, -1, NULL,
                    "0x%08" PRIx64 " is no instruction of gfx942", op->data[0]);
}

static enum em_flow run_truncated(struct em_wave *w, const struct em_op *op)
{
    return em_fault(w, op, EM_FAULT_BAD_INSTRUCTION, -1, NULL,
                    "the code ends within the instruction 0x%08" PRIx64, op->data[0]);
}

static enum em_flow run_end_of_code(struct em_wave *w, const struct em_op *op)
{
    return em_fault(w, op, EM_FAULT_BAD_JUMP, -1, NULL, "ran past the end of the code");
}

static void decode_at(struct em_code *code, const uint32_t *words, size_t i)
{
    struct em_op *op = &code->op[i];
    struct em_inst in;
    enum em_decode_status status = em_decode(words + i, code->count - i, &in);
    if (status == EM_DECODED) {
        em_bind(&in, op);
    } else {
        op->in = in;
        op->in.bytes = 4;
        op->class = EM_CLASS_OTHER;
        op->data[0] = words[i];
        op->run = status == EM_UNKNOWN ? run_bad_instruction : run_truncated;
    }
    op->index = (uint32_t)i;
    op->next = (uint32_t)(i + op->in.bytes / 4);
}

enum wf_status em_code_create(const uint32_t *words,
                              size_t count,
                              uint64_t address,
                              struct em_code **ret,
                              struct wf_error *err)
{
    if (count > MAX_DWORDS) {
        return wf_errorf(err, WF_ERANGE, "code of %zu dwords: at most %d", count,
                         MAX_DWORDS);
    }
    struct em_code *code = wf_calloc(1, sizeof(*code));
    struct em_op *op = wf_calloc(count + 1, sizeof(*op));
    if (!code || !op) {
        free(code);
        free(op);
        return wf_errorf(err, WF_ENOMEM, "no memory for code of %zu dwords", count);
    }
    code->op = op;
    code->count = count;
    code->address = address;
    for (size_t i = 0; i < count; i++) {
        decode_at(code, words, i);
    }
    op[count].run = run_end_of_code;
    op[count].index = (uint32_t)count;
    op[count].next = (uint32_t)count;
    op[count].class = EM_CLASS_OTHER;
    *ret = code;
    return WF_OK;
}

void em_code_destroy(struct em_code *code)
{
    if (code) {
        free(code->op);
        free(code);
    }
}

size_t em_code_count(const struct em_code *code)
{
    return code->count;
}

uint64_t em_code_address(const struct em_code *code, uint32_t index)
{
    return code->address + (uint64_t)index * 4;
}

bool em_code_index(const struct em_code *code, uint64_t address, uint32_t *ret)
{
    uint64_t offset = address - code->address;
    if (address < code->address || offset / 4 >= code->count || offset % 4 != 0) {
        return false;
    }
    *ret = (uint32_t)(offset / 4);
    return true;
}

const struct em_op *em_code_at(const struct em_code *code, uint32_t index)
{
    return &code->op[index];
}
