/* Library kernels: a shared object with the entry wf_library_kernels_v1.
 *
 * LIB_QUERY: u32 library, text kernel, text op, text case, text arch, u32 processors,
 * u32 tensor count, for each: text name, text type, u64 bytes, u32 ndim, u64 dim[6],
 * u64 stride[6]; answers the workspace's bytes. EUNSUPPORTED with the library's reason.
 * LIB_PREPARE: u32 library, u32 program, u32 workspace object, u32 object of each
 * tensor; answers what the library says that it chose, text, may be empty.
 *
 * Parameters of the case are asked from the judge when the library first asks for them,
 * and kept until the next query. Each program has its own copy of the problem, valid
 * until it is released. Two libraries may be there at once; one file in both places is
 * loaded twice, so that they share neither code nor variables. */
#include "runner/subject.h"

#include "core/file.h"
#include "runner/subject_jail.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_TENSORS       64u
#define MAX_LIBRARY_BYTES ((size_t)4 << 30)
#define MAX_PARAMS        1024u
#define LIB_MESSAGE_BYTES 512u

/* --- parameters --- */

static enum wf_status ask_param(struct subject *s, struct subject_param *param)
{
    struct wf_buf payload = WF_BUF_INIT;
    struct wf_sp_header header = { WF_SP_MAGIC, WF_SP_VERSION, WF_SP_PARAM, 0,
                                   (uint32_t)strlen(param->name) + 1 };
    enum wf_status st =
        wire_send(s->fd, &header, param->name, header.payload_bytes, NULL, 0, NULL);
    if (st == WF_OK) {
        st = wire_receive(s->fd, INT64_MAX, NULL, &header, &payload, NULL);
    }
    if (st == WF_OK &&
        (header.command != WF_SP_PARAM || payload.len != sizeof(param->value))) {
        st = WF_EPARSE;
    }
    if (st == WF_OK) {
        memcpy(&param->value, payload.data, sizeof(param->value));
        param->value.s[sizeof(param->value.s) - 1] = '\0';
    }
    wf_buf_free(&payload);
    return st;
}

/* NULL when the judge does not know it. */
static const struct wf_sp_param *find_param(struct subject_library *lib,
                                            const char *name)
{
    const struct wf_sp_param *found = NULL;
    if (!name || strlen(name) >= sizeof(lib->params[0].name)) {
        return NULL;
    }
    (void)pthread_mutex_lock(&lib->params_lock);
    size_t i = 0;
    while (i < lib->param_count && strcmp(lib->params[i].name, name) != 0) {
        i++;
    }
    if (i == lib->param_count && i < MAX_PARAMS && lib->params) {
        (void)snprintf(lib->params[i].name, sizeof(lib->params[i].name), "%s", name);
        lib->param_count += ask_param(lib->owner, &lib->params[i]) == WF_OK;
    }
    if (i < lib->param_count && lib->params[i].value.kind != WF_SP_PARAM_UNKNOWN) {
        found = &lib->params[i].value;
    }
    (void)pthread_mutex_unlock(&lib->params_lock);
    return found;
}

/* The library's view is const; what is behind it is not. */
static struct subject_library *from_ctx(const void *ctx)
{
    struct subject_library *lib;
    memcpy(&lib, &ctx, sizeof(lib));
    return lib;
}

static int get_int(const void *ctx, const char *name, int64_t *ret)
{
    const struct wf_sp_param *p = find_param(from_ctx(ctx), name);
    if (!p || p->kind != WF_SP_PARAM_INT) {
        return 1;
    }
    *ret = p->i;
    return 0;
}

static int get_double(const void *ctx, const char *name, double *ret)
{
    const struct wf_sp_param *p = find_param(from_ctx(ctx), name);
    if (!p || (p->kind != WF_SP_PARAM_DOUBLE && p->kind != WF_SP_PARAM_INT)) {
        return 1;
    }
    *ret = p->kind == WF_SP_PARAM_INT ? (double)p->i : p->d;
    return 0;
}

static const char *get_string(const void *ctx, const char *name)
{
    const struct wf_sp_param *p = find_param(from_ctx(ctx), name);
    return p && p->kind == WF_SP_PARAM_STRING ? p->s : NULL;
}

/* --- loading --- */

