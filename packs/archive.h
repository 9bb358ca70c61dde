/* Limits of wf_pack_unarchive, so that tests need not write 4 GiB. */
#ifndef WF_PACKS_ARCHIVE_H
#define WF_PACKS_ARCHIVE_H

#include "packs/pack.h"

struct pack_archive_limits {
    size_t files;
    uint64_t bytes; /* extracted, all files together */
};

enum wf_status pack_unarchive(const char *from_file,
                              const char *folder,
                              const char *expected_id,
                              const struct pack_archive_limits *limits,
                              struct wf_error *err);

#endif
