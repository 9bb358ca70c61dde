/* Plans: the argument buffer byte for byte, buffers, launches, conditions, errors. */
#include "packs/plan.h"
#include "tests/packs/pack_text.h"
#include "tests/packs/plan_case.h"

#include "core/file.h"

static const struct named_value device_values[] = {
    { "device.cu_count", INT_VALUE(4) },
    { "device.arch", TEXT_VALUE("gfx942") },
    { NULL, { 0 } },
};
static const struct wf_scope device = { .find = find_named, .ctx = device_values };

/* --- the every_feature pack --- */

static struct named_value gemm_values[] = {
    { "M", INT_VALUE(100) },
    { "N", INT_VALUE(48) },
    { "K", INT_VALUE(300) },
    { "alpha", DOUBLE_VALUE(1.5) },
    { "beta", DOUBLE_VALUE(2.0) },
    { "a_type", TEXT_VALUE("f32") },
    { "b_type", TEXT_VALUE("f32") },
    { "c_type", TEXT_VALUE("f32") },
    { "d_type", TEXT_VALUE("f32") },
    { "trans_a", TEXT_VALUE("N") },
    { "trans_b", TEXT_VALUE("N") },
    { "batch", INT_VALUE(1) },
    { "lda", INT_VALUE(300) },
    { "ldb", INT_VALUE(48) },
    { "ldc", INT_VALUE(48) },
    { "ldd", INT_VALUE(48) },
    { NULL, { 0 } },
};
static const struct wf_scope gemm = { .find = find_named,
                                      .ctx = gemm_values,
                                      .next = &device };

static struct wf_plan_tensor tensors[] = {
    { "A", WF_F32, 4 * 100 * 300 },
    { "B", WF_F32, 4 * 300 * 48 },
    { "C", WF_F32, 4 * 100 * 48 },
    { "D", WF_F32, 4 * 100 * 48 },
};
enum {
    A,
    B,
    C,
    D
};

static struct wf_pack *every;

static void set(const char *name, struct wf_value v)
{
    for (struct named_value *n = gemm_values; n->name != NULL; n++) {
        if (strcmp(n->name, name) == 0) {
            n->value = v;
        }
    }
}

static void open_every(void)
{
    struct wf_error err = { .text = "" };
    const char *build = getenv("WF_BINARY_DIR");
    cr_assert_not_null(build, "WF_BINARY_DIR is not set: run through ctest");
    char *folder = wf_path_join(build, "test-packs/every-feature-gfx942");
    cr_assert_eq(wf_pack_open(folder, &every, &err), WF_OK, "%s", err.text);
    free(folder);
}

static void close_every(void)
{
    wf_pack_free(every);
}

TestSuite(plan_every, .init = open_every, .fini = close_every);

static struct wf_plan *plan_every(void)
{
    struct wf_plan *p = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st = wf_plan_create(wf_pack_kernel_at(every, 0), tensors, 4,
                                       "gfx942:sramecc+:xnack-", &gemm, &p, &err);
    cr_assert_eq(st, WF_OK, "%s", err.text);
    return p;
}

Test(plan_every, code_objects_agree_with_the_description)
{
    struct wf_error err = { .text = "" };
    cr_expect_eq(wf_pack_verify(every, &err), WF_OK, "%s", err.text);
}

Test(plan_every, buffers)
{
    struct wf_plan *p = plan_every();
    cr_assert_eq(p->buffer_count, 4);
    cr_expect_eq(p->split, 4);
    cr_expect_eq(p->buffer[0].bytes, 4 * 4 * 100 * 48);
    cr_expect_eq(p->buffer[0].init, WF_INIT_NONE);
    cr_expect_eq(p->buffer[1].bytes, 4 * 7 * 3);
    cr_expect_eq(p->buffer[1].init, WF_INIT_EACH);
    cr_expect_eq(p->buffer[2].bytes, 4 * 48);
    cr_expect_eq(p->buffer[2].init, WF_INIT_ONCE);
    cr_expect_eq(p->buffer[3].kind, WF_BUFFER_DERIVED);
    cr_expect_eq(p->buffer[3].bytes, 4 * 300 * 48);
    cr_expect_eq(p->buffer[3].from, B);
    wf_plan_free(p);
    wf_plan_free(NULL);
}

