/* Which devices a gate is spread over. */
#include "coordinator/gate_groups.h"

#include <criterion/criterion.h>

static const struct wf_gate_place place[] = {
    { "odd", false }, { "busy", true },  { "busy", true },
    { "idle", true }, { "idle", false }, { "idle", false },
};
#define PLACES (sizeof place / sizeof place[0])

Test(gate_groups, the_model_with_most_idle_devices)
{
    size_t at[PLACES];
    cr_assert_eq(wf_gate_groups_pick(place, PLACES, 100, at), 2);
    cr_expect(at[0] == 4 && at[1] == 5);
}

Test(gate_groups, a_group_has_eight_pairs)
{
    size_t at[PLACES];
    cr_expect_eq(wf_gate_groups_pick(place, PLACES, 15, at), 1);
    cr_expect_eq(wf_gate_groups_pick(place, PLACES, 16, at), 2);
    cr_expect_eq(wf_gate_groups_pick(place, PLACES, 0, at), 1);
}

Test(gate_groups, busy_ones_when_there_are_no_others)
{
    size_t at[PLACES];
    cr_assert_eq(wf_gate_groups_pick(place + 1, 2, 100, at), 1);
    cr_expect_eq(at[0], 0);
    cr_expect_eq(wf_gate_groups_pick(place, 0, 100, at), 0);
}
