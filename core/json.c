/* The JSON tree, kept in cJSON nodes. The only file that includes cJSON.h; reading,
 * building and writing text are in json_read.c, json_build.c and json_write.c.
 *
 * cJSON holds a number as a double and has no count and no index. So, per node:
 *   integer up to 2^53   cJSON_Number with INTEGER_FLAG, exact as a double
 *   larger integer       cJSON_Raw with the literal
 *   array, object        valueint is the number of children, valuestring (which
 *                        cJSON_Delete frees for every type) the index that wf_json_at
 *                        makes on demand
 * cJSON's own parser, printer and cJSON_Duplicate know nothing of this and are never
 * used. A struct wf_json pointer is a cJSON pointer under another name. */
#include "core/json_node.h"

#include <cjson/cJSON.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER_FLAG     (1 << 16) /* cJSON uses the low 10 bits */
#define EXACT_IN_DOUBLE  (UINT64_C(1) << 53)
#define AT_WALKS_UP_TO   8
#define CJSON_TYPE_BITS  0xFF
#define NODE_COUNT_LIMIT INT32_MAX

/* Children by position. Made by the first reader that needs it; several threads may
 * read one tree, so it is published with a compare-and-swap. */
struct child_index {
    size_t count;
    const cJSON *items[];
};

static const cJSON *node(const struct wf_json *v)
{
    return (const void *)v;
}

static cJSON *node_mut(struct wf_json *v)
{
    return (void *)v;
}

static const struct wf_json *value(const cJSON *n)
{
    return (const void *)n;
}

static struct wf_json *value_mut(cJSON *n)
{
    return (void *)n;
}

static int kind(const cJSON *n)
{
    return n->type & CJSON_TYPE_BITS;
}

static bool is_container(const cJSON *n)
{
    return kind(n) == cJSON_Array || kind(n) == cJSON_Object;
}

/* --- making and changing --- */

struct wf_json *wf_json_object(void)
{
    return value_mut(cJSON_CreateObject());
}

struct wf_json *wf_json_array(void)
{
    return value_mut(cJSON_CreateArray());
}

struct wf_json *wf_json_node_null(void)
{
    return value_mut(cJSON_CreateNull());
}

struct wf_json *wf_json_node_bool(bool v)
{
    return value_mut(cJSON_CreateBool(v));
}

struct wf_json *wf_json_node_string(const char *v)
{
    return value_mut(cJSON_CreateString(v));
}

struct wf_json *wf_json_node_f64(double v)
{
    if (isnan(v)) {
        return wf_json_node_string("nan");
    }
    if (isinf(v)) {
        return wf_json_node_string(v < 0 ? "-inf" : "inf");
    }
    return value_mut(cJSON_CreateNumber(v));
}

struct wf_json *wf_json_node_int(bool negative, uint64_t magnitude)
{
    char literal[24];
    cJSON *n;

    if (magnitude <= EXACT_IN_DOUBLE) {
        n = cJSON_CreateNumber(negative ? -(double)magnitude : (double)magnitude);
        if (n != NULL) {
            n->type |= INTEGER_FLAG;
        }
        return value_mut(n);
    }
    (void)snprintf(literal, sizeof literal, "%s%" PRIu64, negative ? "-" : "",
                   magnitude);
    return value_mut(cJSON_CreateRaw(literal));
}

static void drop_index(cJSON *n)
{
    cJSON_free(n->valuestring);
    n->valuestring = NULL;
}

bool wf_json_node_append(struct wf_json *parent, const char *key, struct wf_json *child)
{
    cJSON *p = node_mut(parent);
    bool good;

    if (p == NULL || child == NULL || p->valueint == NODE_COUNT_LIMIT) {
        return false;
    }
    good = key == NULL ? cJSON_AddItemToArray(p, node_mut(child))
                       : cJSON_AddItemToObject(p, key, node_mut(child));
    if (!good) {
        return false;
    }
    drop_index(p);
    p->valueint++;
    return true;
}

bool wf_json_node_set(struct wf_json *obj, const char *key, struct wf_json *child)
{
    cJSON *o = node_mut(obj);

    if (o == NULL || child == NULL) {
        return false;
    }
    if (cJSON_GetObjectItemCaseSensitive(o, key) == NULL) {
        return wf_json_node_append(obj, key, child);
    }
    drop_index(o);
    return cJSON_ReplaceItemInObjectCaseSensitive(o, key, node_mut(child));
}

void wf_json_remove(struct wf_json *obj, const char *key)
{
    cJSON *o = node_mut(obj);
    cJSON *gone = o == NULL ? NULL : cJSON_DetachItemFromObjectCaseSensitive(o, key);

    if (gone == NULL) {
        return;
    }
    drop_index(o);
    o->valueint--;
    cJSON_Delete(gone);
}

void wf_json_free(struct wf_json *root)
{
    cJSON_Delete(node_mut(root));
}

/* --- looking --- */

enum wf_json_type wf_json_type(const struct wf_json *v)
{
    if (v == NULL) {
        return WF_JSON_NULL;
    }
    switch (kind(node(v))) {
    case cJSON_False:
    case cJSON_True:
        return WF_JSON_BOOL;
    case cJSON_Number:
        return (node(v)->type & INTEGER_FLAG) != 0 ? WF_JSON_INT : WF_JSON_DOUBLE;
    case cJSON_Raw:
        return WF_JSON_INT;
    case cJSON_String:
        return WF_JSON_STRING;
    case cJSON_Array:
        return WF_JSON_ARRAY;
    case cJSON_Object:
        return WF_JSON_OBJECT;
    default:
        return WF_JSON_NULL;
    }
}

