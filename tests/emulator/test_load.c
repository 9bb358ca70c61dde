/* Loading code objects: what the compiler made, and the same with one thing broken. */
#include "core/file.h"
#include "emulator/load/image.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct em_space *space;
static struct wf_buf file;

static void read_object(const char *path)
{
    struct wf_error err = { .text = "" };
    cr_assert_eq(em_space_create(&space, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_file_read(path, 1 << 24, &file, &err), WF_OK, "%s", err.text);
}

static void setup(void)
{
    read_object(LOAD_OBJECT);
}

static void teardown(void)
{
    wf_buf_free(&file);
    em_space_destroy(space);
}

TestSuite(load, .init = setup, .fini = teardown);

static struct em_image *load(void)
{
    struct em_image *image = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(em_image_load(space, 0, file.data, file.len, "x.co", &image, &err),
                 WF_OK, "%s", err.text);
    return image;
}

static void expect_refused(enum wf_status status, const char *part)
{
    struct em_image *image = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st =
        em_image_load(space, 0, file.data, file.len, "x.co", &image, &err);
    cr_expect_eq(st, status, "%s: %s", wf_status_name(st), err.text);
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    cr_expect_eq(em_space_used(space, 0), 0, "what failed to load holds memory");
    if (st == WF_OK) {
        em_image_destroy(image);
    }
}

/* --- the file's parts, for breaking them --- */

static void put(size_t at, uint64_t value, size_t bytes)
{
    memcpy(file.data + at, &value, bytes);
}

static uint64_t get(size_t at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, file.data + at, bytes);
    return value;
}

/* Offset of the n-th program header that is to be loaded and has these flags. */
static size_t loaded_segment(uint64_t flags)
{
    for (uint64_t i = 0; i < get(56, 2); i++) {
        size_t at = (size_t)(get(32, 8) + i * 56);
        if (get(at, 4) == 1 && get(at + 4, 4) == flags) {
            return at;
        }
    }
    cr_assert_fail("no such segment");
    return 0;
}

/* Offset of the first section header of that type. */
static size_t section(uint64_t type)
{
    for (uint64_t i = 0; i < get(60, 2); i++) {
        size_t at = (size_t)(get(40, 8) + i * 64);
        if (get(at + 4, 4) == type) {
            return at;
        }
    }
    cr_assert_fail("no such section");
    return 0;
}

/* Offset of the descriptor of "add" in the file: .rodata is in the first segment. */
static size_t descriptor(const struct em_kernel *k)
{
    for (size_t at = 0; at + 64 <= file.len; at += 64) {
        if (get(at, 4) == k->lds_bytes && get(at + 4, 4) == k->private_bytes &&
            get(at + 8, 4) == k->kernarg_bytes && get(at + 48, 4) == k->rsrc1 &&
            get(at + 52, 4) == k->rsrc2) {
            return at;
        }
    }
    cr_assert_fail("no descriptor");
    return 0;
}

/* --- what is right --- */

Test(load, kernels_have_their_descriptor_and_arguments)
{
    struct em_image *image = load();
    cr_assert_eq(em_image_kernel_count(image), 2);
    const struct em_kernel *k = em_image_find(image, "add");
    cr_assert_not_null(k);
    cr_expect_eq(k->lds_bytes, 256);
    cr_expect(k->private_bytes >= 32, "%u", k->private_bytes);
    cr_expect_eq(k->max_workgroup, 1024);
    cr_expect(k->vgprs > 0 && k->vgprs % 4 == 0 && k->accum_offset % 4 == 0);
    cr_expect_eq((k->vgprs + k->agprs) % 8, 0);
    cr_expect(k->sgprs % 16 == 0 && k->sgprs > 0);
    cr_expect_eq(k->properties & 8, 8, "the kernel's arguments are in SGPRs");
    cr_assert(k->arg_count >= 3);
    cr_expect(k->arg[0].offset == 0 && k->arg[0].bytes == 8);
    cr_expect(k->arg[1].offset == 8 && k->arg[1].bytes == 4);
    cr_expect(k->arg[2].offset == 16 && k->arg[2].bytes == 8);
    cr_expect_eq(k->arg[2].hidden, EM_NOT_HIDDEN);
    const struct em_kernel *empty = em_image_find(image, "empty");
    cr_assert_not_null(empty);
    cr_expect_eq(empty->max_workgroup, 64);
    cr_expect_eq(empty->arg[0].bytes, 1);
    cr_expect_eq(em_image_find(image, "add.kd"), NULL);
    cr_expect_eq(em_image_kernel(image, 2), NULL);
    em_image_destroy(image);
}