Test(plan_every, argument_buffer_with_struct_and_padding)
{
    static const uint8_t want[72] = {
        [0] = 1, /* u8, then 7 bytes to the pointer at 8 */
        [16] = 100, [20] = 48,   [24] = 300 & 255, [25] = 300 >> 8,
        [32] = 1,   [50] = 0xc0, [51] = 0x3f, /* 1.5f */
        [64] = 4,
    };
    struct wf_plan *p = plan_every();
    const struct wf_plan_launch *l = &p->launch[0];
    cr_expect_str_eq(l->symbol, "wf_every_multiply");
    cr_assert_eq(l->args_bytes, sizeof want);
    cr_expect_arr_eq(l->args, want, sizeof want);
    cr_assert_eq(l->reloc_count, 2);
    cr_expect(l->reloc[0].offset == 40 && l->reloc[0].is_buffer &&
              l->reloc[0].index == 0);
    cr_expect(l->reloc[1].offset == 56 && l->reloc[1].is_buffer &&
              l->reloc[1].index == 1);
    wf_plan_free(p);
}

Test(plan_every, device_array_of_pointers)
{
    struct wf_plan *p = plan_every();
    const struct wf_plan_launch *l = &p->launch[0];
    cr_assert_eq(l->pointers_count, 1);
    const struct wf_plan_pointer_array *a = &l->pointers[0];
    cr_expect_eq(a->offset, 8);
    cr_assert_eq(a->count, 3);
    cr_expect(!a->item[0].is_buffer && a->item[0].index == A);
    cr_expect(a->item[1].is_buffer && a->item[1].index == 3);
    cr_expect_eq(a->item[2].index, WF_PLAN_NULL);
    wf_plan_free(p);
}

Test(plan_every, grids_and_shared_memory)
{
    static const uint32_t grid[] = { 3, 7, 4 }, block[] = { 64, 4, 1 },
                          none[] = { 0, 0, 0 };
    struct wf_plan *p = plan_every();
    cr_assert_eq(p->launch_count, 4);
    cr_expect_arr_eq(p->launch[0].grid, grid, sizeof grid);
    cr_expect_arr_eq(p->launch[0].cluster, none, sizeof none);
    cr_expect_eq(p->launch[0].shared_bytes, 2048);
    cr_expect_arr_eq(p->launch[1].block, block, sizeof block);
    cr_expect_eq(p->launch[1].grid[0], 4, "no more than the device's compute units");
    cr_expect(!p->launch[1].cooperative && p->launch[3].cooperative);
    wf_plan_free(p);
}

Test(plan_every, byte_offset_of_a_pointer_is_in_the_blob)
{
    struct wf_plan *p = plan_every();
    uint64_t addend;
    const struct wf_plan_launch *bottom = &p->launch[2];
    memcpy(&addend, bottom->args, 8);
    cr_expect_eq(addend, 4 * 50 * 48);
    cr_expect(bottom->reloc[0].offset == 0 && bottom->reloc[0].index == D);
    wf_plan_free(p);
}

Test(plan_every, launches_whose_condition_is_false_are_left_out)
{
    set("beta", (struct wf_value)DOUBLE_VALUE(0.0));
    struct wf_plan *p = plan_every();
    cr_expect_eq(p->launch_count, 3);
    wf_plan_free(p);
    set("M", (struct wf_value)INT_VALUE(1));
    p = plan_every();
    cr_expect_eq(p->launch_count, 2, "one row has no lower half");
    wf_plan_free(p);
}

