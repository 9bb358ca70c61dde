/* The identity of kernels, on code that real compilers made of one small kernel. The
 * compilers' paths are WF_TEST_CLANG, WF_TEST_PTXAS ("" where there is none) and
 * WF_TEST_CC. */
#include "packs/command.h"
#include "packs/identity.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT "a/k.out" /* what compile() writes */

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-identity-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(identity, .init = make_root, .fini = remove_root);

static void write_file(const char *name, const char *text, size_t n)
{
    char *path = wf_path_join(root, name);
    char *folder = wf_strndup(path, (size_t)(strrchr(path, '/') - path));
    cr_assert_eq(wf_mkdir_parents(folder, NULL), WF_OK);
    cr_assert_eq(wf_file_write_atomic(path, text, n, NULL), WF_OK);
    free(folder);
    free(path);
}

static struct wf_buf read_file(const char *name)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    char *path = wf_path_join(root, name);
    cr_assert_eq(wf_file_read(path, 1 << 24, &b, &err), WF_OK, "%s", err.text);
    free(path);
    return b;
}

static void must_run(const char *const *argv)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    int code = -1;
    cr_assert_eq(command_run(argv, root, true, &out, &code, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(code, 0, "%s: %s", argv[0], wf_buf_cstr(&out));
    wf_buf_free(&out);
}

/* A loop, local memory and a call that stays one, so that debug information has
 * something to say. %s: a constant, the name of a parameter. */
static const char device_source[] =
    "#if defined(__CUDA__)\n"
    "#define TID __nvvm_read_ptx_sreg_tid_x()\n"
    "#else\n"
    "#define TID (int)__builtin_amdgcn_workitem_id_x()\n"
    "#endif\n"
    "#define D __attribute__((device))\n"
    "static D __attribute__((shared)) float part[64];\n"
    "D __attribute__((noinline)) float step(float x, int i) { return x * %s + i; }\n"
    "extern \"C\" __attribute__((global)) void go(float *d, int %s)\n"
    "{\n"
    "    float v = d[TID];\n"
    "    for (int i = 0; i < %s; i++) {\n"
    "        v = step(v, i);\n"
    "    }\n"
    "    part[TID] = v;\n"
    "    d[TID] = part[63 - TID];\n"
    "}\n";

/* A build of the kernel; NULL members are as usual. */
struct build {
    const char *file, *constant, *parameter, *debug;
};

static void write_source(const struct build *b, const char *file)
{
    const char *n = b->parameter != NULL ? b->parameter : "n";
    char *text =
        wf_asprintf(device_source, b->constant != NULL ? b->constant : "1.5f", n, n);
    write_file(file, text, strlen(text));
    free(text);
}

static void compile_amd(const struct build *b)
{
    const char *file = b->file != NULL ? b->file : "a/k.hip";
    const char *const argv[] = { WF_TEST_CLANG,
                                 "-x",
                                 "hip",
                                 "--offload-arch=gfx942",
                                 "--offload-device-only",
                                 "--no-gpu-bundle-output",
                                 "-nogpuinc",
                                 "-nogpulib",
                                 "-fuse-cuid=none",
                                 "-O3",
                                 "-c",
                                 file,
                                 "-o",
                                 OBJECT,
                                 b->debug,
                                 NULL };
    write_source(b, file);
    write_file(OBJECT, "", 0);
    must_run(argv);
}

static void compile_ptx(const struct build *b)
{
    const char *file = b->file != NULL ? b->file : "a/k.cu";
    const char *const argv[] = { WF_TEST_CLANG,
                                 "-x",
                                 "cuda",
                                 "--cuda-gpu-arch=sm_90",
                                 "--cuda-device-only",
                                 "-nocudainc",
                                 "-nocudalib",
                                 "-fuse-cuid=none",
                                 "-Wno-unknown-cuda-version",
                                 "-O3",
                                 "-S",
                                 file,
                                 "-o",
                                 OBJECT,
                                 b->debug,
                                 NULL };
    write_source(b, file);
    write_file(OBJECT, "", 0);
    must_run(argv);
}

static void compile_cubin(const struct build *b)
{
    const char *const argv[] = {
        WF_TEST_PTXAS, "-arch=sm_90", OBJECT,
        "-o",          "a/k.cubin",   b->debug != NULL ? "--generate-line-info" : NULL,
        NULL
    };
    compile_ptx(b);
    must_run(argv);
    const char *const move[] = { "mv", "a/k.cubin", OBJECT, NULL };
    must_run(move);
}

static void compile_shared(const struct build *b)
{
    const char *file = b->file != NULL ? b->file : "a/k.c";
    char *text = wf_asprintf("int wf_step(int %s);\n"
                             "int wf_step(int %s) { return %s + (int)(%s * 64); }\n",
                             b->parameter != NULL ? b->parameter : "n",
                             b->parameter != NULL ? b->parameter : "n",
                             b->parameter != NULL ? b->parameter : "n",
                             b->constant != NULL ? b->constant : "1.5f");
    const char *const argv[] = {
        WF_TEST_CC, "-O2", "-fPIC", "-shared", "-Wl,--build-id=sha1",
        file,       "-o",  OBJECT,  b->debug,  NULL
    };
    write_file(file, text, strlen(text));
    write_file(OBJECT, "", 0);
    free(text);
    must_run(argv);
}

typedef void (*compile_fn)(const struct build *b);

static const char *identity_of(compile_fn compile,
                               const struct build *b,
                               char ret[WF_SHA256_HEX])
{
    struct wf_error err = { .text = "" };
    compile(b);
    struct wf_buf image = read_file(OBJECT);
    cr_assert_eq(wf_code_identity(wf_buf_cstr(&image), image.len, "image", ret, &err),
                 WF_OK, "%s", err.text);
    wf_buf_free(&image);
    return ret;
}

static void compare(compile_fn compile, const char *debug, const char *ending)
{
    char base[WF_SHA256_HEX], other[WF_SHA256_HEX];
    char *path = wf_asprintf("some/other/place/named%s", ending);
    identity_of(compile, &(struct build){ 0 }, base);
    cr_expect_str_eq(base,
                     identity_of(compile, &(struct build){ .debug = debug }, other),
                     "debug information");
    cr_expect_str_eq(base, identity_of(compile, &(struct build){ .file = path }, other),
                     "another place, another name");
    cr_expect_str_neq(
        base, identity_of(compile, &(struct build){ .constant = "1.25f" }, other),
        "another constant");
    free(path);
}

Test(identity, amdgpu)
{
    compare(compile_amd, "-g", ".hip");
}

Test(identity, ptx)
{
    compare(compile_ptx, "-g", ".cu");
}

Test(identity, cubin)
{
    if (WF_TEST_PTXAS[0] == '\0') {
        cr_skip_test("no ptxas");
    }
    compare(compile_cubin, "-gline-tables-only", ".cu");
}

Test(identity, shared_object)
{
    compare(compile_shared, "-g", ".c");
}

static bool same_text(const char *a, const char *b)
{
    char x[WF_SHA256_HEX], y[WF_SHA256_HEX];
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_code_identity(a, strlen(a), "a", x, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_code_identity(b, strlen(b), "b", y, &err), WF_OK, "%s", err.text);
    return strcmp(x, y) == 0;
}

#define PTX  ".version 8.0\n.target sm_90\n.entry go() {\n"
#define BODY "add.s32 %r1, %r2, %r3;\nret;\n}\n"

Test(identity, ptx_keeps_what_runs)
{
    cr_expect(same_text(PTX BODY, "// by hand\n" PTX "/* x */ add.s32   %r1,%r2, "
                                  "%r3; ret; }"));
    cr_expect(same_text(PTX BODY, PTX ".loc 1 2 3\n" BODY));
    cr_expect(same_text(PTX BODY, PTX ".loc 1 2 3, function_name $L__info_string0 + 4, "
                                      "inlined_at 1 7 8\n" BODY));
    cr_expect(same_text(PTX BODY, PTX "$L__tmp0:\n" BODY ".file 1 \"a.cu\", 12, 34\n"
                                      ".section .debug_str { .b8 1,2\n }\n"));
    cr_expect_not(same_text(PTX BODY, PTX ".loc 1 2 3 add.s32 %r1, %r1, 1;\n" BODY),
                  "an instruction behind a line directive");
    cr_expect_not(same_text(PTX BODY, PTX ".section .text { }\n" BODY));
    cr_expect_not(same_text(PTX BODY, PTX ".pragma \"nounroll\";\n" BODY));
    cr_expect_not(same_text(PTX ".pragma \"a\";\n" BODY, PTX ".pragma \"b\";\n" BODY));
    cr_expect_not(same_text(PTX "bra $L__tmp0;\n$L__tmp0:\n" BODY,
                            PTX "$L__tmp0:\nbra $L__tmp0;\n" BODY),
                  "a label that something jumps to");
    cr_expect_not(same_text(PTX BODY, ".version 8.0\n.target sm_90, debug\n.entry go() "
                                      "{\n" BODY));
}

Test(identity, other_bytes_are_their_bytes)
{
    cr_expect(same_text("CCOBxxxx", "CCOBxxxx"));
    cr_expect_not(same_text("CCOBxxxx", "CCOBxxxy"));
    cr_expect_not(same_text("", "x"));
}

/* --- bundles --- */

static void add_number(struct wf_buf *b, uint64_t v)
{
    cr_assert_eq(wf_buf_add(b, &v, sizeof v, NULL), WF_OK);
}

/* One image for gfx942 behind an empty one for the host. */
static struct wf_buf bundle_of(const struct wf_buf *image)
{
    static const char *const IDS[] = { "host-x86_64-unknown-linux--",
                                       "hipv4-amdgcn-amd-amdhsa--gfx942" };
    struct wf_buf b = WF_BUF_INIT;
    cr_assert_eq(wf_buf_add(&b, "__CLANG_OFFLOAD_BUNDLE__", 24, NULL), WF_OK);
    add_number(&b, 2);
    for (int i = 0; i < 2; i++) {
        add_number(&b, 4096);
        add_number(&b, i == 0 ? 0 : image->len);
        add_number(&b, strlen(IDS[i]));
        cr_assert_eq(wf_buf_add(&b, IDS[i], strlen(IDS[i]), NULL), WF_OK);
    }
    while (b.len < 4096) {
        cr_assert_eq(wf_buf_add(&b, "", 1, NULL), WF_OK);
    }
    cr_assert_eq(wf_buf_add(&b, image->data, image->len, NULL), WF_OK);
    return b;
}

static void bundle_identity(const struct build *build, char ret[WF_SHA256_HEX])
{
    struct wf_error err = { .text = "" };
    compile_amd(build);
    struct wf_buf image = read_file(OBJECT);
    struct wf_buf b = bundle_of(&image);
    cr_assert_eq(wf_code_identity(b.data, b.len, "bundle", ret, &err), WF_OK, "%s",
                 err.text);
    for (size_t n = 24; n < 200; n++) { /* cut off anywhere in its table */
        char ignored[WF_SHA256_HEX];
        cr_expect_eq(wf_code_identity(b.data, n, "bundle", ignored, &err), WF_EPARSE);
    }
    wf_buf_free(&b);
    wf_buf_free(&image);
}

Test(identity, bundle)
{
    char plain[WF_SHA256_HEX], debug[WF_SHA256_HEX], other[WF_SHA256_HEX];
    bundle_identity(&(struct build){ .file = "b/k.hip" }, plain);
    bundle_identity(&(struct build){ .debug = "-g" }, debug);
    bundle_identity(&(struct build){ .constant = "2.5f" }, other);
    cr_expect_str_eq(plain, debug);
    cr_expect_str_neq(plain, other);
}

/* --- hostile ELF files --- */

static enum wf_status try(const struct wf_buf *b, size_t n, struct wf_error *err)
{
    char ignored[WF_SHA256_HEX];
    char *copy = malloc(n + 1); /* IGNORE-BANNED: a sanitizer sees its very end */
    cr_assert_not_null(copy);
    memcpy(copy, b->data, n);
    enum wf_status st = wf_code_identity(copy, n, "hostile", ignored, err);
    free(copy);
    return st;
}

static void expect_refused(const struct wf_buf *b,
                           size_t n,
                           const char *what,
                           size_t at)
{
    struct wf_error err = { .text = "" };
    cr_expect_eq(try(b, n, &err), WF_EPARSE, "%s %zu", what, at);
    cr_expect(strncmp(err.text, "hostile: ", 9) == 0, "%s %zu: '%s'", what, at,
              err.text);
}

static void attack(compile_fn compile)
{
    compile(&(struct build){ 0 });
    struct wf_buf b = read_file(OBJECT);
    uint64_t sections = 0;
    memcpy(&sections, b.data + 40, sizeof sections);
    for (size_t n = 4; n < 64; n++) {
        expect_refused(&b, n, "cut at", n);
    }
    for (size_t n = 64; n < b.len; n += 61) {
        expect_refused(&b, n, "cut at", n);
    }
    for (size_t i = 0; i < 64; i++) { /* any byte of the header, any of these values */
        for (int v = 0; v < 256; v += 51) {
            struct wf_error err = { .text = "" };
            const char old = b.data[i];
            b.data[i] = (char)v;
            (void)try(&b, b.len, &err);
            b.data[i] = old;
        }
    }
    /* The second section's content far away, and too large. */
    for (size_t member = 24; member <= 32; member += 8) {
        uint64_t old, wrong[] = { UINT64_MAX, b.len, INT64_MAX, UINT64_C(1) << 32 };
        char *at = b.data + sections + 64 + member;
        memcpy(&old, at, sizeof old);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            memcpy(at, &wrong[i], sizeof wrong[i]);
            expect_refused(&b, b.len, "section member", member);
        }
        memcpy(at, &old, sizeof old);
    }
    wf_buf_free(&b);
}

