/* The precedence of answers and times is the order of the lists. */
#include "core/verdict.h"

#include <criterion/criterion.h>
#include <string.h>

Test(verdict, every_name_reads_back)
{
    for (unsigned i = 0; i < WF_ANSWER_COUNT; i++) {
        enum wf_answer a;
        cr_assert(wf_answer_parse(wf_answer_name((enum wf_answer)i), &a));
        cr_assert_eq(a, (enum wf_answer)i);
    }
    for (unsigned i = 0; i < WF_TIME_COUNT; i++) {
        enum wf_time t;
        cr_assert(wf_time_parse(wf_time_name((enum wf_time)i), &t));
        cr_assert_eq(t, (enum wf_time)i);
    }
    enum wf_answer a;
    enum wf_time t;
    cr_assert_not(wf_answer_parse("pass", &a));
    cr_assert_not(wf_time_parse("PASS", &t));
    cr_assert_str_eq(wf_answer_name(WF_ANSWER_COUNT), "?");
    cr_assert_str_eq(wf_time_name(WF_TIME_COUNT), "?");
}

Test(verdict, worse_is_the_one_listed_first)
{
    for (unsigned i = 0; i < WF_ANSWER_COUNT; i++) {
        for (unsigned j = 0; j < WF_ANSWER_COUNT; j++) {
            const enum wf_answer w =
                wf_answer_worse((enum wf_answer)i, (enum wf_answer)j);
            cr_assert_eq(w, (enum wf_answer)(i < j ? i : j));
        }
    }
}

Test(verdict, a_crash_hides_a_mismatch_and_cancellation_hides_all)
{
    cr_assert_eq(wf_answer_worse(WF_ANSWER_MISMATCH, WF_ANSWER_CRASH), WF_ANSWER_CRASH);
    cr_assert_eq(wf_answer_worse(WF_ANSWER_PASS, WF_ANSWER_MISMATCH),
                 WF_ANSWER_MISMATCH);
    cr_assert_eq(wf_answer_worse(WF_ANSWER_NONFINITE, WF_ANSWER_UNWRITTEN),
                 WF_ANSWER_UNWRITTEN);
    cr_assert_eq(wf_answer_worse(WF_ANSWER_CRASH, WF_ANSWER_CANCELLED),
                 WF_ANSWER_CANCELLED);
}
