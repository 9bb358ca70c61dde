/* The HIP ABI's structures and numbers against HIP's headers; those of HIP 6, for which
 * there are none here, against what its header gives on x86-64. */
#include "emulator/hip/api.h"
#include "hip_theirs.h"

#include <criterion/criterion.h>
#include <stddef.h>

static const struct layout our_layout[] = {
#define MEMBER(ours, our_member, theirs, member)         \
    { #ours "." #our_member, offsetof(ours, our_member), \
      sizeof(((ours *)NULL)->our_member) },
#define WHOLE(ours, theirs) { #ours, 0, sizeof(ours) },
#include "hip_layout.def"
#undef MEMBER
#undef WHOLE
};

Test(hip_layout, structures_of_hip_5_are_the_same)
{
    cr_assert_eq(sizeof(our_layout) / sizeof(our_layout[0]), their_layout_count);
    for (size_t i = 0; i < their_layout_count; i++) {
        cr_expect_eq(our_layout[i].offset, their_layout[i].offset, "%s: %zu, not %zu",
                     our_layout[i].name, our_layout[i].offset, their_layout[i].offset);
        cr_expect_eq(our_layout[i].bytes, their_layout[i].bytes, "%s: %zu, not %zu",
                     our_layout[i].name, our_layout[i].bytes, their_layout[i].bytes);
    }
}

Test(hip_layout, properties_of_hip_6_are_where_its_header_has_them)
{
#define AT(member) offsetof(struct hip_properties_r0600, member)
    static const struct {
        const char *name;
        size_t ours, theirs;
    } members[] = {
        { "uuid", AT(uuid), 256 },
        { "totalGlobalMem", AT(totalGlobalMem), 288 },
        { "maxThreadsPerBlock", AT(maxThreadsPerBlock), 320 },
        { "clockRate", AT(clockRate), 348 },
        { "multiProcessorCount", AT(multiProcessorCount), 388 },
        { "pciBusID", AT(pciBusID), 584 },
        { "memoryClockRate", AT(memoryClockRate), 608 },
        { "l2CacheSize", AT(l2CacheSize), 616 },
        { "sharedMemPerMultiprocessor", AT(sharedMemPerMultiprocessor), 640 },
        { "cooperativeLaunch", AT(cooperativeLaunch), 688 },
        { "sharedMemPerBlockOptin", AT(sharedMemPerBlockOptin), 696 },
        { "memoryPoolsSupported", AT(memoryPoolsSupported), 744 },
        { "gcnArchName", AT(gcnArchName), 1160 },
        { "clockInstructionRate", AT(clockInstructionRate), 1424 },
        { "asicRevision", AT(asicRevision), 1468 },
    };
#undef AT
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        cr_expect_eq(members[i].ours, members[i].theirs, "%s: %zu, not %zu",
                     members[i].name, members[i].ours, members[i].theirs);
    }
    cr_expect_eq(sizeof(struct hip_properties_r0600), 1472);
}

Test(hip_layout, numbers_are_those_of_the_headers)
{
    cr_expect(their_error_count > 60 && their_attribute_count > 40);
    for (size_t i = 0; i < their_error_count; i++) {
        cr_expect_eq(their_errors[i].ours, their_errors[i].theirs, "%s",
                     their_errors[i].name);
    }
    for (size_t i = 0; i < their_attribute_count; i++) {
        cr_expect_eq(their_attributes[i].ours, their_attributes[i].theirs, "%s",
                     their_attributes[i].name);
    }
}
