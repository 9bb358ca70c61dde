/* What the reader and the writer of JSON need from the tree beyond core/json.h. Private
 * to core: json.c implements it over cJSON. */
#ifndef WF_CORE_JSON_NODE_H
#define WF_CORE_JSON_NODE_H

#include "core/json.h"

/* New values without a parent; NULL: no memory. */
struct wf_json *wf_json_node_null(void);
struct wf_json *wf_json_node_bool(bool v);
struct wf_json *wf_json_node_string(const char *v);
struct wf_json *wf_json_node_f64(double v); /* non-finite: the string that names it */
/* An exact integer; negative with magnitude 0 is "-0". The caller keeps to int64_t and
 * uint64_t. */
struct wf_json *wf_json_node_int(bool negative, uint64_t magnitude);
bool wf_json_node_int_value(const struct wf_json *v, bool *ret_negative, uint64_t *ret);

/* Appends to an array (key NULL) or object, in constant time and without looking for
 * the key. On false the child still belongs to the caller. */
bool wf_json_node_append(struct wf_json *parent,
                         const char *key,
                         struct wf_json *child);
/* Appends a member or puts the child in the place of the member that has the key. */
bool wf_json_node_set(struct wf_json *obj, const char *key, struct wf_json *child);

#endif