Test(plan_every, other_architectures_are_not_supported)
{
    struct wf_plan *p = NULL;
    struct wf_error err = { .text = "" };
    const struct wf_pack_kernel *k = wf_pack_kernel_at(every, 0);
    cr_expect_eq(wf_plan_create(k, tensors, 4, "gfx90a", &gemm, &p, &err),
                 WF_EUNSUPPORTED);
    cr_expect_str_eq(err.text,
                     "kernel every_feature is built for gfx942; the device is gfx90a");
    cr_expect_eq(wf_plan_create(k, tensors, 4, "gfx9421", &gemm, &p, &err),
                 WF_EUNSUPPORTED);
}

Test(plan_every, a_false_condition_is_shown)
{
    struct wf_plan *p = NULL;
    struct wf_error err = { .text = "" };
    set("batch", (struct wf_value)INT_VALUE(2));
    cr_expect_eq(wf_plan_create(wf_pack_kernel_at(every, 0), tensors, 4, "gfx942",
                                &gemm, &p, &err),
                 WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, "batch == 1") != NULL, "%s", err.text);
}

/* --- single features --- */

static struct named_value small_values[] = {
    { "M", INT_VALUE(10) },
    { "N", INT_VALUE(6) },
    { "K", INT_VALUE(4) },
    { "zero", INT_VALUE(0) },
    { "big", INT_VALUE(5000000000) },
    { "half", DOUBLE_VALUE(0.5) },
    { "huge", DOUBLE_VALUE(1e300) },
    { "text", TEXT_VALUE("f16") },
    { NULL, { 0 } },
};
static const struct wf_scope small = { .find = find_named,
                                       .ctx = small_values,
                                       .next = &device };

static const struct wf_plan_tensor small_tensors[] = { { "A", WF_F32, 400 },
                                                       { "B", WF_F32, 96 },
                                                       { "C", WF_F32, 0 } };

/* Plans kernel k1 of pack_text with one change. */
static enum wf_status plan_changed(const char *from,
                                   const char *to,
                                   struct wf_plan **ret,
                                   struct wf_error *err)
{
    struct wf_pack *pack = NULL;
    char *text = changed_text(from, to);
    cr_assert_eq(parse_text(text, &pack, err), WF_OK, "%s", err->text);
    enum wf_status st = wf_plan_create(wf_pack_kernel(pack, "k1"), small_tensors, 3,
                                       "gfx942", &small, ret, err);
    free(text);
    /* Symbols of the plan are the pack's: looked at only where the pack is kept. */
    wf_pack_free(pack);
    return st;
}

static struct wf_plan *plan_good(const char *from, const char *to)
{
    struct wf_plan *p = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st = plan_changed(from, to, &p, &err);
    cr_assert_eq(st, WF_OK, "%s: %s", to, err.text);
    return p;
}

static void expect_fails(const char *from,
                         const char *to,
                         enum wf_status want,
                         const char *part)
{
    struct wf_plan *p = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st = plan_changed(from, to, &p, &err);
    cr_expect_eq(st, want, "%s: %s %s", to, wf_status_name(st), err.text);
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    wf_plan_free(st == WF_OK ? p : NULL);
}

#define SCALAR  "{\"scalar\":\"i32\",\"value\":\"M\"}"
#define POINTER "{\"pointer\":\"A\",\"offset_bytes\":4}"

/* The scalar at offset 8 of the blob, little-endian. */
static uint64_t scalar_bits(const char *type, const char *value)
{
    uint64_t bits = 0;
    char *to = wf_asprintf("{\"scalar\":\"%s\",\"value\":\"%s\"}", type, value);
    struct wf_plan *p = plan_good(SCALAR, to);
    memcpy(&bits, p->launch[0].args + 8, 8);
    wf_plan_free(p);
    free(to);
    return bits;
}

