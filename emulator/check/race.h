/* Races and unwritten bytes of LDS and of global memory. Two accesses of different
 * waves conflict when one writes, neither or only one is atomic, and nothing orders
 * them: a barrier orders a workgroup's waves; between workgroups only a release and an
 * acquire at device scope do. A write of the value that is there already is no
 * conflict. */
#ifndef WF_EMULATOR_CHECK_RACE_H
#define WF_EMULATOR_CHECK_RACE_H

#include "emulator/check/fault.h"
#include "emulator/memory/access.h"

struct em_lds_shadow;    /* of a workgroup */
struct em_global_shadow; /* of a launch; shared by its threads */

struct em_lds_shadow *em_lds_shadow_create(uint32_t lds_bytes);
void em_lds_shadow_reset(struct em_lds_shadow *s); /* for the next workgroup */
void em_lds_shadow_destroy(struct em_lds_shadow *s);
struct em_global_shadow *em_global_shadow_create(void);
void em_global_shadow_destroy(struct em_global_shadow *s);
/* For the next launch, as if just created, but with less to do for the host. False: it
 * has grown so large, or served so often, that it is to be destroyed. */
bool em_global_shadow_renew(struct em_global_shadow *s);
/* For a launch that runs a second time, on the memory that it left: the first write of
 * a dword counts although it writes what is there. */
void em_global_shadow_again(struct em_global_shadow *s);

/* Before the access is carried out, and after its bounds are known to be good: what is
 * there is compared with what will be written. ret_written (reads; may be NULL): per
 * dword of a lane's data, the lanes whose bytes were all written, with values that were
 * written themselves. A direct load to LDS
 * is a write without data, before its em_shadow_issue. */
enum em_flow em_race_lds(struct em_wave *w,
                         const struct em_op *op,
                         const struct em_access *access,
                         uint64_t ret_written[4]);
enum em_flow em_race_global(struct em_wave *w,
                            const struct em_op *op,
                            const struct em_access *access);
/* A direct load to LDS wrote [begin, end) and is outstanding (true) or waited for. */
void em_race_lds_pending(struct em_wave *w, uint32_t begin, uint32_t end, bool pending);
/* The wave's workgroup executed a release or acquire at device scope. */
void em_race_fence(struct em_wave *w, bool release, bool acquire);

#endif
