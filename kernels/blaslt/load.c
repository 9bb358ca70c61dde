/* Loading the vendor's library, and its errors. State of the process: libraries are
 * loaded once and never unloaded, as their own threads and device memory outlive any
 * caller. A library that is missing is not looked for again. */
#include "kernels/blaslt/blaslt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct blaslt_library library;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int loaded;
static char reason[512];

int blaslt_say(const struct blaslt_says *says, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    /* The analyzer loses sight of va_start. */
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
    (void)vsnprintf(says->text, says->bytes, fmt, args);
    va_end(args);
    return code;
}

int blaslt_status(const struct blaslt_library *lib,
                  const char *function,
                  int status,
                  bool soft,
                  const struct blaslt_says *says)
{
    if (status == 0) {
        return WF_LIB_OK;
    }
    const char *name = lib->vendor->status_name(status);
    return blaslt_say(says, soft ? WF_LIB_UNSUPPORTED : WF_LIB_FAILED, "%s%s: %s (%d)",
                      lib->vendor->prefix, function, name ? name : "unknown status",
                      status);
}

int blaslt_made(const struct blaslt_library *lib,
                const char *function,
                int status,
                const void *object,
                const struct blaslt_says *says)
{
    if (status == 0 && object == NULL) {
        return blaslt_say(
            says, WF_LIB_FAILED,
            "%s%s succeeded but gave no object; this is not a %s that can "
            "be used",
            lib->vendor->prefix, function, lib->vendor->name);
    }
    return blaslt_status(lib, function, status, false, says);
}

bool blaslt_find_symbol(void *shared_object, const char *name, void *member)
{
    void *address = dlsym(shared_object, name);
    memcpy(member, &address, sizeof address); /* ISO C: no cast to a function */
    return address != NULL;
}

/* The first file that loads; the last reason when none does. */
static void *open_file(const struct blaslt_vendor *v, const struct blaslt_says *says)
{
    const char *named = getenv(v->variable);
    const char *one[] = { named, NULL };
    const char *const *files = named && *named ? one : v->files;
    const char *why = NULL;
    for (; *files; files++) {
        void *handle = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            return handle;
        }
        const char *error = dlerror();
        /* "no such file" of a later name must not hide why an earlier one failed */
        if (!why || !strstr(error, "No such file")) {
            (void)blaslt_say(says, 0, "%s cannot be loaded (%s); %s", v->name, error,
                             v->advice);
            why = says->text;
        }
    }
    return NULL;
}

static int find_functions(struct blaslt_library *lib, const struct blaslt_says *says)
{
    char name[96];
    const char *prefix = lib->vendor->prefix;
#define BLASLT_FUNCTION(member, behind, parameters)                               \
    (void)snprintf(name, sizeof name, "%s%s", prefix, behind);                    \
    if (!blaslt_find_symbol(lib->shared_object, name, &lib->f.member)) {          \
        return blaslt_say(says, WF_LIB_UNSUPPORTED, "this %s has no function %s", \
                          lib->vendor->name, name);                               \
    }
#include "kernels/blaslt/functions.def"
#undef BLASLT_FUNCTION
    return WF_LIB_OK;
}

static void load(void)
{
    const struct blaslt_says says = { reason, sizeof reason };
    library.vendor = &blaslt_vendor;
    library.ordinal = -1;
    library.shared_object = open_file(library.vendor, &says);
    loaded =
        library.shared_object ? find_functions(&library, &says) : WF_LIB_UNSUPPORTED;
    if (loaded == WF_LIB_OK) {
        loaded = library.vendor->start(&library, &says);
    }
}

int blaslt_load(const struct blaslt_library **ret, const struct blaslt_says *says)
{
    (void)pthread_once(&once, load);
    if (loaded != WF_LIB_OK) {
        return blaslt_say(says, loaded, "%s", reason);
    }
    *ret = &library;
    return WF_LIB_OK;
}

int blaslt_open(const struct wf_lib_device *device,
                const struct blaslt_library **ret,
                const struct blaslt_says *says)
{
    int rc = blaslt_load(ret, says);
    if (rc != WF_LIB_OK || (library.handle && library.ordinal == device->ordinal)) {
        return rc;
    }
    if (library.handle) {
        (void)library.f.destroy(library.handle); /* of another device */
        library.handle = NULL;
    }
    const int status = library.f.create(&library.handle);
    rc = blaslt_made(&library, "Create", status, library.handle, says);
    library.ordinal = rc == WF_LIB_OK ? device->ordinal : -1;
    return rc;
}