Test(identity, hostile_amdgpu)
{
    attack(compile_amd);
}

Test(identity, hostile_shared_object)
{
    attack(compile_shared);
}

Test(identity, hostile_cubin)
{
    if (WF_TEST_PTXAS[0] == '\0') {
        cr_skip_test("no ptxas");
    }
    attack(compile_cubin);
}

/* A file whose section headers are gone still differs by its code. */
Test(identity, code_without_section_headers)
{
    char id[2][WF_SHA256_HEX];
    struct wf_error err = { .text = "" };
    for (int i = 0; i < 2; i++) {
        compile_shared(&(struct build){ .constant = i == 0 ? "3.f" : "4.f" });
        struct wf_buf b = read_file(OBJECT);
        memset(b.data + 40, 0, 8); /* offset of the section headers */
        memset(b.data + 60, 0, 4); /* their count, the section of names */
        cr_assert_eq(wf_code_identity(b.data, b.len, "bare", id[i], &err), WF_OK, "%s",
                     err.text);
        wf_buf_free(&b);
    }
    cr_expect_str_neq(id[0], id[1]);
}

/* --- kernels of packs --- */

static const char pack_json[] =
    "{\"schema\":\"wavefarm.pack/1\",\"name\":\"one\",\"kernels\":[{\"name\":\"k\","
    "\"summary\":\"s\",\"op\":\"gemm\",\"kind\":\"code-object\",\"arch\":[\"gfx942\"],"
    "\"knobs\":{\"ROWS\":64,\"TILES\":\"ceil_div(M, ROWS)\"},\"source\":\"k.hip\","
    "\"code\":{\"main\":\"k.co\"},\"launches\":[{\"symbol\":\"go\",\"grid\":[\"TILES\"],"
    "\"block\":[64],\"args\":[{\"pointer\":\"D\"},{\"scalar\":\"i32\",\"value\":\"M\"}]"
    "}]},{\"name\":\"l\",\"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],"
    "\"library\":\"l.so\"},{\"name\":\"l2\",\"op\":\"gemm\",\"kind\":\"library\","
    "\"arch\":[\"x86-64\"],\"library\":\"l.so\"},{\"name\":\"p\",\"op\":\"gemm\","
    "\"kind\":\"process\",\"arch\":[\"x86-64\"],\"command\":[\"sh\",\"{pack}/p.sh\"]}]}";

