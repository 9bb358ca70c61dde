/* Files that the build puts into the program. */
#ifndef WF_COORDINATOR_EMBEDDED_H
#define WF_COORDINATOR_EMBEDDED_H

struct wf_migration {
    int version; /* 1, 2, ... without gaps */
    const char *name;
    const char *sql;
};

extern const struct wf_migration wf_migrations[];
extern const int wf_migration_count;
extern const char wf_openapi_json[];

#endif
