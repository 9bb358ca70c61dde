/* Modules: images loaded on a device, and their functions and variables by name. Live
 * handles are in a list, so that one that was unloaded is an error and nothing worse.
 */
#include "emulator/hip/runtime.h"

#include "core/buf.h"
#include "core/file.h"
#include "emulator/load/bundle.h"
#include "packs/code_object.h"

#include <stdlib.h>
#include <string.h>

struct ihipModule_t {
    struct em_image *image;
    int device;
    struct ihipModuleSymbol_t *functions; /* those that were asked for */
    struct ihipModule_t *next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ihipModule_t *modules;

static struct ihipModule_t **find_module(hipModule_t module)
{
    struct ihipModule_t **link = &modules;
    while (*link != NULL && *link != module) {
        link = &(*link)->next;
    }
    return link;
}

/* --- loading --- */

static enum wf_status load_image(struct em_hip *hip,
                                 int device,
                                 const struct em_chosen *from,
                                 const char *source,
                                 hipModule_t *ret,
                                 struct wf_error *err)
{
    struct ihipModule_t *m = wf_calloc(1, sizeof(*m));
    if (m == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a module");
    }
    enum wf_status st = em_image_load(hip->space, device, from->data, from->bytes,
                                      source, &m->image, err);
    if (st != WF_OK) {
        free(m);
        return st;
    }
    m->device = device;
    (void)pthread_mutex_lock(&list_lock);
    m->next = modules;
    modules = m;
    (void)pthread_mutex_unlock(&list_lock);
    *ret = m;
    return WF_OK;
}

hipError_t em_hip_load(struct em_hip *hip,
                       int device,
                       const void *image,
                       size_t bytes,
                       const char *source,
                       hipModule_t *ret)
{
    struct wf_error err = { 0 };
    struct em_chosen chosen = { 0 };
    enum wf_status st = WF_OK;
    if (bytes == 0) {
        st = em_bundle_measure(image, WF_CODE_MAX_BYTES, source, &bytes, &err);
    }
    if (st == WF_OK) {
        st = em_bundle_choose(image, bytes, source, &chosen, &err);
    }
    if (st == WF_OK) {
        st = load_image(hip, device, &chosen, source, ret, &err);
    }
    em_chosen_fini(&chosen);
    if (st == WF_OK) {
        return hipSuccess;
    }
    return em_hip_fail_status(
        st, st == WF_EUNSUPPORTED ? hipErrorNoBinaryForGpu : hipErrorInvalidImage,
        &err);
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && (module == NULL || image == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code == hipSuccess
               ? em_hip_load(hip, device, image, 0, "code object", module)
               : code;
}

hipError_t hipModuleLoadDataEx(hipModule_t *module,
                               const void *image,
                               unsigned count,
                               void *options,
                               void **values)
{
    (void)count; /* options of a compiler that is not asked */
    (void)options;
    (void)values;
    return hipModuleLoadData(module, image);
}

hipError_t hipModuleLoad(hipModule_t *module, const char *path)
{
    struct em_hip *hip;
    struct wf_error err = { 0 };
    struct wf_buf file = WF_BUF_INIT;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && (module == NULL || path == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code != hipSuccess) {
        return code;
    }
    enum wf_status st = wf_file_read(path, WF_CODE_MAX_BYTES, &file, &err);
    if (st != WF_OK) {
        code = em_hip_fail_status(st, hipErrorFileNotFound, &err);
    } else if (file.len == 0) {
        code = em_hip_fail_words(hipErrorInvalidImage, "%s: an empty file", path);
    } else {
        code = em_hip_load(hip, device, file.data, file.len, path, module);
    }
    wf_buf_free(&file);
    return code;
}

static void destroy(struct ihipModule_t *m)
{
    while (m->functions != NULL) {
        struct ihipModuleSymbol_t *f = m->functions;
        m->functions = f->next;
        free(f);
    }
    em_image_destroy(m->image);
    free(m);
}

hipError_t hipModuleUnload(hipModule_t module)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    (void)pthread_mutex_lock(&hip->running); /* no launch of it is under way */
    (void)pthread_mutex_lock(&list_lock);
    struct ihipModule_t **link = find_module(module);
    struct ihipModule_t *found = *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&list_lock);
    if (found != NULL) {
        destroy(found);
    }
    (void)pthread_mutex_unlock(&hip->running);
    return found != NULL ? hipSuccess : em_hip_fail(hipErrorInvalidHandle);
}