/* Ids of k, l, l2 and p of the pack with every `from` of its text replaced. */
struct ids {
    char k[WF_SHA256_HEX], l[WF_SHA256_HEX], l2[WF_SHA256_HEX], p[WF_SHA256_HEX];
};

static char *replace_all(const char *text, const char *from, const char *to)
{
    struct wf_buf b = WF_BUF_INIT;
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        cr_assert_eq(wf_buf_printf(&b, NULL, "%.*s%s", (int)(at - text), text, to),
                     WF_OK);
    }
    cr_assert_eq(wf_buf_printf(&b, NULL, "%s", text), WF_OK);
    char *all = wf_strdup(wf_buf_cstr(&b));
    wf_buf_free(&b);
    return all;
}

static void id_of(const struct wf_pack *p, const char *name, char ret[WF_SHA256_HEX])
{
    struct wf_error err = { .text = "" };
    const struct wf_pack_kernel *k = wf_pack_kernel(p, name);
    if (k != NULL) {
        cr_assert_eq(wf_kernel_identity(p, k, ret, &err), WF_OK, "%s", err.text);
    }
}

static struct ids pack_ids(const char *from, const char *to)
{
    struct wf_error err = { .text = "" };
    struct wf_pack *p = NULL;
    struct ids ids = { .k = "" };
    char *text = replace_all(pack_json, from, to);
    char *folder = wf_path_join(root, "pack");
    write_file("pack/pack.json.in", text, strlen(text));
    cr_assert_eq(wf_pack_build(folder, &p, &err), WF_OK, "%s", err.text);
    id_of(p, strcmp(from, "\"k\"") == 0 ? "renamed" : "k", ids.k);
    id_of(p, "l", ids.l);
    id_of(p, "l2", ids.l2);
    id_of(p, "p", ids.p);
    wf_pack_free(p);
    free(folder);
    free(text);
    return ids;
}