static uint32_t jail_flags(const struct subject_jail *jail)
{
    return (jail->no_new_privileges ? WF_SP_NO_NEW_PRIVILEGES : 0u) |
           (jail->system_call_filter ? WF_SP_SYSTEM_CALL_FILTER : 0u) |
           (jail->capabilities_dropped ? WF_SP_CAPABILITIES_DROPPED : 0u);
}

static enum wf_status open_library(const char *path, void **ret, struct wf_error *err)
{
    *ret = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*ret) {
        const char *why = dlerror();
        return wf_errorf(err, WF_ENOTFOUND, "cannot load the library: %s",
                         why ? why : "unknown reason");
    }
    return WF_OK;
}

/* The file's bytes under another name. The descriptor stays open: the loader knows
 * images by their paths, and a number that is used again would be another file's. */
static enum wf_status open_image(const char *path, void **ret, struct wf_error *err)
{
    char name[40];
    struct wf_buf image = WF_BUF_INIT;
    int fd = -1;
    enum wf_status st = wf_file_read(path, MAX_LIBRARY_BYTES, &image, err);
    if (st == WF_OK) {
        fd = memfd_create("wavefarm-library", MFD_CLOEXEC);
        st = fd < 0 ? wf_error_errno(err, errno, "memfd_create") : WF_OK;
    }
    if (st == WF_OK) {
        st = wf_write_all(fd, image.data, image.len, path, err);
    }
    wf_buf_free(&image);
    if (st == WF_OK) {
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        st = open_library(name, ret, err);
    }
    if (st != WF_OK && fd >= 0) {
        (void)close(fd);
    }
    return st == WF_OK ? st : wf_error_prefix(err, "%s a second time", path);
}

/* Made when it is first needed, then kept. */
static enum wf_status find_copy(struct subject *s,
                                void *of,
                                const char *path,
                                void **ret,
                                struct wf_error *err)
{
    for (size_t i = 0; i < s->copy_count; i++) {
        if (s->copy[i].of == of) {
            *ret = s->copy[i].handle;
            return WF_OK;
        }
    }
    if (s->copy_count == SUBJECT_MAX_COPIES) {
        return wf_errorf(err, WF_ERANGE, "more than %u libraries loaded twice",
                         SUBJECT_MAX_COPIES);
    }
    enum wf_status st = open_image(path, ret, err);
    if (st == WF_OK) {
        s->copy[s->copy_count++] = (struct subject_copy){ of, *ret };
    }
    return st;
}

static enum wf_status load_apart(struct subject *s,
                                 struct subject_library *lib,
                                 const char *path,
                                 struct wf_error *err)
{
    void *handle = NULL;
    enum wf_status st = open_library(path, &handle, err);
    for (size_t i = 0; st == WF_OK && i < WF_SP_MAX_LIBRARIES; i++) {
        if (s->library[i].handle == handle) {
            st = find_copy(s, handle, path, &handle, err);
            break;
        }
    }
    lib->handle = st == WF_OK ? handle : NULL;
    return st;
}

static void enter_jail(struct subject *s)
{
    if (!s->jailed) {
        const struct subject_jail jail = subject_jail_enter();
        s->jail = jail_flags(&jail);
        s->jailed = true;
    }
}

enum wf_status subject_lib_load(struct subject *s,
                                struct wire_in *in,
                                struct wf_buf *out,
                                struct wf_error *err)
{
    wf_library_kernels_v1_fn entry;
    struct wf_sp_index which;
    wire_take(in, &which, sizeof(which));
    const char *path = wire_text(in);
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        return st;
    }
    if (which.index >= WF_SP_MAX_LIBRARIES || s->library[which.index].handle) {
        return wf_errorf(err, WF_EINVAL, "cannot load library number %u", which.index);
    }
    struct subject_library *lib = &s->library[which.index];
    enter_jail(s);
    st = load_apart(s, lib, path, err);
    if (st != WF_OK) {
        return st;
    }
    void *symbol = dlsym(lib->handle, WF_LIBRARY_ENTRY);
    memcpy(&entry, &symbol, sizeof(entry));
    if (!entry) {
        return wf_errorf(err, WF_ENOTFOUND, "%s does not export %s", path,
                         WF_LIBRARY_ENTRY);
    }
    lib->table = entry();
    if (!lib->table || lib->table->abi_version != WF_LIBRARY_ABI_VERSION ||
        lib->table->kernel_size != sizeof(struct wf_lib_kernel)) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s is not built for version %d of the library interface",
                         path, WF_LIBRARY_ABI_VERSION);
    }
    const char *name = lib->table->name ? lib->table->name : "";
    const char *version = lib->table->version ? lib->table->version : "";
    st = wire_add_text(out, name, err);
    st = st == WF_OK ? wire_add_text(out, version, err) : st;
    return st == WF_OK ? wire_add_u32(out, s->jail, err) : st;
}

