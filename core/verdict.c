/* Texts and precedence of answers and times: the order of the lists is the order of
 * precedence, so the worse of two is the one listed first. */
#include "core/verdict.h"

#include <string.h>

static const char *const ANSWERS[] = {
#define X(name) #name,
    WF_ANSWER_LIST(X)
#undef X
};

static const char *const TIMES[] = {
#define X(name) #name,
    WF_TIME_LIST(X)
#undef X
};

static bool find_name(const char *const *names, int count, const char *text, int *ret)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

const char *wf_answer_name(enum wf_answer a)
{
    return a < WF_ANSWER_COUNT ? ANSWERS[a] : "?";
}

bool wf_answer_parse(const char *text, enum wf_answer *ret)
{
    int i;
    if (!find_name(ANSWERS, WF_ANSWER_COUNT, text, &i)) {
        return false;
    }
    *ret = (enum wf_answer)i;
    return true;
}

enum wf_answer wf_answer_worse(enum wf_answer a, enum wf_answer b)
{
    return a < b ? a : b;
}

const char *wf_time_name(enum wf_time t)
{
    return t < WF_TIME_COUNT ? TIMES[t] : "?";
}

bool wf_time_parse(const char *text, enum wf_time *ret)
{
    int i;
    if (!find_name(TIMES, WF_TIME_COUNT, text, &i)) {
        return false;
    }
    *ret = (enum wf_time)i;
    return true;
}
