/* This machine's memory of noise: for each case x kernel x device model how much a slot
 * scatters (s0) and how much a process start moves the difference of equal code (tau).
 * A file in the cache folder, <cache>/gate-noise.json; each gate adds what its base
 * arms showed, an A/A gate its spread, too. A wrong entry costs power or width, never
 * the guarantee; a lost file is learnt anew. */
#ifndef WF_CLI_GATE_NOISE_H
#define WF_CLI_GATE_NOISE_H

#include "core/error.h"
#include "gate/record.h"

#define GATE_NOISE_SOURCE 96

struct gate_noise; /* opaque */

/* A file that cannot be understood is told on standard error and begun anew. */
enum wf_status gate_noise_open(struct gate_noise **ret, struct wf_error *err);
void gate_noise_free(struct gate_noise *n);

/* Margins by the registry's rule where the pair is known, else the default ones;
 * `ret_source` says which. */
void gate_noise_margins(const struct gate_noise *n,
                        const char *case_id,
                        const char *kernel,
                        const char *model,
                        struct wf_gate_margins *ret,
                        char ret_source[GATE_NOISE_SOURCE]);

/* Adds what the record shows of its pairs on that model. `equal[i]`: both arms of pair
 * i are the same code, so its spread is of process starts alone. Safe against other
 * gates that add at the same time. */
enum wf_status gate_noise_learn(struct wf_gate_record *record,
                                const bool *equal,
                                const char *model,
                                struct wf_error *err);

#endif
