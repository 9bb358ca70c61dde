/* Transitions of shards, and what becomes of a returned shard. */
#include "coordinator/lease.h"

#include <criterion/criterion.h>

/* What docs/wire.md promises, written out by hand: -1 is "refused". */
static const int shard_table[WF_SHARD_STATE_COUNT][WF_SHARD_EVENT_COUNT] = {
    /* LEASE, LAST_RESULT, GIVE_BACK, DIVIDE, GIVE_UP, CANCEL */
    [WF_SHARD_READY] = { WF_SHARD_LEASED, -1, -1, -1, -1, WF_SHARD_CANCELLED },
    [WF_SHARD_LEASED] = { -1, WF_SHARD_DONE, WF_SHARD_READY, WF_SHARD_SPLIT,
                          WF_SHARD_LOST, WF_SHARD_CANCELLED },
    [WF_SHARD_DONE] = { -1, -1, -1, -1, -1, -1 },
    [WF_SHARD_SPLIT] = { -1, -1, -1, -1, -1, -1 },
    [WF_SHARD_CANCELLED] = { -1, -1, -1, -1, -1, -1 },
    [WF_SHARD_LOST] = { -1, -1, -1, -1, -1, -1 },
};

Test(lease, every_shard_state_and_event_does_what_the_table_says)
{
    for (int s = 0; s < WF_SHARD_STATE_COUNT; s++) {
        for (int e = 0; e < WF_SHARD_EVENT_COUNT; e++) {
            enum wf_shard_state next = (enum wf_shard_state)77;
            bool taken =
                wf_shard_step((enum wf_shard_state)s, (enum wf_shard_event)e, &next);
            cr_assert_eq(taken, shard_table[s][e] >= 0, "state %d event %d", s, e);
            cr_assert_eq((int)next, taken ? shard_table[s][e] : 77, "state %d event %d",
                         s, e);
        }
    }
}

Test(lease, a_drained_shard_is_nobodys_fault)
{
    struct wf_return_rule r = wf_lease_returned(WF_RETURN_DRAIN, 2, 5, 1000);
    cr_assert_eq(r.event, WF_SHARD_EVENT_GIVE_BACK);
    cr_assert_eq(r.attempt_infra, 2);
    cr_assert_eq(r.delay_ms, 0);
}

Test(lease, a_failing_shard_rests_is_divided_and_is_given_up)
{
    struct wf_return_rule r = wf_lease_returned(WF_RETURN_ERROR, 0, 5, 1000);
    cr_assert_eq(r.event, WF_SHARD_EVENT_GIVE_BACK);
    cr_assert_eq(r.attempt_infra, 1);
    cr_assert_eq(r.delay_ms, 1000);
    r = wf_lease_returned(WF_RETURN_ERROR, 1, 5, 1000);
    cr_assert_eq(r.event, WF_SHARD_EVENT_DIVIDE);
    cr_assert_eq(r.attempt_infra, 2);
    r = wf_lease_returned(WF_RETURN_ERROR, 1, 1, 1000);
    cr_assert_eq(r.event, WF_SHARD_EVENT_GIVE_BACK);
    for (int open = 1; open < 4; open++) {
        r = wf_lease_returned(WF_RETURN_ERROR, 2, open, 1000);
        cr_assert_eq(r.event, WF_SHARD_EVENT_GIVE_UP);
        cr_assert_eq(r.attempt_infra, WF_LEASE_MAX_INFRA);
    }
}

Test(lease, a_silent_session_counts_but_its_shard_need_not_rest)
{
    struct wf_return_rule r = wf_lease_returned(WF_RETURN_SILENCE, 0, 5, 1000);
    cr_assert_eq(r.event, WF_SHARD_EVENT_GIVE_BACK);
    cr_assert_eq(r.attempt_infra, 1);
    cr_assert_eq(r.delay_ms, 0);
}

Test(lease, a_shard_without_open_tasks_is_done)
{
    struct wf_return_rule r = wf_lease_returned(WF_RETURN_ERROR, 2, 0, 1000);
    cr_assert_eq(r.event, WF_SHARD_EVENT_LAST_RESULT);
    cr_assert_eq(r.attempt_infra, 2);
}
