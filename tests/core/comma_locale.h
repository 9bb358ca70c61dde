/* Switches the process to a locale whose decimal point is a comma, without one being
 * installed: writes an LC_NUMERIC file in the C library's own format. */
#ifndef WF_TESTS_CORE_COMMA_LOCALE_H
#define WF_TESTS_CORE_COMMA_LOCALE_H

#include "tests/core/temp_dir.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>

/* magic, number of strings, offsets of: decimal point, thousands separator, grouping,
 * both again as wide characters, code set. */
static inline void comma_locale_write(const char *path)
{
    uint32_t head[8] = { 0x20031115u ^ LC_NUMERIC, 6, 32, 34, 35, 36, 40, 44 };
    unsigned char file[50];
    struct wf_error err;
    uint32_t wide = ',';

    memset(file, 0, sizeof file);
    memcpy(file, head, sizeof head);
    file[32] = ',';
    memcpy(file + 36, &wide, sizeof wide);
    memcpy(file + 44, "UTF-8", 5);
    cr_assert_eq(wf_file_write_atomic(path, file, sizeof file, &err), WF_OK, "%s",
                 err.text);
}

static inline void comma_locale_use(struct temp_dir *dir)
{
    char shown[16];
    struct wf_error err;

    cr_assert_eq(wf_mkdir_parents(temp_dir_file(dir, "comma"), &err), WF_OK);
    comma_locale_write(temp_dir_file(dir, "comma/LC_NUMERIC"));
    cr_assert_eq(setenv("LOCPATH", dir->path, 1), 0);
    cr_assert_not_null(setlocale(LC_NUMERIC, "comma"));
    (void)snprintf(shown, sizeof shown, "%.1f", 1.5);
    cr_assert_str_eq(shown, "1,5", "the test's locale must be in force");
}

#endif
