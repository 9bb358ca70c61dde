/* What the HIP headers say, told without including them. */
#ifndef WF_TESTS_RUNNER_HIP_THEIRS_H
#define WF_TESTS_RUNNER_HIP_THEIRS_H

#include <stddef.h>

struct hip_name {
    const char *name;
    long value;
};
extern const struct hip_name their_names[];
extern const size_t their_name_count;
extern void *const their_launch_params[3];

size_t their_properties_bytes(void); /* of the layout before ROCm 6 */
void their_properties_fill(void *properties, const char *arch);

#endif
