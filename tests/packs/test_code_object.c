/* Reading code objects: real ones, made-up ones, and hostile ones. */
#include "packs/code_object.h"
#include "packs/elf.h"
#include "packs/msgpack.h"

#include "core/buf.h"
#include "core/file.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct wf_buf read_built(const char *name)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    const char *build = getenv("WF_BINARY_DIR");
    cr_assert_not_null(build, "WF_BINARY_DIR is not set: run through ctest");
    char *path = wf_path_join(build, name);
    cr_assert_eq(wf_file_read(path, 1 << 24, &b, &err), WF_OK, "%s", err.text);
    free(path);
    return b;
}

static struct wf_code_object *parse(const struct wf_buf *b)
{
    struct wf_code_object *c = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_code_object_parse(b->data, b->len, "x.co", &c, &err), WF_OK, "%s",
                 err.text);
    return c;
}

static void expect_fails(const struct wf_buf *b, const char *part)
{
    struct wf_code_object *c = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st = wf_code_object_parse(b->data, b->len, "x.co", &c, &err);
    cr_expect_eq(st, WF_EPARSE, "%s", wf_status_name(st));
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    wf_code_object_free(st == WF_OK ? c : NULL);
}

Test(code_object, amdgpu_kernels_with_their_metadata)
{
    struct wf_buf b =
        read_built("test-packs/every-feature-gfx942/every_feature.tail.co");
    struct wf_code_object *c = parse(&b);
    cr_expect_eq(wf_code_object_kind(c), WF_CODE_AMDGPU);
    cr_expect_str_eq(wf_code_object_arch(c), "gfx942");
    cr_expect_eq(wf_code_object_count(c), 2);
    cr_expect_eq(wf_code_object_find(c, "wf_every_reduce.kd"), NULL);
    const struct wf_code_kernel *k = wf_code_object_find(c, "wf_every_add_c");
    cr_assert_not_null(k);
    cr_expect(k->has_layout);
    cr_assert_eq(k->arg_count, 5, "hidden arguments are left out");
    cr_expect(k->arg[4].offset == 32 && k->arg[4].bytes == 4);
    cr_expect_eq(k->max_workgroup, 256);
    cr_expect(k->vgprs > 0 && k->sgprs > 0);
    cr_expect(k->private_bytes == 0 && k->vgpr_spills == 0 && k->sgpr_spills == 0);
    wf_code_object_free(c);
    wf_code_object_free(NULL);
    wf_buf_free(&b);
}

Test(code_object, amdgpu_processor_by_the_flags)
{
    struct wf_buf b = read_built("test-packs/every-feature-gfx942/every_feature.co");
    static const struct {
        uint8_t mach;
        const char *name;
    } known[] = { { 0x3f, "gfx90a" }, { 0x40, "gfx940" }, { 0x4b, "gfx941" },
                  { 0x4c, "gfx942" }, { 0x4f, "gfx950" }, { 0x5f, "gfx9-4-generic" } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        b.data[48] = (char)known[i].mach;
        struct wf_code_object *c = parse(&b);
        cr_expect_str_eq(wf_code_object_arch(c), known[i].name);
        bool runs = strcmp(known[i].name, "gfx942") == 0 ||
                    strcmp(known[i].name, "gfx9-4-generic") == 0;
        cr_expect_eq(wf_code_object_runs_on(c, "gfx942"), runs, "%s", known[i].name);
        wf_code_object_free(c);
    }
    b.data[48] = 0x01;
    expect_fails(&b, "unknown processor (0x01)");
    wf_buf_free(&b);
}

Test(code_object, ptx)
{
    struct wf_buf b =
        read_built("test-packs/every-feature-sm_90/every_feature.tail.ptx");
    struct wf_code_object *c = parse(&b);
    cr_expect_eq(wf_code_object_kind(c), WF_CODE_PTX);
    cr_expect_str_eq(wf_code_object_arch(c), "sm_90");
    cr_expect_eq(wf_code_object_count(c), 2);
    cr_expect_not_null(wf_code_object_find(c, "wf_every_reduce"));
    cr_expect(wf_code_object_runs_on(c, "sm_90") &&
              wf_code_object_runs_on(c, "sm_100"));
    cr_expect_not(wf_code_object_runs_on(c, "sm_80"));
    cr_expect_not(wf_code_object_runs_on(c, "gfx942"));
    wf_code_object_free(c);
    wf_buf_free(&b);
}

