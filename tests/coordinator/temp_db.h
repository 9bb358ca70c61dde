/* A throw-away cluster for tests: private, on a unix socket in a temporary folder. */
#ifndef WF_TESTS_COORDINATOR_TEMP_DB_H
#define WF_TESTS_COORDINATOR_TEMP_DB_H

struct temp_db {
    char folder[64];
    char *url;
};

/* Ends the test program when it cannot. */
void temp_db_start(struct temp_db *t);
void temp_db_stop(struct temp_db *t);

#endif
