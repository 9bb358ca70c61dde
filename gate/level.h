/* The level rule: a sentinel of equal code that suddenly takes longer or shorter on
 * both arms says that the device is in another state (a clock, a mode, a neighbour).
 * The labels in a block guard against that already; the round is thrown away because
 * what such a state does to other things is not known. */
#ifndef WF_GATE_LEVEL_H
#define WF_GATE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

/* So many of the last levels are the reference: a state that lasts becomes it. */
#define WF_GATE_LEVELS 9

/* `earlier`: levels (mean of the logs of a sentinel's slots) of earlier rounds or
 * nights, the last one last; the last WF_GATE_LEVELS are looked at. Off: further from
 * their median than max(2 %, 5 standard deviations of them). With less than 3 nothing
 * is off. *ret_limit: that distance (NULL: not wanted; INFINITY: less than 3). */
bool wf_gate_level_is_off(const double *earlier,
                          size_t n,
                          double level,
                          double *ret_limit);

#endif
