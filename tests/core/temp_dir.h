/* A folder for one test, removed at its end. */
#ifndef WF_TESTS_CORE_TEMP_DIR_H
#define WF_TESTS_CORE_TEMP_DIR_H

#include "core/file.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct temp_dir {
    char path[64];
    char file[192]; /* the last path made by temp_dir_file */
};

static inline void temp_dir_make(struct temp_dir *dir)
{
    (void)snprintf(dir->path, sizeof dir->path, "/tmp/wavefarm-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir->path));
}

static inline void temp_dir_remove(struct temp_dir *dir)
{
    struct wf_error err;

    cr_assert_eq(wf_remove_tree(dir->path, &err), WF_OK, "%s", err.text);
}

static inline const char *temp_dir_file(struct temp_dir *dir, const char *name)
{
    (void)snprintf(dir->file, sizeof dir->file, "%s/%s", dir->path, name);
    return dir->file;
}

#endif