size_t wf_json_count(const struct wf_json *v)
{
    return v != NULL && is_container(node(v)) ? (size_t)node(v)->valueint : 0;
}

const struct wf_json *wf_json_first(const struct wf_json *v)
{
    return v == NULL ? NULL : value(node(v)->child);
}

const struct wf_json *wf_json_next(const struct wf_json *v)
{
    return v == NULL ? NULL : value(node(v)->next);
}

const char *wf_json_key(const struct wf_json *v)
{
    return v == NULL ? NULL : node(v)->string;
}

static struct child_index *make_index(const cJSON *n)
{
    size_t count = (size_t)n->valueint;
    struct child_index *index =
        cJSON_malloc(sizeof *index + count * sizeof(const cJSON *));
    size_t i = 0;

    if (index == NULL) {
        return NULL;
    }
    for (const cJSON *c = n->child; c != NULL && i < count; c = c->next) {
        index->items[i++] = c;
    }
    index->count = i;
    return index;
}

static const struct child_index *index_of(const cJSON *n)
{
    /* The index is a cache: making it does not change the value that const protects. */
    cJSON *owner = (cJSON *)(uintptr_t)n;
    char *there = __atomic_load_n(&owner->valuestring, __ATOMIC_ACQUIRE);
    struct child_index *made;

    if (there != NULL) {
        return (const void *)there;
    }
    made = make_index(n);
    if (made == NULL) {
        return NULL;
    }
    if (__atomic_compare_exchange_n(&owner->valuestring, &there, (char *)made, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return made;
    }
    cJSON_free(made);
    return (const void *)there;
}

const struct wf_json *wf_json_at(const struct wf_json *v, size_t i)
{
    const struct child_index *index;
    const cJSON *c;

    if (i >= wf_json_count(v)) {
        return NULL;
    }
    index = i < AT_WALKS_UP_TO ? NULL : index_of(node(v));
    if (index != NULL) {
        return value(index->items[i]);
    }
    c = node(v)->child;
    while (i-- > 0) {
        c = c->next;
    }
    return value(c);
}

const struct wf_json *wf_json_find(const struct wf_json *obj, const char *key)
{
    if (wf_json_type(obj) != WF_JSON_OBJECT) {
        return NULL;
    }
    return value(cJSON_GetObjectItemCaseSensitive(node(obj), key));
}

/* --- leaves --- */

const char *wf_json_string(const struct wf_json *v)
{
    return wf_json_type(v) == WF_JSON_STRING ? node(v)->valuestring : NULL;
}

bool wf_json_node_int_value(const struct wf_json *v, bool *ret_negative, uint64_t *ret)
{
    const char *literal;

    if (wf_json_type(v) != WF_JSON_INT) {
        return false;
    }
    if (kind(node(v)) == cJSON_Number) {
        *ret_negative = signbit(node(v)->valuedouble) != 0;
        *ret = (uint64_t)fabs(node(v)->valuedouble);
        return true;
    }
    literal = node(v)->valuestring;
    *ret_negative = literal[0] == '-';
    *ret = 0;
    for (literal += *ret_negative; *literal != '\0'; literal++) {
        *ret = *ret * 10 + (uint64_t)(*literal - '0');
    }
    return true;
}

bool wf_json_as_i64(const struct wf_json *v, int64_t *ret)
{
    bool negative;
    uint64_t magnitude;

    if (!wf_json_node_int_value(v, &negative, &magnitude)) {
        return false;
    }
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool wf_json_as_u64(const struct wf_json *v, uint64_t *ret)
{
    bool negative;
    uint64_t magnitude;

    if (!wf_json_node_int_value(v, &negative, &magnitude) ||
        (negative && magnitude > 0)) {
        return false;
    }
    *ret = magnitude;
    return true;
}

static bool non_finite_name(const char *name, double *ret)
{
    if (strcmp(name, "nan") == 0) {
        *ret = (double)NAN;
    } else if (strcmp(name, "inf") == 0) {
        *ret = (double)INFINITY;
    } else if (strcmp(name, "-inf") == 0) {
        *ret = -(double)INFINITY;
    } else {
        return false;
    }
    return true;
}

bool wf_json_as_f64(const struct wf_json *v, double *ret)
{
    bool negative;
    uint64_t magnitude;

    switch (v == NULL ? cJSON_NULL : kind(node(v))) {
    case cJSON_Number:
        *ret = node(v)->valuedouble;
        return true;
    case cJSON_Raw:
        if (!wf_json_node_int_value(v, &negative, &magnitude)) {
            return false;
        }
        *ret = negative ? -(double)magnitude : (double)magnitude;
        return true;
    case cJSON_String:
        return non_finite_name(node(v)->valuestring, ret);
    default:
        return false;
    }
}

bool wf_json_as_bool(const struct wf_json *v, bool *ret)
{
    if (wf_json_type(v) != WF_JSON_BOOL) {
        return false;
    }
    *ret = kind(node(v)) == cJSON_True;
    return true;
}