static enum wf_status find_kernel(struct subject_library *lib,
                                  const char *name,
                                  struct wf_error *err)
{
    for (size_t i = 0; lib->table && i < lib->table->kernel_count; i++) {
        const struct wf_lib_kernel *k = &lib->table->kernels[i];
        if (k->name && strcmp(k->name, name) == 0) {
            if (!k->supports || !k->prepare || !k->launch) {
                return wf_errorf(err, WF_EINVAL, "kernel %s lacks a function", name);
            }
            lib->kernel = k;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_ENOTFOUND, "the library has no kernel %s", name);
}

static void read_tensor(struct wire_in *in, struct wf_lib_tensor *t)
{
    uint64_t dims[6];
    t->name = wire_text(in);
    t->dtype = wire_text(in);
    t->bytes = wire_u64(in);
    t->ndim = (int32_t)wire_u32(in);
    wire_take(in, dims, sizeof(dims));
    for (int i = 0; i < 6; i++) {
        t->dim[i] = (int64_t)dims[i];
    }
    wire_take(in, dims, sizeof(dims));
    for (int i = 0; i < 6; i++) {
        t->stride[i] = (int64_t)dims[i];
    }
}

/* Reads the problem; its texts stay in lib->text. */
static enum wf_status read_problem(struct subject_library *lib, struct wf_error *err)
{
    struct wire_in in;
    wire_in_start(&in, lib->text.data, lib->text.len);
    const char *kernel = wire_text(&in);
    lib->problem.op = wire_text(&in);
    lib->problem.case_json = wire_text(&in);
    (void)snprintf(lib->arch, sizeof(lib->arch), "%.63s", wire_text(&in));
    lib->device.cu_count = (int32_t)wire_u32(&in);
    lib->tensor_count = wire_u32(&in);
    if (in.failed || lib->tensor_count > MAX_TENSORS) {
        return wf_errorf(err, WF_EPARSE, "%zu tensors", lib->tensor_count);
    }
    for (size_t i = 0; i < lib->tensor_count; i++) {
        read_tensor(&in, &lib->tensors[i]);
    }
    enum wf_status st = wire_end(&in, err);
    return st == WF_OK ? find_kernel(lib, kernel, err) : st;
}

static enum wf_status library_status(int code,
                                     const char *message,
                                     struct wf_error *err)
{
    enum wf_status st = code == WF_LIB_UNSUPPORTED ? WF_EUNSUPPORTED
                        : code == WF_LIB_NO_MEMORY ? WF_ENOMEM
                                                   : WF_EDEVICE;
    (void)wf_errorf(err, st, "%.*s", (int)LIB_MESSAGE_BYTES,
                    message[0] ? message : "the library gives no reason");
    if (err) {
        (void)snprintf(err->domain, sizeof(err->domain), "library");
    }
    return st;
}

enum wf_status subject_lib_query(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    char message[LIB_MESSAGE_BYTES + 1] = "";
    const uint32_t number = wire_u32(in);
    if (in->failed || number >= WF_SP_MAX_LIBRARIES || !s->library[number].handle) {
        return wf_errorf(err, WF_EINVAL, "no library %u", number);
    }
    struct subject_library *lib = &s->library[number];
    wf_buf_clear(&lib->text);
    lib->param_count = 0; /* those of the case before */
    if (!lib->tensors) {
        lib->tensors = wf_calloc(MAX_TENSORS, sizeof(*lib->tensors));
        lib->params = wf_calloc(MAX_PARAMS, sizeof(*lib->params));
    }
    if (!lib->tensors || !lib->params) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a problem");
    }
    enum wf_status st = wf_buf_add(&lib->text, in->at, in->left, err);
    if (st == WF_OK) {
        st = read_problem(lib, err);
    }
    if (st != WF_OK) {
        return st;
    }
    lib->problem.size = sizeof(lib->problem);
    lib->problem.tensors = lib->tensors;
    lib->problem.tensor_count = lib->tensor_count;
    lib->problem.get_int = get_int;
    lib->problem.get_double = get_double;
    lib->problem.get_string = get_string;
    lib->problem.ctx = lib;
    lib->device.size = sizeof(lib->device);
    lib->device.ordinal = s->device;
    lib->device.arch = lib->arch;
    lib->device.stream = s->stream;
    int code =
        lib->kernel->supports(&lib->problem, &lib->device, message, LIB_MESSAGE_BYTES);
    if (code != WF_LIB_OK) {
        return library_status(code, message, err);
    }
    uint64_t workspace = lib->kernel->workspace_bytes
                             ? lib->kernel->workspace_bytes(&lib->problem, &lib->device)
                             : 0;
    return wire_add_u64(out, workspace, err);
}

