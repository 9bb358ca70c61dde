/* Finds the unit that runs an instruction. */
#include "emulator/check/fault.h"
#include "emulator/exec/wave.h"

static enum em_flow run_not_implemented(struct em_wave *w, const struct em_op *op)
{
    char text[160];
    (void)em_print(&op->in, text, sizeof(text));
    return em_fault(w, op, EM_FAULT_NOT_IMPLEMENTED, -1, NULL, "%s", text);
}

static enum em_flow run_bad_register(struct em_wave *w, const struct em_op *op)
{
    char text[160];
    (void)em_print(&op->in, text, sizeof(text));
    return em_fault(w, op, EM_FAULT_BAD_REGISTER, -1, NULL,
                    "%s: an operand runs past the last register", text);
}

void em_bind(const struct em_inst *in, struct em_op *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->in = *in;
    ret->class = EM_CLASS_OTHER;
    bool inside = em_bind_spans(ret);
    bool found = em_bind_scalar(ret) || em_bind_mfma(ret) || em_bind_valu(ret) ||
                 em_bind_lds(ret) || em_bind_vmem(ret);
    if (!found) {
        ret->run = run_not_implemented;
    } else if (!inside) {
        ret->run = run_bad_register;
    }
}
