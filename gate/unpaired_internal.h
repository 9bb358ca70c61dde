/* Shared by the matching and the judging of unpaired results. */
#ifndef WF_GATE_UNPAIRED_INTERNAL_H
#define WF_GATE_UNPAIRED_INTERNAL_H

#include "gate/unpaired.h"

/* Member `key` of member `object` ("" itself when object is NULL); "" when absent. */
const char *wf_unpaired_text(const struct wf_json *result,
                             const char *object,
                             const char *key);
/* Answer, times and interval of the side from its results. */
enum wf_status wf_unpaired_fill(struct wf_unpaired_side *s, struct wf_error *err);
/* Status, ratio and notes of a row whose sides are filled; ENOMEM only. */
enum wf_status wf_unpaired_judge(struct wf_unpaired_row *r, struct wf_error *err);

#endif
