/* Code objects, programs and launches.
 *
 * A program is the launch sequence of one kernel on one set of buffers. Its message:
 *   u32 program, u32 each count, (u32 object, u32 byte) each,
 *   u32 launch count, then for each launch:
 *     u32 code, text symbol, u32 grid[3] block[3] cluster[3], u32 shared, u32
 * cooperative, u32 args bytes, the bytes, u32 argument count, u32 offset each, u32
 * relocation count, (u32 offset, u32 object) each, u32 array count, for each: u32
 * offset, u32 count, (u32 object, u64 addend) each, u32 tensor map count, for each: u32
 * offset, u32 object, u64 addend, u32 rank, text type, u32 element bytes, u64 dim[5],
 * u64 stride[4], u32 box[5], u32 swizzle. Addresses are put into the arguments here,
 * once; a launch then only enqueues. */
#include "runner/subject.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CODE_BYTES   ((size_t)1 << 30)
#define MAX_LAUNCHES     1024u
#define MAX_ARGS_BYTES   65536u
#define TENSOR_MAP_BYTES 128u

enum wf_status subject_load_code(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    struct wf_sp_index which;
    struct wf_buf image = WF_BUF_INIT;
    (void)out;
    wire_take(in, &which, sizeof(which));
    const char *path = wire_text(in);
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        return st;
    }
    if (which.index >= WF_SP_MAX_CODES || s->code[which.index]) {
        return wf_errorf(err, WF_EINVAL, "cannot load code number %u", which.index);
    }
    st = wf_file_read(path, MAX_CODE_BYTES, &image, err);
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip,
                          s->hip.hipModuleLoadData(&s->code[which.index], image.data),
                          "hipModuleLoadData", err);
    }
    wf_buf_free(&image);
    return st;
}

static enum wf_status find_function(struct subject *s,
                                    uint32_t code,
                                    const char *symbol,
                                    hipFunction_t *ret,
                                    struct wf_error *err)
{
    if (code >= WF_SP_MAX_CODES || !s->code[code]) {
        return wf_errorf(err, WF_EINVAL, "no code number %u", code);
    }
    enum wf_status st =
        wf_hip_check(&s->hip, s->hip.hipModuleGetFunction(ret, s->code[code], symbol),
                     "hipModuleGetFunction", err);
    return st == WF_OK ? st : wf_error_prefix(err, "symbol %.128s", symbol);
}

static enum wf_status patch_u64(struct subject_launch *launch,
                                uint32_t offset,
                                uint64_t add,
                                struct wf_error *err)
{
    uint64_t value;
    if (launch->args_bytes < sizeof(value) ||
        offset > launch->args_bytes - sizeof(value)) {
        return wf_errorf(err, WF_EINVAL, "argument offset %u is outside %zu bytes",
                         offset, launch->args_bytes);
    }
    memcpy(&value, launch->args + offset, sizeof(value));
    value += add;
    memcpy(launch->args + offset, &value, sizeof(value));
    return WF_OK;
}

static enum wf_status read_relocations(struct subject *s,
                                       struct wire_in *in,
                                       struct subject_launch *launch,
                                       struct wf_error *err)
{
    uint32_t count = wire_u32(in);
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < count && !in->failed; i++) {
        char *address = NULL;
        uint32_t offset = wire_u32(in);
        uint32_t object = wire_u32(in);
        if (in->failed) {
            break;
        }
        st = subject_address(s, object, &address, err);
        if (st == WF_OK) {
            st = patch_u64(launch, offset, (uint64_t)(uintptr_t)address, err);
        }
    }
    return st;
}

/* Reads one array's items, puts it into device memory and its address into the
 * arguments. */
