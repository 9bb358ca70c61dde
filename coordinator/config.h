/* Settings of the coordinator: flags over WAVEFARM_* variables over a file over the
 * defaults. The table is config.def. */
#ifndef WF_COORDINATOR_CONFIG_H
#define WF_COORDINATOR_CONFIG_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum wf_setting {
#define SETTING(name, type, def, least, most, help) WF_SETTING_##name,
#include "coordinator/config.def"
#undef SETTING
    WF_SETTING_COUNT
};

struct wf_config; /* opaque */

enum wf_status wf_config_create(struct wf_config **ret, struct wf_error *err);
void wf_config_destroy(struct wf_config *config);

/* Lines "key = value"; '#' starts a comment; blank lines. An unknown key, a key that is
 * there twice or a bad value names file and line. */
enum wf_status wf_config_file(struct wf_config *config,
                              const char *path,
                              struct wf_error *err);
/* Reads WAVEFARM_<NAME>. */
enum wf_status wf_config_environment(struct wf_config *config, struct wf_error *err);
/* Takes argv[*at] when it is a flag of the table ("--flag value", "--flag=value"; a
 * BOOL may stand alone) and moves *at past it; *ret_taken says whether it was one. */
enum wf_status wf_config_flag(struct wf_config *config,
                              int argc,
                              char *const *argv,
                              int *at,
                              bool *ret_taken,
                              struct wf_error *err);
/* Rules between settings: TLS needs both files, heartbeat at most a third of the ttl.
 */
enum wf_status wf_config_check(const struct wf_config *config, struct wf_error *err);

const char *wf_config_text(const struct wf_config *config, enum wf_setting s);
/* BOOL, INT, BYTES and DURATION (in ms). */
int64_t wf_config_number(const struct wf_config *config, enum wf_setting s);
/* One line a setting: value, where it comes from, what it is. */
void wf_config_explain(const struct wf_config *config, FILE *out);

/* "127.0.0.1:8470", "[::1]:0"; numeric addresses only. */
enum wf_status wf_config_address(const char *text,
                                 char *ret_host,
                                 size_t n,
                                 int *ret_port,
                                 struct wf_error *err);

#endif