Test(plan, scalars_of_every_type)
{
    cr_expect_eq(scalar_bits("i8", "-1"), 0xff);
    cr_expect_eq(scalar_bits("u8", "255"), 0xff);
    cr_expect_eq(scalar_bits("i16", "-2"), 0xfffe);
    cr_expect_eq(scalar_bits("u16", "65535"), 0xffff);
    cr_expect_eq(scalar_bits("i32", "-3"), 0xfffffffd);
    cr_expect_eq(scalar_bits("u32", "4294967295"), 0xffffffff);
    cr_expect_eq(scalar_bits("i64", "-4"), 0xfffffffffffffffc);
    cr_expect_eq(scalar_bits("u64", "big"), 5000000000);
    cr_expect_eq(scalar_bits("f16", "half"), 0x3800);
    cr_expect_eq(scalar_bits("bf16", "half"), 0x3f00);
    cr_expect_eq(scalar_bits("f32", "half"), 0x3f000000);
    cr_expect_eq(scalar_bits("f64", "half"), 0x3fe0000000000000);
    cr_expect_eq(scalar_bits("f32", "3"), 0x40400000);
    cr_expect_eq(scalar_bits("f16", "65519"), 0x7bff, "rounds down to the largest");
    cr_expect_eq(scalar_bits("f32", "0.1"), 0x3dcccccd);
}