static enum wf_status read_array(struct subject *s,
                                 struct wire_in *in,
                                 struct subject_launch *launch,
                                 void **ret_array,
                                 struct wf_error *err)
{
    uint32_t offset = wire_u32(in);
    uint32_t count = wire_u32(in);
    enum wf_status st = WF_OK;
    if (in->failed || count == 0 || count > in->left / 12) {
        return wf_errorf(err, WF_EPARSE, "an array of %u pointers", count);
    }
    uint64_t *items = wf_calloc(count, sizeof(*items));
    if (!items) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an array of pointers");
    }
    for (uint32_t i = 0; st == WF_OK && i < count; i++) {
        char *address = NULL;
        uint32_t object = wire_u32(in);
        uint64_t addend = wire_u64(in);
        st = subject_address(s, object, &address, err);
        items[i] = address ? (uint64_t)(uintptr_t)address + addend : 0;
    }
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip, s->hip.hipMalloc(ret_array, count * sizeof(*items)),
                          "hipMalloc", err);
    }
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip,
                          s->hip.hipMemcpy(*ret_array, items, count * sizeof(*items),
                                           hipMemcpyHostToDevice),
                          "hipMemcpy", err);
    }
    free(items);
    return st == WF_OK ? patch_u64(launch, offset, (uint64_t)(uintptr_t)*ret_array, err)
                       : st;
}

static enum wf_status read_arrays(struct subject *s,
                                  struct wire_in *in,
                                  struct subject_launch *launch,
                                  struct wf_error *err)
{
    uint32_t count = wire_u32(in);
    enum wf_status st = WF_OK;
    if (in->failed || count > in->left) {
        return wf_errorf(err, WF_EPARSE, "%u pointer arrays", count);
    }
    launch->arrays = wf_calloc(count ? count : 1, sizeof(*launch->arrays));
    if (!launch->arrays) {
        return wf_errorf(err, WF_ENOMEM, "no memory for pointer arrays");
    }
    for (uint32_t i = 0; st == WF_OK && i < count; i++) {
        st = read_array(s, in, launch, &launch->arrays[i], err);
        launch->array_count++;
    }
    return st;
}

static enum wf_status read_tensor_map(struct subject *s,
                                      struct wire_in *in,
                                      struct subject_launch *launch,
                                      struct wf_error *err)
{
    struct wf_rt_tensor_map map;
    /* What makes a map may want it aligned, which args + offset need not be. */
    _Alignas(TENSOR_MAP_BYTES) unsigned char made[TENSOR_MAP_BYTES] = { 0 };
    char *base = NULL;
    memset(&map, 0, sizeof(map));
    uint32_t offset = wire_u32(in);
    uint32_t object = wire_u32(in);
    uint64_t addend = wire_u64(in);
    map.rank = (int32_t)wire_u32(in);
    map.dtype = wire_text(in);
    map.element_bytes = (int32_t)wire_u32(in);
    wire_take(in, map.dim, sizeof(map.dim));
    wire_take(in, map.stride_bytes, sizeof(map.stride_bytes));
    wire_take(in, map.box, sizeof(map.box));
    map.swizzle_bytes = wire_u32(in);
    if (in->failed || launch->args_bytes < TENSOR_MAP_BYTES ||
        offset > launch->args_bytes - TENSOR_MAP_BYTES) {
        return wf_errorf(err, WF_EPARSE, "tensor map at argument offset %u", offset);
    }
    enum wf_status st = subject_address(s, object, &base, err);
    if (st != WF_OK) {
        return st;
    }
    if (!s->hip.wf_rt_tensor_map) {
        return wf_errorf(err, WF_EUNSUPPORTED, "this runtime has no tensor maps");
    }
    map.base = base ? base + addend : NULL;
    st = wf_hip_check(&s->hip, s->hip.wf_rt_tensor_map(&map, made), "tensor map", err);
    memcpy(launch->args + offset, made, sizeof(made));
    return st;
}

static enum wf_status read_args(struct wire_in *in,
                                struct subject_launch *launch,
                                struct wf_error *err)
{
    launch->args_bytes = wire_u32(in);
    const void *args = wire_bytes(in, launch->args_bytes);
    uint32_t count = wire_u32(in);
    if (in->failed || launch->args_bytes > MAX_ARGS_BYTES || count > in->left / 4) {
        return wf_errorf(err, WF_EPARSE, "%zu bytes of arguments", launch->args_bytes);
    }
    launch->args = wf_calloc(launch->args_bytes + 1, 1);
    launch->params = wf_calloc((size_t)count + 1, sizeof(*launch->params));
    if (!launch->args || !launch->params) {
        return wf_errorf(err, WF_ENOMEM, "no memory for arguments");
    }
    memcpy(launch->args, args, launch->args_bytes);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset = wire_u32(in);
        if (offset >= launch->args_bytes) {
            return wf_errorf(err, WF_EPARSE, "argument %u lies at %u", i, offset);
        }
        launch->params[i] = launch->args + offset;
    }
    return WF_OK;
}