Test(load, hidden_arguments_are_known_by_their_names)
{
    struct em_image *image = load();
    const struct em_kernel *k = em_image_find(image, "add");
    size_t hidden = 0, block_count = 0;
    for (size_t i = 0; i < k->arg_count; i++) {
        hidden += k->arg[i].hidden != EM_NOT_HIDDEN;
        block_count += k->arg[i].hidden == EM_HIDDEN_block_count_x;
        cr_expect(k->arg[i].offset + k->arg[i].bytes <= k->kernarg_bytes);
    }
    cr_expect(hidden == 0 || block_count == 1, "%zu hidden", hidden);
    em_image_destroy(image);
}

Test(load, variables_are_where_relocations_point)
{
    struct em_image *image = load();
    uint64_t counter = 0, where = 0, table = 0, bytes = 0;
    int32_t seven = 0;
    uint64_t target = 0;
    float first[4];
    cr_assert(em_image_variable(image, "counter", &counter, &bytes));
    cr_expect_eq(bytes, 4);
    memcpy(&seven, (const void *)(uintptr_t)counter, sizeof(seven));
    cr_expect_eq(seven, 7);
    cr_assert(em_image_variable(image, "where", &where, &bytes));
    memcpy(&target, (const void *)(uintptr_t)where, sizeof(target));
    cr_expect_eq(target, counter, "R_AMDGPU_RELATIVE64 is applied");
    cr_assert(em_image_variable(image, "table", &table, &bytes));
    cr_expect_eq(bytes, 64);
    memcpy(first, (const void *)(uintptr_t)table, sizeof(first));
    cr_expect(first[0] == 1 && first[1] == 2 && first[2] == 3 && first[3] == 0);
    cr_expect_not(em_image_variable(image, "add.kd", &table, &bytes));
    cr_expect_not(em_image_variable(image, "nothing", &table, &bytes));
    em_image_destroy(image);
}

Test(load, every_dword_of_the_code_has_its_function)
{
    struct em_image *image = load();
    uint32_t within = 99;
    const struct em_kernel *k = em_image_find(image, "add");
    cr_expect_str_eq(em_image_symbol(image, k->entry, &within), "add");
    cr_expect_eq(within, 0);
    cr_expect_str_eq(em_image_symbol(image, k->entry + 3, &within), "add");
    cr_expect_eq(within, 12);
    cr_expect_str_eq(em_image_symbol(image, 0, &within), "_Z6helperiPi");
    size_t count = em_code_count(em_image_code(image));
    cr_expect_null(em_image_symbol(image, (uint32_t)count, &within));
    cr_expect_null(em_image_symbol(image, UINT32_MAX, &within));
    em_image_destroy(image);
}

Test(load, lines_come_from_the_debug_information)
{
    struct em_image *image = load();
    char text[64] = "";
    const struct em_kernel *k = em_image_find(image, "empty");
    cr_assert(em_image_line(image, k->entry, text, sizeof(text)));
    cr_expect_str_eq(text, "load_object.hip:33");
    cr_expect_not(em_image_line(image, UINT32_MAX, text, sizeof(text)));
    em_image_destroy(image);
}

