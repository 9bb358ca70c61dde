/* What the files of the record share. */
#ifndef WF_GATE_RECORD_INTERNAL_H
#define WF_GATE_RECORD_INTERNAL_H

#include "core/verdict.h"
#include "gate/header_internal.h"
#include "gate/level.h"
#include "gate/record.h"

enum {
    ARM_BASE,
    ARM_CANDIDATE,
    ARM_COUNT
};

/* A pair's line, understood. */
struct record_part {
    bool there;
    bool has[ARM_COUNT]; /* the arm exists */
    enum wf_answer answer[ARM_COUNT];
    int block_count;
    struct wf_gate_block block[WF_GATE_MAX_BLOCKS];
    size_t line;
};

#define NO_LINE ((size_t)-1)

struct record_pair {
    bool due; /* was open when its group's last round ended: may be in the next one */
    struct record_part part;         /* of the round under way */
    size_t newest, wrong[ARM_COUNT]; /* lines; NO_LINE */
    size_t level_count;              /* same-code sentinels: of the last rounds */
    double level[WF_GATE_LEVELS];
};

struct record_group {
    int32_t done;   /* number of the last round that a line has ended; 0: none */
    bool under_way; /* lines of round done + 1 have come */
    bool closed;    /* by a line of kind "close" */
};

struct wf_gate_record {
    struct wf_json *header_json;
    struct gate_header header;
    struct wf_gate *gate;
    struct record_pair *pair;
    struct record_group *group;
    struct wf_json **line; /* owned; all after the header */
    size_t line_count, line_cap;
    size_t verdict; /* its line; NO_LINE */
};

/* Understands a line of kind "pair"; *ret_pair: whose. Changes nothing. */
enum wf_status record_part_read(const struct wf_gate_record *r,
                                const struct wf_json *line,
                                size_t *ret_pair,
                                struct record_part *ret,
                                struct wf_error *err);
/* EINVAL: not the round that is next in this group. */
enum wf_status record_check_round(const struct wf_gate_record *r,
                                  int group,
                                  int64_t round,
                                  struct wf_error *err);
/* Pair i's part of its group's round under way; EINVAL: it has one, or none is due. */
enum wf_status record_take_part(struct wf_gate_record *r,
                                size_t i,
                                int group,
                                const struct record_part *part,
                                struct wf_error *err);
/* The round has ended: its parts reach the gate, which decides. */
enum wf_status record_round_over(struct wf_gate_record *r,
                                 int group,
                                 bool is_void,
                                 struct wf_error *err);
/* The parts of a group's round reach the gate; `is_void`: all count as lost. */
enum wf_status record_round_end(struct wf_gate_record *r,
                                int group,
                                bool is_void,
                                struct wf_error *err);

#endif
