/* Loading of the CUDA driver library. It is never linked, so that the same build runs
 * on machines without it; WAVEFARM_LIBCUDA names another file, which is how the tests
 * put a fake in its place. */
#include "runner/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *symbol;
    size_t offset;
    int required;
} DRIVER_SYMBOLS[] = {
#define DRV(required, field, symbol, arguments) \
    { symbol, offsetof(struct cu_driver, field), required },
#include "runner/cuda/driver.def"
#undef DRV
};

static int resolve_symbols(void *library,
                           const char *path,
                           struct cu_driver *ret,
                           char *text,
                           size_t text_bytes)
{
    for (size_t i = 0; i < sizeof DRIVER_SYMBOLS / sizeof DRIVER_SYMBOLS[0]; i++) {
        void *symbol = dlsym(library, DRIVER_SYMBOLS[i].symbol);
        if (symbol == NULL && DRIVER_SYMBOLS[i].required) {
            snprintf(
                text, text_bytes,
                "%s has no %s: the NVIDIA driver is too old (CUDA 12.0 or newer is "
                "needed)",
                path, DRIVER_SYMBOLS[i].symbol);
            return -1;
        }
        /* An object pointer becomes a function pointer; POSIX allows it for dlsym. */
        memcpy((char *)ret + DRIVER_SYMBOLS[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}

int cu_driver_load(struct cu_driver *ret, char *text, size_t text_bytes)
{
    const char *path = getenv("WAVEFARM_LIBCUDA");
    if (path == NULL || path[0] == '\0') {
        path = "libcuda.so.1";
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        snprintf(text, text_bytes,
                 "%s cannot be loaded (%s): install the NVIDIA driver, or set "
                 "WAVEFARM_LIBCUDA to its file",
                 path, why != NULL ? why : "no reason given");
        return -1;
    }
    struct cu_driver driver = { 0 };
    if (resolve_symbols(library, path, &driver, text, text_bytes) != 0) {
        dlclose(library);
        return -1;
    }
    *ret = driver;
    return 0;
}