Test(load, without_debug_information_there_are_no_lines)
{
    teardown();
    file = (struct wf_buf)WF_BUF_INIT;
    read_object(LOAD_OBJECT_PLAIN);
    struct em_image *image = load();
    char text[64];
    cr_expect_not(em_image_line(image, 0, text, sizeof(text)));
    em_image_destroy(image);
}

Test(load, an_image_outlives_the_bytes_that_it_was_made_of)
{
    struct em_image *image = load();
    uint32_t within = 0;
    char text[64];
    memset(file.data, 0xff, file.len);
    const struct em_kernel *k = em_image_find(image, "add");
    cr_assert_not_null(k);
    cr_expect_str_eq(em_image_symbol(image, k->entry, &within), "add");
    cr_expect(em_image_line(image, k->entry, text, sizeof(text)));
    em_image_destroy(image);
}

Test(load, two_images_have_variables_of_their_own)
{
    struct em_image *a = load(), *b = load();
    uint64_t at_a = 0, at_b = 0, bytes = 0;
    cr_assert(em_image_variable(a, "counter", &at_a, &bytes));
    cr_assert(em_image_variable(b, "counter", &at_b, &bytes));
    cr_expect_neq(at_a, at_b);
    em_image_destroy(a);
    em_image_destroy(b);
}

/* --- what is wrong --- */

Test(load, another_target_is_refused_with_its_name)
{
    put(48, 0x54c - 0x4c + 0x3f, 4); /* gfx90a */
    expect_refused(WF_EUNSUPPORTED, "compiled for gfx90a");
}

Test(load, xnack_on_is_refused_and_off_is_good)
{
    put(48, 0x74c, 4);
    expect_refused(WF_EUNSUPPORTED, "xnack+");
    put(48, 0xa4c, 4);
    expect_refused(WF_EUNSUPPORTED, "sramecc-");
    put(48, 0xe4c, 4);
    em_image_destroy(load());
}

Test(load, versions_and_machines_that_are_unknown_are_refused)
{
    put(8, 1, 1);
    expect_refused(WF_EUNSUPPORTED, "code object version 3");
    put(8, 4, 1);
    put(18, 62, 2);
    expect_refused(WF_EUNSUPPORTED, "not for AMDGPU");
    put(18, 224, 2);
    put(16, 1, 2);
    expect_refused(WF_EUNSUPPORTED, "not a linked code object");
}

Test(load, what_is_cut_off_is_refused)
{
    size_t whole = file.len;
    const size_t kept[] = { 0, 3, 63, 64, 500, 2000 };
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        file.len = kept[i];
        expect_refused(WF_EPARSE, "x.co: ");
    }
    file.len = whole;
}

Test(load, segments_outside_of_the_file_or_of_all_reason_are_refused)
{
    size_t code = loaded_segment(5);
    uint64_t bytes = get(code + 32, 8);
    put(code + 8, UINT64_MAX - 8, 8);
    expect_refused(WF_EPARSE, "outside the file");
    teardown();
    setup();
    put(code + 40, bytes + 4, 8);
    expect_refused(WF_EPARSE, "executable segment");
    put(code + 40, UINT64_MAX, 8);
    expect_refused(WF_EPARSE, "impossible size");
    teardown();
    setup();
    put(code + 16, UINT64_MAX - 16, 8);
    expect_refused(WF_EPARSE, "impossible size");
    teardown();
    setup();
    size_t data = loaded_segment(6);
    put(data + 40, UINT64_C(1) << 39, 8); /* 512 GiB of .bss */
    expect_refused(WF_EPARSE, "impossible size");
    teardown();
    setup();
    put(data + 4, 7, 4);
    expect_refused(WF_EPARSE, "executable segment");
    put(code, 2, 4);
    put(data, 2, 4);
    expect_refused(WF_EPARSE, "");
}