static enum wf_status can_launch(const struct subject *s,
                                 const struct subject_launch *launch,
                                 struct wf_error *err)
{
    if (launch->cluster[0] && !s->hip.wf_rt_launch_cluster) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "this runtime does not launch clusters of workgroups");
    }
    if (!launch->cluster[0] && launch->cooperative &&
        !s->hip.hipModuleLaunchCooperativeKernel) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "this runtime does not launch cooperative kernels");
    }
    return WF_OK;
}

static enum wf_status read_launch(struct subject *s,
                                  struct wire_in *in,
                                  struct subject_launch *launch,
                                  struct wf_error *err)
{
    uint32_t code = wire_u32(in);
    const char *symbol = wire_text(in);
    wire_take(in, launch->grid, sizeof(launch->grid));
    wire_take(in, launch->block, sizeof(launch->block));
    wire_take(in, launch->cluster, sizeof(launch->cluster));
    launch->shared_bytes = wire_u32(in);
    launch->cooperative = wire_u32(in) != 0;
    if (in->failed) {
        return wf_errorf(err, WF_EPARSE, "launch is cut short");
    }
    enum wf_status st = can_launch(s, launch, err);
    if (st == WF_OK) {
        st = find_function(s, code, symbol, &launch->function, err);
    }
    if (st == WF_OK) {
        st = read_args(in, launch, err);
    }
    if (st == WF_OK) {
        st = read_relocations(s, in, launch, err);
    }
    if (st == WF_OK) {
        st = read_arrays(s, in, launch, err);
    }
    uint32_t maps = st == WF_OK ? wire_u32(in) : 0;
    for (uint32_t i = 0; st == WF_OK && i < maps && !in->failed; i++) {
        st = read_tensor_map(s, in, launch, err);
    }
    return st;
}

static void program_destroy(struct subject *s, struct subject_program *program)
{
    for (size_t i = 0; i < program->launch_count; i++) {
        struct subject_launch *launch = &program->launch[i];
        for (size_t k = 0; k < launch->array_count; k++) {
            (void)s->hip.hipFree(launch->arrays[k]);
        }
        free(launch->arrays);
        free(launch->args);
        free(launch->params);
    }
    free(program->launch);
    free(program->each);
    subject_lib_release(program);
    memset(program, 0, sizeof(*program));
}

static enum wf_status read_each(struct subject *s,
                                struct wire_in *in,
                                struct subject_program *program,
                                struct wf_error *err)
{
    uint32_t count = wire_u32(in);
    if (in->failed || count > in->left / sizeof(struct subject_each)) {
        return wf_errorf(err, WF_EPARSE, "%u workspaces", count);
    }
    program->each = wf_calloc((size_t)count + 1, sizeof(*program->each));
    if (!program->each) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a program");
    }
    wire_take(in, program->each, count * sizeof(*program->each));
    program->each_count = count;
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < count; i++) {
        char *address = NULL;
        st = subject_address(s, program->each[i].object, &address, err);
        if (st == WF_OK && !address) {
            st = wf_errorf(err, WF_EINVAL, "workspace without an object");
        }
    }
    return st;
}

static enum wf_status read_program(struct subject *s,
                                   struct wire_in *in,
                                   struct subject_program *program,
                                   struct wf_error *err)
{
    enum wf_status st = read_each(s, in, program, err);
    if (st != WF_OK) {
        return st;
    }
    uint32_t count = wire_u32(in);
    if (in->failed || count > MAX_LAUNCHES) {
        return wf_errorf(err, WF_EPARSE, "%u launches", count);
    }
    program->launch = wf_calloc((size_t)count + 1, sizeof(*program->launch));
    if (!program->launch) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a program");
    }
    for (uint32_t i = 0; st == WF_OK && i < count; i++) {
        program->launch_count++;
        st = read_launch(s, in, &program->launch[i], err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "launch %u", i);
        }
    }
    return st;
}

