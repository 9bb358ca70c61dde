/* What race_lds.c and shadow.c know of each other. */
#ifndef WF_EMULATOR_CHECK_RACE_LDS_H
#define WF_EMULATOR_CHECK_RACE_LDS_H

#include "emulator/check/race.h"

/* The time of the wave's LDS accesses; 0: there are no checks. */
uint32_t em_race_lds_time(struct em_wave *w);
/* The wave's LDS write of that time was waited for. */
void em_race_lds_done(struct em_wave *w, uint32_t time);
/* Takes note of barriers that the workgroup passed: before what is outstanding changes,
 * since a barrier does not order a write that was not waited for. */
void em_race_lds_barriers(struct em_wave *w);
/* An atomic, or an acquire at device scope, may have ordered what the workgroup does
 * from now on behind what others did. */
void em_race_set_ordered(struct em_wave *w);
bool em_race_ordered(const struct em_wave *w);

#endif
