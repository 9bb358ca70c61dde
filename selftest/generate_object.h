/* The code objects of one kernel of a pack, taken apart. */
#ifndef WF_SELFTEST_GENERATE_OBJECT_H
#define WF_SELFTEST_GENERATE_OBJECT_H

#include "core/buf.h"
#include "core/json.h"
#include "emulator/load/image.h"
#include "selftest/generate_flow.h"
#include "selftest/generate_kinds.h"
#include "selftest/generate_values.h"
#include "selftest/generate_waits.h"

/* A device kernel that the pack's kernel launches. */
struct gen_function {
    const char *name;
    uint32_t entry, end; /* dwords of the code: [entry, end) */
    struct gen_limits limits;
    struct gen_flow flow;
    struct gen_waits *waits;
    struct gen_values *values;
};

struct gen_object {
    char *file; /* path in the pack */
    struct wf_buf bytes;
    size_t text; /* where in `bytes` the code begins */
    struct em_space *space;
    struct em_image *image;
    const struct em_code *code;
    struct gen_function *function;
    size_t count;
};

struct gen_objects {
    struct wf_json *pack; /* pack.json with that kernel alone */
    struct gen_object *object;
    size_t count;
};

/* ENOTFOUND where the pack has no such kernel, EUNSUPPORTED where it is no code object
 * for gfx942 or its code cannot be followed. */
enum wf_status gen_objects_open(const char *pack_folder,
                                const char *kernel,
                                struct gen_objects *ret,
                                struct wf_error *err);
void gen_objects_close(struct gen_objects *objects);

/* Makes the pack with `change` made in object `which`; NULL: as it is. */
enum wf_status gen_objects_write(const struct gen_objects *objects,
                                 size_t which,
                                 const struct gen_change *change,
                                 const char *folder,
                                 struct wf_error *err);

#endif