static enum wf_status bind_tensors(struct subject *s,
                                   const struct subject_library *lib,
                                   struct wire_in *in,
                                   struct subject_program *program,
                                   struct wf_error *err)
{
    program->tensors = wf_calloc(lib->tensor_count + 1, sizeof(*program->tensors));
    if (!program->tensors) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a problem");
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < lib->tensor_count; i++) {
        char *address = NULL;
        st = subject_address(s, wire_u32(in), &address, err);
        program->tensors[i] = lib->tensors[i];
        program->tensors[i].data = address;
    }
    program->problem = lib->problem;
    program->problem.tensors = program->tensors;
    return st == WF_OK ? wire_end(in, err) : st;
}

enum wf_status subject_lib_prepare(struct subject *s,
                                   struct wire_in *in,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    char message[LIB_MESSAGE_BYTES + 1] = "";
    char *workspace = NULL;
    uint32_t number = wire_u32(in);
    uint32_t index = wire_u32(in);
    uint32_t object = wire_u32(in);
    if (in->failed || number >= WF_SP_MAX_LIBRARIES || index >= WF_SP_MAX_PROGRAMS ||
        !s->library[number].handle || !s->library[number].kernel) {
        return wf_errorf(err, WF_EINVAL, "cannot prepare program %u of library %u",
                         index, number);
    }
    struct subject_library *lib = &s->library[number];
    struct subject_program *program = &s->program[index];
    subject_lib_release(program);
    enum wf_status st = subject_address(s, object, &workspace, err);
    if (st == WF_OK) {
        st = bind_tensors(s, lib, in, program, err);
    }
    if (st == WF_OK) {
        int code = lib->kernel->prepare(&program->problem, &lib->device, workspace,
                                        &program->state, message, LIB_MESSAGE_BYTES);
        st = code == WF_LIB_OK ? WF_OK : library_status(code, message, err);
        program->prepared = st == WF_OK;
        program->kernel = lib->kernel;
    }
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip, s->hip.hipDeviceSynchronize(),
                          "hipDeviceSynchronize", err);
    }
    if (st == WF_OK) {
        st = wire_add_text(out, message, err);
    }
    if (st != WF_OK) {
        subject_lib_release(program);
    }
    return st;
}

enum wf_status subject_lib_launch(const struct subject_program *program,
                                  struct wf_error *err)
{
    char message[LIB_MESSAGE_BYTES + 1] = "";
    int code = program->kernel->launch(program->state, message, LIB_MESSAGE_BYTES);
    return code == WF_LIB_OK ? WF_OK : library_status(code, message, err);
}

void subject_lib_release(struct subject_program *program)
{
    if (program->prepared && program->kernel->destroy) {
        program->kernel->destroy(program->state);
    }
    free(program->tensors);
    program->tensors = NULL;
    program->state = NULL;
    program->prepared = false;
}

void subject_libs_forget(struct subject *s)
{
    for (size_t i = 0; i < WF_SP_MAX_LIBRARIES; i++) {
        s->library[i].handle = NULL;
        s->library[i].table = NULL;
        s->library[i].kernel = NULL;
        s->library[i].param_count = 0;
    }
}

void subject_lib_destroy(struct subject *s)
{
    for (size_t i = 0; i < WF_SP_MAX_LIBRARIES; i++) {
        struct subject_library *lib = &s->library[i];
        free(lib->tensors);
        free(lib->params);
        wf_buf_free(&lib->text);
        if (lib->handle) {
            (void)dlclose(lib->handle);
        }
    }
}
