/* Lines of a gate's record as runners send them: a pair in a round (docs/schemas/
 * block.schema.json) or the round's facts. Pure. */
#ifndef WF_COORDINATOR_GATE_LINE_H
#define WF_COORDINATOR_GATE_LINE_H

#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"
#include "gate/header.h"

/* What a verdict rests on, out of a pair's record. Texts are borrowed from it. */
struct wf_gate_line {
    const char *gate, *pair; /* pair "": the round's facts */
    int64_t round, group;
    const char *answer[2];      /* of base and candidate; "" no such arm */
    const char *answer_text[2]; /* "" none */
    struct wf_gate_block block[WF_GATE_MAX_BLOCKS];
    size_t block_count;
};

/* Is this a line of a gate's record, or an ordinary result? */
bool wf_gate_line_is(const struct wf_json *result);
/* EINVAL names the member: an answer that there is not, a mask that is none, a slot
 * that value that is not finite. */
enum wf_status wf_gate_line_read(const struct wf_json *record,
                                 struct wf_gate_line *ret,
                                 struct wf_error *err);
/* The columns of the stage (ingest.h) from `digest` on. EINVAL also when the canonical
 * record has another digest. */
enum wf_status wf_gate_line_columns(const struct wf_json *record,
                                    const char *digest,
                                    struct wf_buf *line,
                                    struct wf_error *err);

#endif
