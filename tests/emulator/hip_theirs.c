/* What HIP's own headers say; the only file of these tests that includes them. */
#include "hip_theirs.h"

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <stddef.h>

const struct layout their_layout[] = {
#define MEMBER(ours, our_member, theirs, member) \
    { #theirs "." #member, offsetof(theirs, member), sizeof(((theirs *)NULL)->member) },
#define WHOLE(ours, theirs) { #theirs, 0, sizeof(theirs) },
#include "hip_layout.def"
#undef MEMBER
#undef WHOLE
};
const size_t their_layout_count = sizeof(their_layout) / sizeof(their_layout[0]);

const struct number their_errors[] = {
#define HIP_ERROR(name, value, text) { #name, value, (long)(name) },
#define HIP_ERROR_LATER(name, value, text)
#include "emulator/hip/error.def"
#undef HIP_ERROR
#undef HIP_ERROR_LATER
};
const size_t their_error_count = sizeof(their_errors) / sizeof(their_errors[0]);

const struct number their_attributes[] = {
#define ATTRIBUTE(number, name, value) \
    { #name, number, (long)(hipDeviceAttribute##name) },
#define ATTRIBUTE_LATER(number, name, value)
#include "emulator/hip/attribute.def"
#undef ATTRIBUTE
#undef ATTRIBUTE_LATER
};
const size_t their_attribute_count =
    sizeof(their_attributes) / sizeof(their_attributes[0]);
