/* A header as read: what record.c works from. */
#ifndef WF_GATE_HEADER_INTERNAL_H
#define WF_GATE_HEADER_INTERNAL_H

#include "gate/header.h"

/* Texts are borrowed from the JSON. */
struct gate_header {
    const char *gate;
    uint8_t seed[WF_GATE_SEED_BYTES];
    bool measured;
    int groups;
    struct wf_gate_rule rule;
    struct wf_gate_pair *pair; /* owned */
    size_t *by_key;            /* owned; pairs in the order of their keys */
    size_t count;
};

/* Strict. The result is to be given to gate_header_free, on success only. */
enum wf_status gate_header_read(const struct wf_json *json,
                                struct gate_header *ret,
                                struct wf_error *err);
void gate_header_free(struct gate_header *h);
/* A gate with the header's rule and pairs, those settled that are not to be run. */
enum wf_status gate_header_gate(const struct gate_header *h,
                                struct wf_gate **ret,
                                struct wf_error *err);
bool gate_header_find(const struct gate_header *h, const char *key, size_t *ret);

#endif
