#include "runner/trust.h"

#include <criterion/criterion.h>

#define S 1000000000LL

Test(trust, the_window_ends_before_the_coordinators)
{
    for (int64_t ttl = S; ttl <= 100 * S; ttl += S / 3) {
        cr_assert_lt(wf_trusted_until_ns(5 * S, ttl), 5 * S + ttl);
        cr_assert_gt(wf_trusted_until_ns(5 * S, ttl), 5 * S);
    }
}

Test(trust, the_margin_is_bounded)
{
    cr_assert_eq(wf_trust_margin_ns(30 * S), 3 * S);
    cr_assert_eq(wf_trust_margin_ns(1000 * S), 3 * S);
    cr_assert_eq(wf_trust_margin_ns(S), S / 4);
}

Test(trust, a_ttl_shorter_than_the_margin_is_never_trusted)
{
    cr_assert_eq(wf_trusted_until_ns(5 * S, S / 4), 0);
    cr_assert_not(wf_is_trusted(wf_trusted_until_ns(5 * S, S / 5), 5 * S));
}

Test(trust, it_ends_exactly_at_its_end)
{
    int64_t until = wf_trusted_until_ns(0, 10 * S);
    cr_assert(wf_is_trusted(until, until - 1));
    cr_assert_not(wf_is_trusted(until, until));
}