/* --- functions --- */

/* The handle of a kernel: the same one every time. Under the lock. */
static struct ihipModuleSymbol_t *symbol_of(struct ihipModule_t *m,
                                            const struct em_kernel *k)
{
    struct ihipModuleSymbol_t *f = m->functions;
    while (f != NULL && f->kernel != k) {
        f = f->next;
    }
    if (f == NULL && (f = wf_calloc(1, sizeof(*f))) != NULL) {
        f->image = m->image;
        f->kernel = k;
        f->device = m->device;
        f->next = m->functions;
        m->functions = f;
    }
    return f;
}

hipError_t em_hip_module_function(struct em_hip *hip,
                                  hipModule_t module,
                                  const char *name,
                                  hipFunction_t *ret)
{
    (void)hip;
    hipError_t code = hipErrorInvalidHandle;
    (void)pthread_mutex_lock(&list_lock);
    struct ihipModule_t *m = *find_module(module);
    if (m != NULL) {
        const struct em_kernel *k = em_image_find(m->image, name);
        struct ihipModuleSymbol_t *f = k == NULL ? NULL : symbol_of(m, k);
        code = k == NULL   ? hipErrorNotFound
               : f == NULL ? hipErrorOutOfMemory
                           : hipSuccess;
        *ret = f;
    }
    (void)pthread_mutex_unlock(&list_lock);
    return em_hip_fail(code);
}

hipError_t hipModuleGetFunction(hipFunction_t *function,
                                hipModule_t module,
                                const char *name)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess && (function == NULL || name == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code == hipSuccess ? em_hip_module_function(hip, module, name, function)
                              : code;
}

const struct ihipModuleSymbol_t *em_hip_function(struct em_hip *hip, hipFunction_t f)
{
    (void)hip;
    const struct ihipModuleSymbol_t *found = NULL;
    (void)pthread_mutex_lock(&list_lock);
    for (struct ihipModule_t *m = modules; found == NULL && m != NULL; m = m->next) {
        found = m->functions;
        while (found != NULL && found != f) {
            found = found->next;
        }
    }
    (void)pthread_mutex_unlock(&list_lock);
    return found;
}

const struct em_image *em_hip_module_image(hipModule_t module)
{
    (void)pthread_mutex_lock(&list_lock);
    const struct ihipModule_t *m = *find_module(module);
    const struct em_image *image = m == NULL ? NULL : m->image;
    (void)pthread_mutex_unlock(&list_lock);
    return image;
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *address,
                              size_t *bytes,
                              hipModule_t module,
                              const char *name)
{
    struct em_hip *hip;
    uint64_t at = 0, size = 0;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    const struct em_image *image = em_hip_module_image(module);
    if (image == NULL || name == NULL) {
        return em_hip_fail(image == NULL ? hipErrorInvalidHandle
                                         : hipErrorInvalidValue);
    }
    if (!em_image_variable(image, name, &at, &size)) {
        return em_hip_fail(hipErrorNotFound);
    }
    if (address != NULL) {
        *address = (hipDeviceptr_t)(uintptr_t)at;
    }
    if (bytes != NULL) {
        *bytes = size;
    }
    return hipSuccess;
}

const char *hipKernelNameRef(hipFunction_t function)
{
    struct em_hip *hip;
    const struct ihipModuleSymbol_t *f = NULL;
    if (em_hip_ready(&hip) == hipSuccess) {
        f = em_hip_function(hip, function);
    }
    return f == NULL ? NULL : f->kernel->name;
}