static void copy_object(const char *to)
{
    struct wf_buf b = read_file(OBJECT);
    write_file(to, b.data, b.len);
    wf_buf_free(&b);
}

static void write_pack(void)
{
    compile_amd(&(struct build){ 0 });
    copy_object("pack/k.co");
    copy_object("pack/other.co");
    compile_shared(&(struct build){ 0 });
    copy_object("pack/l.so");
    write_file("pack/p.sh", "true\n", 5);
}

Test(identity, entries)
{
    write_pack();
    struct ids base = pack_ids("none", "");
    static const struct {
        const char *from, *to;
        bool same;
    } TABLE[] = {
        { "k.co", "other.co", true },
        { "\"k\"", "\"renamed\"", true },
        { "\"one\"", "\"two\"", true },
        { "\"s\"", "\"another summary\"", true },
        { "k.hip", "z.hip", true },
        { "\"main\"", "\"label\"", true },
        { "\"value\":\"M\"", "\"value\":\"N\"", false },
        { "\"ROWS\":64", "\"ROWS\":32", false },
        { "\"block\":[64]", "\"block\":[128]", false },
        { "\"grid\":[\"TILES\"]", "\"grid\":[\"TILES\",2]", false },
        { "\"args\"", "\"when\":\"M > 1\",\"args\"", false },
        { "\"code\"", "\"supports\":\"M > 2\",\"code\"", false },
        { "\"code\"", "\"split\":2,\"code\"", false },
    };
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        struct ids got = pack_ids(TABLE[i].from, TABLE[i].to);
        cr_expect_eq(strcmp(base.k, got.k) == 0, TABLE[i].same, "%s -> %s",
                     TABLE[i].from, TABLE[i].to);
    }
}