static struct wf_buf text(const char *s)
{
    struct wf_buf b = WF_BUF_INIT;
    cr_assert_eq(wf_buf_puts(&b, s, NULL), WF_OK);
    return b;
}

Test(code_object, ptx_comments_and_strings_are_not_code)
{
    struct wf_buf b =
        text("// .entry no\n.version 8.5\n.target sm_90a, texmode_unified\n"
             "/* .entry nor */ .visible .entry yes( .param .u64 p )\n"
             "{ .file 1 \".entry neither\" }\n.weak .entry also()\n");
    struct wf_code_object *c = parse(&b);
    cr_expect_str_eq(wf_code_object_arch(c), "sm_90a");
    cr_expect_eq(wf_code_object_count(c), 2);
    cr_expect_not_null(wf_code_object_find(c, "yes"));
    cr_expect_not_null(wf_code_object_find(c, "also"));
    cr_expect(wf_code_object_runs_on(c, "sm_90"));
    cr_expect_not(wf_code_object_runs_on(c, "sm_100"),
                  "'a' features are of one device");
    wf_code_object_free(c);
    wf_buf_free(&b);
}

Test(code_object, neither_elf_nor_ptx)
{
    static const char *const wrong[][2] = {
        { "hello", "neither an ELF code object nor PTX" },
        { ".version 8.5\n", "neither an ELF code object nor PTX" },
        { ".version 8.5\n.target compute_90\n", "neither an ELF" },
        { ".version 8.5\n.target sm_90\n.entry", "neither an ELF" },
        { "__CLANG_OFFLOAD_BUNDLE__xxxx", "offload bundle" },
        { "CCOBxxxx", "offload bundle" },
        { "\x50\xed\x55\xba\x01", "CUDA fat binary" },
        { "\177ELF", "no ELF header" },
        { "", "neither an ELF" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct wf_buf b = text(wrong[i][0]);
        expect_fails(&b, wrong[i][1]);
        wf_buf_free(&b);
    }
}

/* --- made-up ELF files: header, a symbol table, a string table --- */

struct made_symbol {
    const char *name;
    uint8_t info, other;
    uint16_t section;
};

static void put(struct wf_buf *b, size_t at, uint64_t v, size_t n)
{
    memcpy(b->data + at, &v, n);
}

#define SYMTAB (64 + 4 * 64)

/* Content of a section ".nv.info.kernel". */
static const char *info = "";
static size_t info_bytes;

static struct wf_buf make_elf(uint16_t machine,
                              uint8_t abi,
                              uint32_t flags,
                              const struct made_symbol *s,
                              size_t n)
{
    struct wf_buf b = WF_BUF_INIT, names = WF_BUF_INIT;
    static const char zeros[4096];
    const size_t symtab = SYMTAB, strtab = symtab + n * 24;
    cr_assert_eq(wf_buf_add(&names, "", 1, NULL), WF_OK);
    cr_assert_eq(wf_buf_add(&b, zeros, strtab, NULL), WF_OK);
    memcpy(b.data, "\177ELF\2\1\1", 7);
    b.data[8] = (char)abi;
    put(&b, 16, ELF_TYPE_DYN, 2);
    put(&b, 18, machine, 2);
    put(&b, 40, 64, 8); /* sections */
    put(&b, 48, flags, 4);
    put(&b, 58, 64, 2);
    put(&b, 60, 4, 2);
    put(&b, 62, 2, 2); /* names of sections */
    for (size_t i = 0; i < n; i++) {
        put(&b, symtab + i * 24, names.len, 4);
        put(&b, symtab + i * 24 + 4, s[i].info, 1);
        put(&b, symtab + i * 24 + 5, s[i].other, 1);
        put(&b, symtab + i * 24 + 6, s[i].section, 2);
        cr_assert_eq(wf_buf_add(&names, s[i].name, strlen(s[i].name) + 1, NULL), WF_OK);
    }
    put(&b, 128 + 4, 2, 4); /* SYMTAB */
    put(&b, 128 + 24, symtab, 8);
    put(&b, 128 + 32, n * 24, 8);
    put(&b, 128 + 40, 2, 4); /* its strings */
    put(&b, 128 + 56, 24, 8);
    put(&b, 192 + 4, 3, 4); /* STRTAB */
    put(&b, 192 + 24, strtab, 8);
    put(&b, 256, names.len, 4);
    put(&b, 256 + 4, 0x70000000, 4);
    cr_assert_eq(wf_buf_add(&names, ".nv.info.kernel", 16, NULL), WF_OK);
    put(&b, 192 + 32, names.len, 8);
    put(&b, 256 + 24, strtab + names.len, 8);
    put(&b, 256 + 32, info_bytes, 8);
    cr_assert_eq(wf_buf_add(&b, names.data, names.len, NULL), WF_OK);
    cr_assert_eq(wf_buf_add(&b, info, info_bytes, NULL), WF_OK);
    wf_buf_free(&names);
    return b;
}

Test(code_object, cubin_of_both_generations)
{
    static const struct made_symbol s[] = { { "kernel", 0x12, 0x10, 1 },
                                            { "helper", 0x12, 0, 1 },
                                            { "undefined", 0x12, 0x10, 0 } };
    static const struct {
        uint8_t abi;
        uint32_t flags;
        const char *arch;
    } known[] = { { 8, 0x6005a04, "sm_90" },
                  { 7, 0x5a055a, "sm_90" },
                  { 8, 0x6006404, "sm_100" } };
    for (size_t i = 0; i < 3; i++) {
        struct wf_buf b = make_elf(ELF_CUDA, known[i].abi, known[i].flags, s, 3);
        struct wf_code_object *c = parse(&b);
        cr_expect_eq(wf_code_object_kind(c), WF_CODE_CUBIN);
        cr_expect_str_eq(wf_code_object_arch(c), known[i].arch);
        cr_assert_eq(wf_code_object_count(c), 1);
        cr_expect_str_eq(wf_code_object_at(c, 0)->name, "kernel");
        wf_code_object_free(c);
        wf_buf_free(&b);
    }
}

Test(code_object, cubins_run_on_their_major_version_only)
{
    struct wf_buf b = make_elf(ELF_CUDA, 7, 86, NULL, 0);
    struct wf_code_object *c = parse(&b);
    cr_expect(wf_code_object_runs_on(c, "sm_86") && wf_code_object_runs_on(c, "sm_89"));
    cr_expect_not(wf_code_object_runs_on(c, "sm_80") ||
                  wf_code_object_runs_on(c, "sm_90"));
    cr_expect_not(wf_code_object_runs_on(c, "sm_") ||
                  wf_code_object_runs_on(c, "sm_x"));
    wf_code_object_free(c);
    wf_buf_free(&b);
}

/* A parameter's attribute: ordinal, offset, size. */
#define PARAMETER(ordinal, offset, size) \
    "\4\x17\x0c\0\0\0\0\0" ordinal "\0" offset "\0\0\xf0" size "\0"

static struct wf_code_object *parse_info(const char *bytes, size_t n)
{
    static const struct made_symbol s[] = { { "kernel", 0x12, 0x10, 1 } };
    info = bytes;
    info_bytes = n;
    struct wf_buf b = make_elf(ELF_CUDA, 8, 0x6005a04, s, 1);
    struct wf_code_object *c = parse(&b);
    wf_buf_free(&b);
    return c;
}

Test(code_object, parameters_of_a_cubin)
{
    static const char bytes[] = "\4\x37\4\0\x82\0\0\0" PARAMETER("\1", "\x08", "\x11")
        PARAMETER("\0", "\0", "\x21") "\3\x1b\xff\0";
    struct wf_code_object *c = parse_info(bytes, sizeof bytes - 1);
    const struct wf_code_kernel *k = wf_code_object_find(c, "kernel");
    cr_assert(k != NULL && k->has_layout);
    cr_assert_eq(k->arg_count, 2);
    cr_expect(k->arg[0].offset == 0 && k->arg[0].bytes == 8);
    cr_expect(k->arg[1].offset == 8 && k->arg[1].bytes == 4);
    wf_code_object_free(c);
}

Test(code_object, odd_parameters_of_a_cubin_are_left_out)
{
    static const char twice[] =
        PARAMETER("\0", "\0", "\x11") PARAMETER("\0", "\4", "\x11");
    static const char hole[] = PARAMETER("\5", "\0", "\x11");
    static const char cut[] = PARAMETER("\0", "\0", "\x11") "\4\x17\xff\0";
    static const struct {
        const char *bytes;
        size_t n;
    } odd[] = { { twice, sizeof twice - 1 },
                { hole, sizeof hole - 1 },
                { cut, sizeof cut - 1 } };
    for (size_t i = 0; i < 3; i++) {
        struct wf_code_object *c = parse_info(odd[i].bytes, odd[i].n);
        cr_expect_not(wf_code_object_at(c, 0)->has_layout, "case %zu", i);
        wf_code_object_free(c);
    }
}

Test(code_object, shared_objects_show_what_they_export)
{
    static const struct made_symbol s[] = { { "wf_library_kernels_v1", 0x12, 0, 1 },
                                            { "wf_hidden", 0x12, 2, 1 },
                                            { "wf_local", 0x02, 0, 1 },
                                            { "wf_needed", 0x12, 0, 0 },
                                            { "other", 0x12, 0, 1 } };
    struct wf_buf b = make_elf(ELF_X86_64, 0, 0, s, 5);
    struct wf_code_object *c = parse(&b);
    cr_expect_eq(wf_code_object_kind(c), WF_CODE_SHARED);
    cr_expect_str_eq(wf_code_object_arch(c), "x86-64");
    cr_assert_eq(wf_code_object_count(c), 1);
    cr_expect_not_null(wf_code_object_find(c, "wf_library_kernels_v1"));
    wf_code_object_free(c);
    put(&b, 16, 1, 2);
    expect_fails(&b, "not a shared object");
    wf_buf_free(&b);
}

struct damage {
    size_t at;
    uint64_t value;
    size_t bytes;
    const char *error;
};

Test(code_object, damaged_elf)
{
    static const struct made_symbol s[] = { { "kernel.kd", 0x11, 0, 1 } };
    static const struct damage damages[] = {
        { 4, 1, 1, "not 64-bit" },
        { 5, 2, 1, "not 64-bit" },
        { 18, 3, 2, "machine 3" },
        { 40, 1u << 30, 8, "headers outside" },
        { 40, UINT64_MAX, 8, "headers outside" },
        { 58, 63, 2, "odd size of headers" },
        { 60, 65535, 2, "too many sections" },
        { 56, 1, 2, "odd size of headers" },
        { 128 + 24, UINT64_MAX - 8, 8, "symbol table outside" },
        { 128 + 32, UINT64_MAX, 8, "symbol table outside" },
        { 128 + 40, 4, 4, "symbol table outside" },
        { 128 + 56, 0, 8, "symbol table outside" },
        { 192 + 24, UINT64_MAX, 8, "string table outside" },
        { 192 + 32, 1u << 31, 8, "string table outside" },
        { 192 + 32, 3, 8, "symbol without a name" },
        { SYMTAB, 0xffffffff, 4, "symbol without a name" },
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct wf_buf b = make_elf(ELF_AMDGPU, 3, 0x4c, s, 1);
        put(&b, damages[i].at, damages[i].value, damages[i].bytes);
        expect_fails(&b, damages[i].error);
        wf_buf_free(&b);
    }
}

Test(code_object, every_prefix_of_a_real_file_is_survived)
{
    struct wf_buf b = read_built("test-packs/every-feature-gfx942/every_feature.co");
    for (size_t n = 0; n < b.len; n += 7) {
        struct wf_code_object *c = NULL;
        char *exact = malloc(n + 1); /* so that the sanitizer sees the end */
        memcpy(exact, b.data, n);
        if (wf_code_object_parse(exact, n, "x.co", &c, NULL) == WF_OK) {
            wf_code_object_free(c);
        }
        free(exact);
    }
    wf_buf_free(&b);
}

Test(code_object, every_changed_byte_of_a_real_file_is_survived)
{
    struct wf_buf b = read_built("test-packs/every-feature-gfx942/every_feature.co");
    for (size_t i = 0; i < b.len; i++) {
        struct wf_code_object *c = NULL;
        b.data[i] = (char)(b.data[i] ^ 0xff);
        if (wf_code_object_parse(b.data, b.len, "x.co", &c, NULL) == WF_OK) {
            wf_code_object_free(c);
        }
        b.data[i] = (char)(b.data[i] ^ 0xff);
    }
    wf_buf_free(&b);
}

/* --- MessagePack --- */

static struct msgpack over(const void *p, size_t n)
{
    return (struct msgpack){ .p = p, .end = (const uint8_t *)p + n };
}

static void expect_uint(const char *bytes, size_t n, uint64_t want)
{
    struct msgpack m = over(bytes, n);
    struct msgpack_item v;
    cr_expect(msgpack_next(&m, &v) && v.kind == MSGPACK_UINT && v.u == want &&
              m.p == m.end);
}

Test(msgpack, integers)
{
    expect_uint("\x07", 1, 7);
    expect_uint("\xcc\xff", 2, 255);
    expect_uint("\xcd\x01\x02", 3, 0x102);
    expect_uint("\xce\x01\x02\x03\x04", 5, 0x1020304);
    expect_uint("\xcf\x01\x02\x03\x04\x05\x06\x07\x08", 9, 0x102030405060708);
    expect_uint("\xd0\x05", 2, 5);
    expect_uint("\xd3\0\0\0\0\0\0\0\x05", 9, 5);
}

Test(msgpack, strings_and_containers)
{
    struct msgpack m = over("\x82\xa1k\x93\x01\xc0\xc3\xd9\x02xy\xdc\0\0", 14);
    struct msgpack_item v;
    cr_expect(msgpack_next(&m, &v) && v.kind == MSGPACK_MAP && v.count == 2);
    cr_expect(msgpack_next(&m, &v) && msgpack_is(&v, "k") && !msgpack_is(&v, "kk"));
    cr_expect(msgpack_next(&m, &v) && v.kind == MSGPACK_ARRAY && v.count == 3);
    cr_expect(msgpack_skip_content(&m, &v));
    cr_expect(msgpack_next(&m, &v) && msgpack_is(&v, "xy"));
    cr_expect(msgpack_next(&m, &v) && v.kind == MSGPACK_ARRAY && v.count == 0);
    cr_expect_not(msgpack_next(&m, &v), "the end");
}

Test(msgpack, lengths_past_the_end)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = { { "\xa5xy", 3 },
                { "\xdb\xff\xff\xff\xff", 5 },
                { "\xcd\x01", 2 },
                { "\xc6\x7f\xff\xff\xff\0", 6 },
                { "\xc9\xff\xff\xff\xff\0", 6 },
                { "\xc1", 1 },
                { "\xcb\0", 2 },
                { "\xd8\0", 2 },
                { "\xde\0", 2 } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct msgpack m = over(bad[i].bytes, bad[i].n);
        struct msgpack_item v;
        cr_expect_not(msgpack_next(&m, &v), "case %zu", i);
    }
    struct msgpack m = over("\xdd\xff\xff\xff\xff\x01", 6);
    struct msgpack_item v;
    cr_expect(msgpack_next(&m, &v));
    cr_expect_not(msgpack_skip_content(&m, &v), "more items than bytes");
}
