/* A file that is rewritten with every input, for readers that take a path. */
#ifndef WF_TESTS_FUZZ_FILE_H
#define WF_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `name` is the file's name in a temporary folder of this process, which stays. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char folder[64], path[128];
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "/tmp/wavefarm-fuzz-XXXXXX");
        if (!mkdtemp(folder)) {
            abort();
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    }
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
        abort();
    }
    return path;
}

#endif
