/* What the files that print instructions share. */
#ifndef WF_EMULATOR_ISA_PRINT_H
#define WF_EMULATOR_ISA_PRINT_H

#include "emulator/isa/tables.h"

/* Text that is cut off at `bytes`, but counted. */
struct em_text {
    char *text;
    size_t bytes, length;
    unsigned operands; /* printed so far: a comma goes before the next */
};

__attribute__((format(printf, 2, 3))) void em_put(struct em_text *t,
                                                  const char *format,
                                                  ...);

/* The comma or blank before an operand. */
void em_put_separator(struct em_text *t);
void em_put_operand(struct em_text *t,
                    const struct em_inst *in,
                    struct em_operand operand);
/* The same without what separates it. */
void em_put_value(struct em_text *t,
                  const struct em_inst *in,
                  struct em_operand operand);

void em_put_literal(struct em_text *t, uint32_t value, enum em_type type);

void em_print_scalar(struct em_text *t, const struct em_inst *in);
void em_print_smem(struct em_text *t, const struct em_inst *in);
void em_print_vop(struct em_text *t, const struct em_inst *in); /* VOP1, 2, C and 3 */
void em_print_vop3p(struct em_text *t, const struct em_inst *in);
void em_print_ds(struct em_text *t, const struct em_inst *in);
void em_print_flat(struct em_text *t, const struct em_inst *in);
void em_print_buffer(struct em_text *t, const struct em_inst *in);

#endif
