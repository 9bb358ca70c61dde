/* What compiled programs register before main: their fat binaries, and which host
 * function or variable stands for which kernel or variable of the device.
 *
 * A fat binary is loaded on a device when something of it is first used there. */
#include "emulator/hip/runtime.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x48495046u /* "HIPF" */
#define BUCKETS       1024u       /* a power of two */

struct wrapper { /* what the compiler emits */
    uint32_t magic, version;
    const void *binary;
    void *unused;
};

struct fat_binary {
    const void *binary;                 /* a bundle, of unknown size */
    hipModule_t module[EM_MAX_DEVICES]; /* NULL: not loaded there */
    struct fat_binary *next;
};

struct registered {
    const void *host; /* function or variable */
    struct fat_binary *from;
    char *name;
    void *managed; /* its memory; NULL: it is not managed */
    hipFunction_t function[EM_MAX_DEVICES];
    struct registered *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct fat_binary *binaries;
static struct registered *buckets[BUCKETS];

static struct registered **bucket_of(const void *host)
{
    uint64_t h = (uintptr_t)host * UINT64_C(0x9e3779b97f4a7c15);
    return &buckets[h >> 54]; /* 10 bits */
}

static struct registered *find(const void *host)
{
    struct registered *r = *bucket_of(host);
    while (r != NULL && r->host != host) {
        r = r->next;
    }
    return r;
}

/* --- registering --- */

void **__hipRegisterFatBinary(const void *data)
{
    const struct wrapper *w = data;
    if (w == NULL || w->magic != WRAPPER_MAGIC || w->binary == NULL) {
        (void)fprintf(stderr, "wavefarm emulator: a fat binary of unknown kind\n");
        return NULL;
    }
    struct fat_binary *b = wf_calloc(1, sizeof(*b));
    if (b == NULL) {
        return NULL;
    }
    b->binary = w->binary;
    (void)pthread_mutex_lock(&lock);
    b->next = binaries;
    binaries = b;
    (void)pthread_mutex_unlock(&lock);
    return (void **)(void *)b;
}

/* Also called for handles that __hipRegisterFatBinary refused. */
static void add(void **handle, const void *host, const char *name, void *managed)
{
    struct registered *r = wf_calloc(1, sizeof(*r));
    if (r == NULL || handle == NULL || (r->name = wf_strdup(name)) == NULL) {
        free(r);
        return;
    }
    r->host = host;
    r->from = (struct fat_binary *)(void *)handle;
    r->managed = managed;
    (void)pthread_mutex_lock(&lock);
    struct registered **bucket = bucket_of(host);
    r->next = *bucket;
    *bucket = r;
    (void)pthread_mutex_unlock(&lock);
}

/* The ABI has so many parameters. NOLINTNEXTLINE(readability-function-size) */
void __hipRegisterFunction(void **modules,
                           const void *host,
                           char *device_name,
                           const char *name,
                           unsigned threads,
                           void *tid,
                           void *bid,
                           struct hip_dim3 *block,
                           struct hip_dim3 *grid,
                           int *wave)
{
    (void)device_name;
    (void)threads;
    (void)tid;
    (void)bid;
    (void)block;
    (void)grid;
    (void)wave;
    add(modules, host, name, NULL);
}

void __hipRegisterVar(void **modules,
                      void *host,
                      char *host_name,
                      const char *name,
                      int external,
                      size_t bytes,
                      int constant,
                      int global)
{
    (void)host_name;
    (void)external;
    (void)bytes;
    (void)constant;
    (void)global;
    add(modules, host, name, NULL);
}

/* Programs read *pointer from main on, so the memory is made at once. Without a runtime
 * it is the initial value's own: the program then learns that there is no device. */
void __hipRegisterManagedVar(void *modules,
                             void **pointer,
                             void *initial,
                             const char *name,
                             size_t bytes,
                             unsigned alignment)
{
    struct em_hip *hip;
    struct wf_error err = { 0 };
    uint64_t address = 0;
    (void)alignment; /* of the space's allocations: more than any variable asks for */
    *pointer = initial;
    if (em_hip_ready(&hip) != hipSuccess) {
        return;
    }
    if (em_space_alloc(hip->space, 0, EM_MEMORY_HOST, bytes, &address, &err) != WF_OK) {
        (void)fprintf(stderr, "wavefarm emulator: %s: %s\n", name, err.text);
        return;
    }
    *pointer = (void *)(uintptr_t)address;
    memcpy(*pointer, initial, bytes);
    add(modules, pointer, name, *pointer);
}

static void forget(struct fat_binary *b)
{
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct registered **link = &buckets[i];
        while (*link != NULL) {
            struct registered *r = *link;
            if (r->from != b) {
                link = &r->next;
                continue;
            }
            *link = r->next;
            free(r->name);
            free(r);
        }
    }
}