enum wf_status subject_set_program(struct subject *s,
                                   struct wire_in *in,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    (void)out;
    uint32_t index = wire_u32(in);
    if (index >= WF_SP_MAX_PROGRAMS) {
        return wf_errorf(err, WF_EINVAL, "program %u", index);
    }
    struct subject_program *program = &s->program[index];
    program_destroy(s, program);
    enum wf_status st = read_program(s, in, program, err);
    if (st == WF_OK) {
        st = wire_end(in, err);
    }
    if (st != WF_OK) {
        program_destroy(s, program);
    }
    return st;
}

enum wf_status subject_occupancy(struct subject *s,
                                 struct wire_in *in,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    struct wf_sp_occupancy want;
    hipFunction_t function = NULL;
    int blocks = 0;
    wire_take(in, &want, sizeof(want));
    const char *symbol = wire_text(in);
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK && !s->hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) {
        st =
            wf_errorf(err, WF_EUNSUPPORTED, "this runtime does not tell the occupancy");
    }
    if (st == WF_OK) {
        st = find_function(s, want.code, symbol, &function, err);
    }
    if (st == WF_OK) {
        st = wf_hip_check(
            &s->hip,
            s->hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                &blocks, function, (int)want.block_threads, want.shared_bytes),
            "occupancy", err);
    }
    return st == WF_OK ? wire_add_u32(out, blocks > 0 ? (uint32_t)blocks : 0, err) : st;
}

/* --- launching: the runtime has what a program needs, can_launch has seen to that ---
 */

static hipError_t launch_one(const struct subject *s, struct subject_launch *l)
{
    const struct wf_hip *hip = &s->hip;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, l->args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &l->args_bytes,
                      HIP_LAUNCH_PARAM_END };
    if (l->cluster[0]) {
        return hip->wf_rt_launch_cluster(l->function, l->grid, l->block, l->cluster,
                                         l->shared_bytes, s->stream, extra);
    }
    if (l->cooperative) {
        return hip->hipModuleLaunchCooperativeKernel(
            l->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
            l->block[2], l->shared_bytes, s->stream, l->params);
    }
    return hip->hipModuleLaunchKernel(l->function, l->grid[0], l->grid[1], l->grid[2],
                                      l->block[0], l->block[1], l->block[2],
                                      l->shared_bytes, s->stream, NULL, extra);
}

enum wf_status subject_enqueue(struct subject *s, uint32_t index, struct wf_error *err)
{
    struct subject_program *program = &s->program[index];
    for (size_t i = 0; i < program->each_count; i++) {
        const struct subject_object *o = &s->object[program->each[i].object];
        hipError_t code = s->hip.hipMemsetAsync(o->first, (int)program->each[i].byte,
                                                (size_t)o->bytes, s->stream);
        if (code != hipSuccess) {
            return wf_hip_check(&s->hip, code, "workspace", err);
        }
    }
    if (program->prepared) {
        return subject_lib_launch(program, err);
    }
    for (size_t i = 0; i < program->launch_count; i++) {
        hipError_t code = launch_one(s, &program->launch[i]);
        enum wf_status noted = subject_note_launch(s, err);
        if (noted != WF_OK) {
            return noted;
        }
        if (code != hipSuccess) {
            (void)wf_hip_check(&s->hip, code, "launch", err);
            return wf_error_prefix(err, "launch %zu", i);
        }
    }
    return WF_OK;
}

void subject_programs_destroy(struct subject *s)
{
    for (size_t i = 0; s->program && i < WF_SP_MAX_PROGRAMS; i++) {
        program_destroy(s, &s->program[i]);
    }
    for (size_t i = 0; i < WF_SP_MAX_CODES; i++) {
        if (s->code[i]) {
            (void)s->hip.hipModuleUnload(s->code[i]);
            s->code[i] = NULL;
        }
    }
}
