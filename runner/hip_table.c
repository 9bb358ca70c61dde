/* Loads a runtime library and resolves its functions by name.
 *
 * Nothing of a runtime is linked: this is the only way in. A required function that is
 * missing makes the library unusable and all missing ones are named at once. */
#include "runner/hip_table.h"

#include "core/buf.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Layouts of hipDeviceProp_t: the structure's size and where the architecture's name
 * (256 characters) lies in it. */
#define PROPERTIES_R0600_BYTES   1472u
#define PROPERTIES_R0600_ARCH_AT 1160u
#define PROPERTIES_OLD_ARCH_AT   396u
#define PROPERTIES_ARCH_BYTES    256u

static const struct {
    const char *name;
    bool required;
    size_t offset; /* of its pointer in struct wf_hip */
} functions[] = {
#define FN(required, result, name, args) \
    { #name, (required), offsetof(struct wf_hip, name) },
#include "runner/hip_functions.def"
#undef FN
};

/* Every pointer is found or NULL; *missing: the names of required ones that are NULL.
 */
static enum wf_status resolve_all(struct wf_hip *hip,
                                  struct wf_buf *missing,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *symbol = dlsym(hip->handle, functions[i].name);
        memcpy((char *)hip + functions[i].offset, &symbol, sizeof(symbol));
        if (st == WF_OK && functions[i].required && !symbol) {
            st = wf_buf_printf(missing, err, "%s%s", missing->len ? ", " : "",
                               functions[i].name);
        }
    }
    return st;
}

enum wf_status wf_hip_load(const char *library,
                           struct wf_hip *ret,
                           struct wf_error *err)
{
    struct wf_hip hip;
    struct wf_buf missing = WF_BUF_INIT;
    memset(&hip, 0, sizeof(hip));
    if (strlen(library) >= sizeof(hip.library)) {
        return wf_errorf(err, WF_ERANGE, "path of the runtime library is too long: %s",
                         library);
    }
    (void)snprintf(hip.library, sizeof(hip.library), "%s", library);
    hip.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!hip.handle) {
        const char *why = dlerror();
        return wf_errorf(err, WF_ENOTFOUND, "cannot load runtime library %s: %s",
                         library, why ? why : "unknown reason");
    }
    enum wf_status st = resolve_all(&hip, &missing, err);
    if (st == WF_OK && missing.len) {
        st = wf_errorf(err, WF_EUNSUPPORTED,
                       "%s is not a usable HIP runtime: it lacks %s", library,
                       wf_buf_cstr(&missing));
    }
    wf_buf_free(&missing);
    if (st != WF_OK) {
        (void)dlclose(hip.handle);
        return st;
    }
    *ret = hip;
    return WF_OK;
}

enum wf_status wf_hip_check(const struct wf_hip *hip,
                            hipError_t code,
                            const char *what,
                            struct wf_error *err)
{
    if (code == hipSuccess) {
        return WF_OK;
    }
    const char *name = hip->hipGetErrorName(code);
    const char *text = hip->hipGetErrorString(code);
    (void)wf_errorf(err, WF_EDEVICE, "%s: %s (%s)", what, name ? name : "unknown error",
                    text ? text : "no text");
    if (err) {
        err->native = code;
        (void)snprintf(err->domain, sizeof(err->domain), "hip");
    }
    return WF_EDEVICE;
}

enum wf_status wf_hip_arch_name(const struct wf_hip *hip,
                                int device,
                                char *ret,
                                size_t n,
                                struct wf_error *err)
{
    /* Twice the larger layout, so that a later, longer one does not overrun. */
    _Alignas(16) char properties[2 * PROPERTIES_R0600_BYTES];
    size_t at = PROPERTIES_R0600_ARCH_AT;
    hipError_t code = hipErrorNotSupported;
    memset(properties, 0, sizeof(properties));
    if (hip->hipGetDevicePropertiesR0600) {
        code = hip->hipGetDevicePropertiesR0600(properties, device);
    } else if (hip->hipGetDeviceProperties) {
        at = PROPERTIES_OLD_ARCH_AT;
        code = hip->hipGetDeviceProperties(properties, device);
    }
    enum wf_status st = wf_hip_check(hip, code, "device properties", err);
    if (st != WF_OK) {
        return st;
    }
    properties[at + PROPERTIES_ARCH_BYTES - 1] = '\0';
    if (strncmp(properties + at, "gfx", 3) != 0) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: device %d has no architecture name where this layout of "
                         "its properties keeps it",
                         hip->library, device);
    }
    (void)snprintf(ret, n, "%s", properties + at);
    return WF_OK;
}