void __hipUnregisterFatBinary(void **modules)
{
    struct fat_binary **link = &binaries;
    (void)pthread_mutex_lock(&lock);
    while (*link != NULL && (void **)(void *)*link != modules) {
        link = &(*link)->next;
    }
    struct fat_binary *b = *link;
    if (b != NULL) {
        *link = b->next;
        forget(b);
    }
    (void)pthread_mutex_unlock(&lock);
    for (int i = 0; b != NULL && i < EM_MAX_DEVICES; i++) {
        if (b->module[i] != NULL) {
            (void)hipModuleUnload(b->module[i]);
        }
    }
    free(b);
}

/* --- using --- */

/* A managed variable's symbol on the device is a pointer to its memory. */
static void bind_managed(const struct fat_binary *b, const struct em_image *image)
{
    uint64_t address = 0, bytes = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (const struct registered *r = buckets[i]; r != NULL; r = r->next) {
            if (r->from == b && r->managed != NULL &&
                em_image_variable(image, r->name, &address, &bytes) &&
                bytes == sizeof(r->managed)) {
                memcpy((void *)(uintptr_t)address, &r->managed, sizeof(r->managed));
            }
        }
    }
}

static hipError_t load_on(struct em_hip *hip, struct fat_binary *b, int device)
{
    if (b->module[device] != NULL) {
        return hipSuccess;
    }
    hipError_t code =
        em_hip_load(hip, device, b->binary, 0, "the program", &b->module[device]);
    if (code == hipSuccess) {
        bind_managed(b, em_hip_module_image(b->module[device]));
    }
    return code;
}

static hipError_t function_of(struct em_hip *hip, struct registered *r, int device)
{
    if (r->function[device] != NULL) {
        return hipSuccess;
    }
    hipError_t code = load_on(hip, r->from, device);
    if (code == hipSuccess) {
        code = em_hip_module_function(hip, r->from->module[device], r->name,
                                      &r->function[device]);
    }
    return code;
}

hipError_t em_hip_registered_function(struct em_hip *hip,
                                      const void *host,
                                      int device,
                                      hipFunction_t *ret)
{
    hipError_t code = hipErrorInvalidDeviceFunction;
    (void)pthread_mutex_lock(&lock);
    struct registered *r = find(host);
    if (r != NULL) {
        code = function_of(hip, r, device);
        *ret = r->function[device];
    }
    (void)pthread_mutex_unlock(&lock);
    return em_hip_fail(code);
}

static hipError_t variable_of(struct em_hip *hip,
                              const struct registered *r,
                              int device,
                              uint64_t *ret_address,
                              uint64_t *ret_bytes)
{
    struct em_allocation a;
    hipError_t code = load_on(hip, r->from, device);
    if (code != hipSuccess) {
        return code;
    }
    if (r->managed != NULL && em_space_find(hip->space, (uintptr_t)r->managed, &a)) {
        *ret_address = a.address;
        *ret_bytes = a.bytes;
        return hipSuccess;
    }
    return em_image_variable(em_hip_module_image(r->from->module[device]), r->name,
                             ret_address, ret_bytes)
               ? hipSuccess
               : hipErrorInvalidSymbol;
}

hipError_t em_hip_registered_variable(struct em_hip *hip,
                                      const void *host,
                                      int device,
                                      uint64_t *ret_address,
                                      uint64_t *ret_bytes)
{
    hipError_t code = hipErrorInvalidSymbol;
    (void)pthread_mutex_lock(&lock);
    const struct registered *r = find(host);
    if (r != NULL) {
        code = variable_of(hip, r, device, ret_address, ret_bytes);
    }
    (void)pthread_mutex_unlock(&lock);
    return em_hip_fail(code);
}

const char *hipKernelNameRefByPtr(const void *function, hipStream_t stream)
{
    (void)stream;
    (void)pthread_mutex_lock(&lock);
    const struct registered *r = find(function);
    const char *name = r == NULL ? NULL : r->name;
    (void)pthread_mutex_unlock(&lock);
    return name;
}