Test(identity, files_of_a_pack)
{
    write_pack();
    struct ids base = pack_ids("none", "");
    cr_expect_str_neq(base.l, base.l2, "two kernels of one library");
    compile_shared(&(struct build){ .debug = "-g", .file = "b/named.c" });
    copy_object("pack/l.so");
    struct ids got = pack_ids("none", "");
    cr_expect_str_eq(base.l, got.l);
    cr_expect_str_neq(base.p, got.p, "a command may read any file of its pack");
    compile_shared(&(struct build){ .constant = "7.f" });
    copy_object("pack/l.so");
    cr_expect_str_neq(base.l, pack_ids("none", "").l);
    cr_expect_str_eq(base.k, pack_ids("none", "").k);
    compile_amd(&(struct build){ .constant = "9.f" });
    copy_object("pack/k.co");
    cr_expect_str_neq(base.k, pack_ids("none", "").k);
}

Test(identity, errors_name_kernel_and_file)
{
    char id[WF_SHA256_HEX];
    struct wf_error err = { .text = "" };
    struct wf_pack *p = NULL;
    write_pack();
    char *folder = wf_path_join(root, "pack");
    struct wf_buf b = read_file("pack/k.co");
    write_file("pack/k.co", b.data, 100);
    wf_buf_free(&b);
    write_file("pack/pack.json.in", pack_json, strlen(pack_json));
    cr_assert_eq(wf_pack_build(folder, &p, &err), WF_OK, "%s", err.text);
    cr_expect_eq(wf_kernel_identity(p, wf_pack_kernel(p, "k"), id, &err), WF_EPARSE);
    cr_expect(strncmp(err.text, "kernel k: ", 10) == 0 &&
                  strstr(err.text, "pack/k.co: not a valid ELF file") != NULL,
              "%s", err.text);
    wf_pack_free(p);
    struct wf_json *json = NULL;
    char *path = wf_path_join(folder, "pack.json");
    cr_assert_eq(wf_json_parse_file(path, &json, &err), WF_OK);
    cr_assert_eq(wf_pack_parse(json, "pack.json", &p, &err), WF_OK);
    cr_expect_eq(wf_kernel_identity(p, wf_pack_kernel(p, "k"), id, &err), WF_EINVAL);
    wf_json_free(json);
    wf_pack_free(p);
    free(path);
    free(folder);
}