Test(plan, scalars_out_of_range)
{
    static const char *const bad[][2] = {
        { "i8", "128" },  { "u8", "-1" },  { "i16", "32768" }, { "u16", "65536" },
        { "i32", "big" }, { "u32", "-1" }, { "u64", "-1" },    { "i32", "half" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct wf_plan *p = NULL;
        struct wf_error err = { .text = "" };
        char *to =
            wf_asprintf("{\"scalar\":\"%s\",\"value\":\"%s\"}", bad[i][0], bad[i][1]);
        enum wf_status st = plan_changed(SCALAR, to, &p, &err);
        cr_expect(st == WF_ERANGE || st == WF_EINVAL, "%s", to);
        cr_expect(strstr(err.text, "kernel k1: launches[0].args[1].value") != NULL,
                  "%s", err.text);
        free(to);
    }
    expect_fails(SCALAR, "{\"scalar\":\"f16\",\"value\":\"65520\"}", WF_EINVAL,
                 "launches[0].args[1]: 65520 does not fit f16");
    expect_fails(SCALAR, "{\"scalar\":\"f32\",\"value\":\"huge\"}", WF_EINVAL,
                 "does not fit f32");
    expect_fails(SCALAR, "{\"scalar\":\"f32\",\"value\":\"text\"}", WF_EINVAL,
                 "is not a number");
}

Test(plan, pointers_to_what_is_absent_are_null)
{
    static const uint8_t zeros[8];
    struct wf_plan *p =
        plan_good(POINTER, "{\"pointer\":\"C\",\"offset_bytes\":\"1/zero\"}");
    cr_expect_arr_eq(p->launch[0].args, zeros, 8);
    cr_expect_eq(p->launch[0].reloc_count, 1, "only ws is left");
    wf_plan_free(p);
    p = plan_good(POINTER, "{\"pointer\":\"\"}");
    cr_expect_eq(p->launch[0].reloc_count, 1);
    wf_plan_free(p);
    p = plan_good("\"bytes\":\"4 * M\"", "\"bytes\":0");
    cr_expect_eq(p->launch[0].reloc_count, 1, "only A is left");
    cr_expect_eq(p->launch[0].pointers[0].item[1].index, WF_PLAN_NULL);
    wf_plan_free(p);
}

Test(plan, pointer_errors)
{
    expect_fails(POINTER, "{\"pointer\":\"X\"}", WF_EINVAL,
                 "kernel k1: launches[0].args[0]: 'X' is neither a tensor");
    expect_fails(POINTER, "{\"pointer\":\"A\",\"offset_bytes\":404}", WF_ERANGE,
                 "404 is not in [0, 400]");
    expect_fails(POINTER, "{\"pointer\":\"A\",\"offset_bytes\":\"-4\"}", WF_ERANGE,
                 "-4 is not in");
}

Test(plan, buffer_errors)
{
    expect_fails("\"4 * M\"", "\"M - 20\"", WF_ERANGE, "kernel k1: buffers[0].bytes");
    expect_fails("\"4 * M\"", "\"4 * Q\"", WF_EINVAL, "unknown name 'Q'");
    expect_fails("\"name\":\"Bt\"", "\"name\":\"A\"", WF_EINVAL,
                 "buffer A has the name of a tensor");
    expect_fails("\"from\":\"B\"", "\"from\":\"Z\"", WF_EINVAL, "derived from 'Z'");
    expect_fails("\"rows\":\"K\"", "\"rows\":\"K + 1\"", WF_EINVAL,
                 "kernel k1: buffer Bt: transpose_2d: tensor B has 96 bytes");
}

Test(plan, an_empty_launch_is_dropped)
{
    struct wf_plan *p =
        plan_good("\"grid\":[\"TILES\",2]", "\"grid\":[\"TILES\",\"zero\"]");
    cr_expect_eq(p->launch_count, 0);
    wf_plan_free(p);
    p = plan_good("\"block\":[64]", "\"block\":[\"zero\"]");
    cr_expect_eq(p->launch_count, 0);
    wf_plan_free(p);
}

Test(plan, launch_errors)
{
    expect_fails("\"block\":[64]", "\"block\":[64,32]", WF_EINVAL,
                 "launches[0].block: 64x32x1 are 2048 work-items, at most 1024");
    expect_fails("\"block\":[64]", "\"block\":[2048]", WF_ERANGE, "2048 is not in");
    expect_fails("\"grid\":[\"TILES\",2]", "\"grid\":[\"-1\"]", WF_ERANGE,
                 "-1 is not in");
    expect_fails("\"grid\":[\"TILES\",2]", "\"grid\":[2147483647]", WF_EINVAL,
                 "more than 2^32 - 1 work-items");
    expect_fails("\"block\":[64]", "\"block\":[64],\"cluster\":[3]", WF_EINVAL,
                 "grid 1 is not a multiple of 3");
    expect_fails("\"shared_bytes\":128", "\"shared_bytes\":2000000", WF_ERANGE,
                 "kernel k1: launches[0].shared_bytes");
}

/* The grid's y of a kernel for both makers, on a device of one. */
static enum wf_status plan_rows(int rows, const char *arch, struct wf_error *err)
{
    static const char archs[] = "\"arch\":[\"gfx942\"]", grid[] = "\"TILES\",2]";
    struct wf_pack *pack = NULL;
    struct wf_plan *p = NULL;
    char *one = changed_text(archs, "\"arch\":[\"gfx942\",\"sm_90\"]");
    const char *at = strstr(one, grid);
    cr_assert_not_null(at);
    char *text = wf_asprintf("%.*s\"TILES\",%d]%s", (int)(at - one), one, rows,
                             at + strlen(grid));
    cr_assert_eq(parse_text(text, &pack, err), WF_OK, "%s", err->text);
    enum wf_status st = wf_plan_create(wf_pack_kernel(pack, "k1"), small_tensors, 3,
                                       arch, &small, &p, err);
    wf_plan_free(st == WF_OK ? p : NULL);
    wf_pack_free(pack);
    free(text);
    free(one);
    return st;
}

/* A41: 8191 tokens of 8 experts are 65528 rows, 8192 are 65536: CUDA's y and z end at
 * 65535, AMD's do not. */
Test(plan, a41_a_dimension_of_the_grid_that_is_full)
{
    struct wf_error err = { .text = "" };
    cr_expect_eq(plan_rows(65528, "sm_90", &err), WF_OK, "%s", err.text);
    cr_expect_eq(plan_rows(65535, "sm_90", &err), WF_OK, "%s", err.text);
    cr_expect_eq(plan_rows(65528, "gfx942", &err), WF_OK, "%s", err.text);
    cr_expect_eq(plan_rows(65536, "gfx942", &err), WF_OK, "%s", err.text);
    cr_expect_eq(plan_rows(65536, "sm_90", &err), WF_EINVAL);
    cr_expect(strstr(err.text, "grid[1]: 65536 workgroups; sm_90 has at most 65535"),
              "%s", err.text);
}

Test(plan, cluster)
{
    struct wf_plan *p = plan_good("\"block\":[64]", "\"block\":[64],\"cluster\":[1,2]");
    cr_expect(p->launch[0].cluster[1] == 2 && p->launch[0].cluster[2] == 1);
    wf_plan_free(p);
}

Test(plan, knobs_use_each_other_in_any_order)
{
    struct wf_plan *p =
        plan_good("\"BLOCK\":64", "\"BLOCK\":\"OTHER * 2\",\"OTHER\":2");
    cr_expect_eq(p->launch[0].grid[0], 3);
    wf_plan_free(p);
    expect_fails("\"BLOCK\":64", "\"BLOCK\":\"M / zero\"", WF_EINVAL,
                 "division by zero");
    expect_fails("ceil_div(M, BLOCK)", "ceil_div(M, BLOK)", WF_EINVAL,
                 "did you mean BLOCK?");
}

Test(plan, the_condition_guards_the_knobs)
{
    static const char knobs[] = "\"BLOCK\":\"M / zero\",\"SCALE\":0.5},"
                                "\"supports\":\"zero > 0\"";
    expect_fails("\"BLOCK\":64,\"SCALE\":0.5},\"supports\":\"M > 0\"", knobs,
                 WF_EUNSUPPORTED, "does not do this case: zero > 0");
}

Test(plan, split_has_a_range)
{
    struct wf_plan *p = plan_good(NULL, "");
    cr_expect_eq(p->split, 2);
    wf_plan_free(p);
    expect_fails("\"split\":2", "\"split\":0", WF_ERANGE, "kernel k1.split");
}

#define MAP(dims, strides, box, swizzle)                                 \
    "{\"tensor_map\":{\"tensor\":\"A\",\"dtype\":\"f16\",\"dims\":" dims \
    ",\"strides_bytes\":" strides ",\"box\":" box ",\"swizzle\":\"" swizzle "\"}}"

Test(plan, tensor_map)
{
    struct wf_plan *p =
        plan_good(POINTER, MAP("[\"K\",\"M\"]", "[\"K * 4\"]", "[64,8]", "128B"));
    const struct wf_plan_launch *l = &p->launch[0];
    cr_assert_eq(l->map_count, 1);
    cr_expect_eq(l->map[0].offset, 0);
    cr_expect(l->map[0].dim[0] == 4 && l->map[0].dim[1] == 10);
    cr_expect_eq(l->map[0].stride_bytes[0], 16);
    cr_expect(l->map[0].box[0] == 64 && l->map[0].box[1] == 8);
    cr_expect_eq(l->map[0].swizzle_bytes, 128);
    cr_expect(!l->map[0].base.is_buffer && l->map[0].base.index == 0);
    cr_expect_eq(l->args_bytes, 128 + 4 + 4 + 16 + 8);
    wf_plan_free(p);
    expect_fails(POINTER, MAP("[4,10]", "[20]", "[64,8]", "128B"), WF_EINVAL,
                 "strides_bytes[0]: 20 is not a multiple of 16");
    expect_fails(POINTER, MAP("[4,10]", "[16]", "[64,8]", "64B"), WF_EINVAL,
                 "128 bytes are more than the swizzle's 64");
    expect_fails(POINTER, MAP("[4,10]", "[16]", "[3,8]", "none"), WF_EINVAL,
                 "6 bytes are not a multiple of 16");
    expect_fails(POINTER, MAP("[0,10]", "[16]", "[8,8]", "none"), WF_ERANGE,
                 "0 is not in");
    expect_fails(POINTER,
                 "{\"tensor_map\":{\"tensor\":\"C\",\"dtype\":\"f16\",\"dims\":[8],"
                 "\"box\":[8]}}",
                 WF_EINVAL, "tensor map of 'C', which this case does not use");
}
