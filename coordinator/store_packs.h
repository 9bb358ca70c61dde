/* Storing published packs and their provenance, and reading them. */
#ifndef WF_COORDINATOR_STORE_PACKS_H
#define WF_COORDINATOR_STORE_PACKS_H

#include "coordinator/db.h"
#include "core/json.h"
#include "packs/pack.h"

struct wf_pack_publish {
    const struct wf_pack *pack;
    const char *manifest; /* JSON of pack.json */
    const char *archive;  /* SHA-256 of its blob */
    const char *record;   /* JSON of the provenance record; NULL: none */
    const char *digest;   /* of the record without its time; NULL: none */
    int64_t token_id;
};

struct wf_pack_published {
    int64_t records; /* that the pack now has */
    bool created;    /* false: all of it was there already */
};

/* One transaction. EINVAL: the archive's blob is not there. */
enum wf_status wf_store_pack(struct wf_db *db,
                             const struct wf_pack_publish *publish,
                             struct wf_pack_published *ret,
                             struct wf_error *err);

/* As in GET /v1/packs/{sha256}. ENOTFOUND: no such pack. */
enum wf_status wf_pack_read(struct wf_db *db,
                            const char *pack_id,
                            struct wf_json **ret,
                            struct wf_error *err);

#endif