Test(load, relocations_are_checked)
{
    size_t rela = (size_t)get(section(4) + 24, 8);
    put(rela, UINT64_C(1) << 40, 8);
    expect_refused(WF_EPARSE, "relocation outside of the image");
    teardown();
    setup();
    put(rela + 8, 250, 4);
    expect_refused(WF_EUNSUPPORTED, "relocation of unknown type 250");
    put(rela + 8, 3, 4);
    put(rela + 12, 999, 4);
    expect_refused(WF_EPARSE, "symbol that is not there");
    put(rela + 12, 1, 4); /* the one that is defined nowhere */
    expect_refused(WF_EUNSUPPORTED, "is defined nowhere");
}

Test(load, absolute_and_relative_relocations_have_their_values)
{
    /* "where" is relocated against "counter": symbol 8 of .dynsym or another one. */
    size_t rela = (size_t)get(section(4) + 24, 8);
    size_t symbols = (size_t)get(section(11) + 24, 8);
    size_t count = (size_t)get(section(11) + 32, 8) / 24;
    uint64_t counter = get(rela + 16, 8), index = 0;
    for (size_t i = 1; i < count; i++) {
        index = get(symbols + 24 * i + 8, 8) == counter ? i : index;
    }
    cr_assert_neq(index, 0);
    put(rela + 12, index, 4);
    const struct {
        uint32_t type, bytes;
    } types[] = { { 3, 8 }, { 5, 8 }, { 1, 4 }, { 2, 4 }, { 4, 4 }, { 11, 4 } };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        put(rela + 8, types[i].type, 4);
        put(rela + 16, 2, 8);
        struct em_image *image = load();
        uint64_t at = 0, where = 0, bytes = 0, got = 0;
        cr_assert(em_image_variable(image, "counter", &at, &bytes));
        cr_assert(em_image_variable(image, "where", &where, &bytes));
        memcpy(&got, (const void *)(uintptr_t)where, types[i].bytes);
        uint64_t absolute = at + 2, relative = at + 2 - where;
        uint64_t want[] = { [0] = absolute,
                            [1] = relative,
                            [2] = absolute & UINT32_MAX,
                            [3] = absolute >> 32,
                            [4] = relative & UINT32_MAX,
                            [5] = relative >> 32 };
        cr_expect_eq(got, want[i], "type %u", types[i].type);
        em_image_destroy(image);
    }
}

Test(load, descriptors_are_checked)
{
    struct em_image *image = load();
    size_t at = descriptor(em_image_find(image, "add"));
    em_image_destroy(image);
    put(at + 16, UINT64_C(1) << 50, 8);
    expect_refused(WF_EPARSE, "starts outside of the code");
    put(at + 16, get(at + 16, 8) + 2, 8);
    expect_refused(WF_EPARSE, "starts outside of the code");
}

Test(load, arguments_outside_of_the_segment_are_refused)
{
    static const char name[] = ".offset";
    for (size_t i = 0; i + 16 < file.len; i++) {
        if (memcmp(file.data + i, name, 7) == 0 && (uint8_t)file.data[i + 7] == 8) {
            file.data[i + 7] = 0x7f; /* the argument "n" */
            break;
        }
    }
    expect_refused(WF_EPARSE, "argument 1 of kernel add is outside of its");
}

Test(load, broken_debug_information_gives_no_line_and_no_crash)
{
    char text[64];
    for (size_t step = 1; step < 200; step += 7) {
        teardown();
        file = (struct wf_buf)WF_BUF_INIT;
        setup();
        size_t first = (size_t)get(section(11) + 24, 8); /* keep what is loaded */
        for (size_t i = file.len / 2 + step; i < (size_t)get(40, 8); i += 97) {
            bool loaded = i < first + 0x1000;
            file.data[i] = loaded ? file.data[i] : (char)(file.data[i] ^ (int)step);
        }
        struct em_image *image = NULL;
        struct wf_error err = { .text = "" };
        if (em_image_load(space, 0, file.data, file.len, "x.co", &image, &err) ==
            WF_OK) {
            for (uint32_t i = 0; i < 64; i++) {
                (void)em_image_line(image, i, text, sizeof(text));
            }
            em_image_destroy(image);
        }
    }
}
