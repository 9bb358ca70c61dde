/* Layouts and numbers of HIP's headers, for the comparison with ours. */
#ifndef WF_TESTS_EMULATOR_HIP_THEIRS_H
#define WF_TESTS_EMULATOR_HIP_THEIRS_H

#include <stddef.h>

struct layout {
    const char *name;
    size_t offset, bytes;
};
extern const struct layout their_layout[];
extern const size_t their_layout_count;

struct number {
    const char *name;
    long ours, theirs;
};
extern const struct number their_errors[];
extern const size_t their_error_count;
extern const struct number their_attributes[];
extern const size_t their_attribute_count;

#endif
