/* Reading pack.json: what a right one gives, and every way to be wrong. */
#include "tests/packs/pack_text.h"

#include "core/file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wf_pack *parse_good(const char *from, const char *to)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    char *text = changed_text(from, to);
    enum wf_status st = parse_text(text, &p, &err);
    cr_assert_eq(st, WF_OK, "%s", err.text);
    free(text);
    return p;
}

Test(pack, members_of_a_kernel)
{
    struct wf_pack *p = parse_good(NULL, NULL);
    cr_expect_str_eq(wf_pack_name(p), "demo");
    cr_expect_str_eq(wf_pack_folder(p), "");
    cr_expect_eq(wf_pack_kernel_count(p), 3);
    cr_expect_eq(wf_pack_kernel_at(p, 3), NULL);
    const struct wf_pack_kernel *k = wf_pack_kernel(p, "k1");
    cr_assert_not_null(k);
    cr_expect_eq(k->kind, WF_KERNEL_CODE_OBJECT);
    cr_expect_str_eq(k->op, "gemm");
    cr_expect_str_eq(k->summary, "first");
    cr_expect_str_eq(k->source, "x.hip");
    cr_expect_str_eq(k->arch[0], "gfx942");
    cr_expect_eq(k->knob_count, 3);
    cr_expect_str_eq(wf_expr_text(k->knob[1].value), "64");
    cr_expect_str_eq(wf_expr_text(k->knob[2].value), "0.5");
    cr_expect(k->deterministic);
    cr_expect_eq(k->code_count, 2);
    cr_expect_str_eq(k->code[1].file, "b.co");
    wf_pack_free(p);
    wf_pack_free(NULL);
}

Test(pack, every_expression_of_a_kernel_can_be_looked_at)
{
    struct wf_pack *p = parse_good(NULL, NULL);
    const struct wf_pack_kernel *k = wf_pack_kernel(p, "k1");
    const char *last = "";
    size_t n = 0;
    for (; wf_pack_kernel_expr(p, k, n) != NULL; n++) {
        last = wf_expr_text(wf_pack_kernel_expr(p, k, n));
    }
    cr_expect_eq(n, 16, "%zu", n);
    cr_expect_str_eq(last, "N");
    k = wf_pack_kernel(p, "k2");
    cr_expect_null(wf_pack_kernel_expr(p, k, 0));
    wf_pack_free(p);
}

Test(pack, buffers_launches_and_arguments)
{
    struct wf_pack *p = parse_good(NULL, NULL);
    const struct wf_pack_kernel *k = wf_pack_kernel(p, "k1");
    cr_expect_eq(k->buffer[0].init, WF_INIT_EACH);
    cr_expect_eq(k->buffer[0].init_byte, 7);
    cr_expect_eq(k->buffer[1].kind, WF_BUFFER_DERIVED);
    cr_expect_str_eq(k->buffer[1].from, "B");
    cr_expect_eq(k->buffer[1].param_count, 2);
    const struct wf_pack_launch *l = &k->launch[0];
    cr_expect_str_eq(l->symbol, "go");
    cr_expect_eq(l->grid[2], NULL);
    cr_expect_eq(l->cluster[0], NULL);
    cr_expect_eq(l->arg_count, 4);
    cr_expect_eq(l->arg[2].kind, WF_ARG_STRUCT);
    cr_expect_eq(l->arg[2].member[1].member_offset, 8);
    cr_expect_eq(l->arg[3].kind, WF_ARG_POINTERS);
    cr_expect_str_eq(l->arg[3].member[1].target, "ws");
    wf_pack_free(p);
}

Test(pack, library_and_process_kernels)
{
    struct wf_pack *p = parse_good(NULL, NULL);
    const struct wf_pack_kernel *lib = wf_pack_kernel(p, "k2");
    const struct wf_pack_kernel *process = wf_pack_kernel(p, "k3");
    cr_expect_str_eq(lib->library, "lib.so");
    cr_expect_str_eq(lib->accumulate, "f32");
    cr_expect_str_eq(process->command[1], "{pack}/run.py");
    cr_expect_eq(process->command[2], NULL);
    cr_expect_not(process->deterministic);
    wf_pack_free(p);
}

Test(pack, id_is_the_hash_of_the_canonical_form)
{
    char want[WF_SHA256_HEX];
    struct wf_pack *p = parse_good(NULL, NULL);
    const char *canonical = wf_pack_canonical(p);
    wf_sha256_hex(canonical, strlen(canonical), want);
    cr_expect_str_eq(wf_pack_id(p), want);
    cr_expect(strncmp(canonical, "{\"description\":", 15) == 0, "keys are sorted");

    struct wf_pack *reordered =
        parse_good("\"name\":\"demo\",\"description\":\"a demo\",",
                   "\"description\" : \"a demo\",\n\"name\": \"demo\",");
    cr_expect_str_eq(wf_pack_id(reordered), wf_pack_id(p));
    struct wf_pack *different = parse_good("\"BLOCK\":64", "\"BLOCK\":65");
    cr_expect_str_neq(wf_pack_id(different), wf_pack_id(p));
    wf_pack_free(different);
    wf_pack_free(reordered);
    wf_pack_free(p);
}

Test(pack, hash_of_a_file_by_name)
{
    struct wf_pack *p = parse_good(NULL, NULL);
    cr_expect_str_eq(wf_pack_file_sha256(p, "a.co"), HASH);
    cr_expect_eq(wf_pack_file_sha256(p, "nothing"), NULL);
    cr_expect_eq(wf_pack_file_count(p), 4);
    wf_pack_free(p);
}

Test(pack, tensor_map)
{
    struct wf_pack *p = parse_good(
        "{\"pointer\":\"A\",\"offset_bytes\":4}",
        "{\"tensor_map\":{\"tensor\":\"A\",\"dtype\":\"f16\",\"dims\":[\"K\",\"M\"],"
        "\"strides_bytes\":[\"2 * K\"],\"box\":[64,128],\"swizzle\":\"128B\"}}");
    const struct wf_pack_arg *a = &wf_pack_kernel(p, "k1")->launch[0].arg[0];
    cr_expect_eq(a->kind, WF_ARG_TENSOR_MAP);
    cr_expect_eq(a->map_rank, 2);
    cr_expect_eq(a->map_dtype, WF_F16);
    cr_expect_str_eq(a->map_swizzle, "128B");
    cr_expect_str_eq(wf_expr_text(a->map_stride[0]), "2 * K");
    wf_pack_free(p);
}

Test(pack, code_may_be_left_out_when_there_is_one)
{
    struct wf_pack *p = parse_good("\"code\":{\"main\":\"a.co\",\"tail\":\"b.co\"}",
                                   "\"code\":{\"main\":\"a.co\"}");
    wf_pack_free(p);
    char *text = changed_text("\"code\":\"main\",\"grid\"", "\"grid\"");
    struct wf_error err = { .text = "" };
    cr_expect_eq(parse_text(text, &p, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "'code' is missing: the kernel has 2 code objects"),
              "%s", err.text);
    free(text);
}

struct wrong {
    const char *from, *to, *error;
};

/* The place and the reason are both part of what is promised. */
static const struct wrong wrongs[] = {
    { "\"BLOCK\":64", "\"BLOCK\":\"BLOCK + 1\"",
      "pack.json: kernel k1: knob BLOCK depends on itself" },
    { "\"BLOCK\":64", "\"BLOCK\":\"M > 1 ? 64 : X\",\"X\":\"2 * TILES\"",
      "kernel k1: knob TILES depends on itself" },
    { "wavefarm.pack/1", "wavefarm.pack/2",
      "pack.json: schema 'wavefarm.pack/2' is not" },
    { "\"name\":\"demo\"", "\"name\":\".demo\"", "pack.json: name '.demo'" },
    { "\"name\":\"demo\"", "\"nmae\":\"demo\"", "nmae" },
    { "\"description\":\"a demo\"", "\"description\":3", "description" },
    { "\"a.co\":\"" HASH "\"", "\"../a.co\":\"" HASH "\"",
      "files: '../a.co' is not a safe" },
    { "\"a.co\":\"" HASH "\"", "\"/a.co\":\"" HASH "\"",
      "files: '/a.co' is not a safe" },
    { "\"a.co\":\"" HASH "\"", "\"x/./a.co\":\"" HASH "\"", "files: 'x/./a.co'" },
    { "\"a.co\":\"" HASH "\"", "\"pack.json\":\"" HASH "\"", "does not name itself" },
    { "\"a.co\":\"" HASH "\"", "\"a.co\":\"E3B0\"", "files: 'a.co' needs a SHA-256" },
    { "\"a.co\":\"" HASH "\"", "\"a.co\":5", "files: 'a.co' needs a SHA-256" },
    { "\"name\":\"k2\"", "\"name\":\"k1\"", "two kernels are named 'k1'" },
    { "\"name\":\"k1\"", "\"name\":\"k 1\"", "pack.json: kernels[0]: name 'k 1'" },
    { "\"kind\":\"code-object\"", "\"kind\":\"hsaco\"",
      "kernel k1: kind 'hsaco' is not" },
    { "\"summary\":\"first\"", "\"sumary\":\"first\"", "kernel k1" },
    { "\"arch\":[\"gfx942\"]", "\"arch\":[]", "kernel k1: arch has 0 items" },
    { "\"arch\":[\"gfx942\"]", "\"arch\":[\"gfx942:xnack-\"]",
      "kernel k1: arch: 'gfx942:xnack-' is not an architecture" },
    { "\"arch\":[\"gfx942\"]", "\"arch\":[\"gfx942\",\"gfx942\"]", "is there twice" },
    { "\"op\":\"gemm\",\"summary\"", "\"op\":\"ge mm\",\"summary\"", "op 'ge mm'" },
    { "\"BLOCK\":64", "\"BLOCK SIZE\":64",
      "kernel k1.knobs: 'BLOCK SIZE' is not a name" },
    { "\"BLOCK\":64", "\"BLOCK\":[64]", "kernel k1.knobs.BLOCK: an expression" },
    { "\"BLOCK\":64", "\"BLOCK\":18446744073709551615", "does not fit 64 bits" },
    { "ceil_div(M, BLOCK)", "ceil_div(M BLOCK)",
      "kernel k1.knobs.TILES: column 12 of \"ceil_div(M BLOCK)\"" },
    { "\"M > 0\"", "\"M >\"", "kernel k1.supports: column 4" },
    { "\"accumulate\":\"f32\"", "\"accumulate\":\"fp32\"", "accumulate 'fp32'" },
    { "\"main\":\"a.co\"", "\"main\":\"c.co\"",
      "kernel k1: code: file 'c.co' is not in" },
    { "\"main\":\"a.co\"", "\"ma-in\":\"a.co\"", "code: label 'ma-in'" },
    { "\"code\":{\"main\":\"a.co\",\"tail\":\"b.co\"}", "\"code\":{}",
      "code: 0 files" },
    { "\"library\":\"lib.so\"", "\"library\":\"lib2.so\"",
      "kernel k2: file 'lib2.so'" },
    { "\"library\":\"lib.so\"", "\"library\":\"lib.so\",\"launches\":[]", "launches" },
    { "{pack}/run.py", "{pack}/walk.py", "kernel k3: command[1]: file 'walk.py'" },
    { "\"command\":[\"python3\",\"{pack}/run.py\"]", "\"command\":[]",
      "command has 0" },
    { "\"python3\"", "\"\"", "command[0]: a text that is not empty" },
    { "\"deterministic\":false", "\"deterministic\":0", "deterministic" },
    { "\"name\":\"Bt\"", "\"name\":\"ws\"",
      "buffers[1]: a buffer 'ws' is there already" },
    { "\"name\":\"Bt\"", "\"name\":\"B-t\"", "buffers[1]: name 'B-t'" },
    { "\"bytes\":\"4 * M\",", "", "kernel k1: buffers[0]: 'bytes' is missing" },
    { "\"byte\":7", "\"byte\":256", "kernel k1: buffers[0].init" },
    { "\"when\":\"each\"", "\"when\":\"always\"", "when 'always'" },
    { "transpose_2d", "transpose", "no transform 'transpose'; there are transpose_2d" },
    { "\"rows\":\"K\",", "", "transform transpose_2d needs the parameter 'rows'" },
    { "\"rows\":\"K\"", "\"rows\":\"K\",\"size\":1", "has no parameter 'size'" },
    { "\"symbol\":\"go\"", "\"symbol\":\"\"", "launches[0]: symbol is empty" },
    { "\"code\":\"main\",\"grid\"", "\"code\":\"head\",\"grid\"",
      "code 'head' is not a label" },
    { "\"grid\":[\"TILES\",2]", "\"grid\":[1,1,1,1]", "grid has 4 items" },
    { "\"grid\":[\"TILES\",2]", "\"grid\":[true]",
      "launches[0].grid[0]: an expression" },
    { "\"grid\":[\"TILES\",2],", "", "kernel k1: launches[0]: " },
    { "\"block\":[64]", "\"block\":[\"(64\"]", "launches[0].block[0]: column 4" },
    { "\"block\":[64]", "\"block\":[64],\"cluster\":[]", "cluster is empty" },
    { "\"shared_bytes\":128", "\"lds\":128", "lds" },
    { "{\"pointer\":\"A\",\"offset_bytes\":4}", "{\"ptr\":\"A\"}",
      "args[0]: an argument has" },
    { "{\"pointer\":\"A\",\"offset_bytes\":4}", "7", "args[0]: an object" },
    { "\"offset_bytes\":4", "\"offset\":4", "args[0]: " },
    { "\"pointer\":\"A\"", "\"pointer\":\"A+4\"", "args[0]: 'A+4' is not the name" },
    { "\"scalar\":\"i32\"", "\"scalar\":\"int\"", "args[1]: scalar 'int'" },
    { ",\"value\":\"M\"", "", "args[1]: 'value' is missing" },
    { "\"bytes\":16,\"align\":8", "\"bytes\":16,\"align\":3",
      "align 3 is not a power" },
    { "\"bytes\":16,\"align\":8", "\"bytes\":12,\"align\":8", "divides bytes 12" },
    { "\"bytes\":16,\"align\":8", "\"align\":8", "args[2].struct: 'bytes' is missing" },
    { "\"bytes\":16,\"align\":8", "\"bytes\":8,\"align\":8",
      "args[2].struct.members[1]: bytes 8 to 16 lie outside" },
    { "{\"offset\":8,\"pointer\":\"ws\"}", "{\"offset\":4,\"pointer\":\"ws\"}",
      "members[1]: overlaps members[0]" },
    { "{\"offset\":8,\"pointer\":\"ws\"}", "{\"pointer\":\"ws\"}",
      "'offset' is missing" },
    { "{\"offset\":8,\"pointer\":\"ws\"}", "{\"offset\":8,\"struct\":{}}",
      "a member is a pointer" },
    { "{\"pointers\":[\"A\",{\"pointer\":\"ws\"}]}", "{\"pointers\":[]}", "0 items" },
    { "{\"pointers\":[\"A\",{\"pointer\":\"ws\"}]}", "{\"pointers\":[5]}",
      "args[3].pointers[0]: a name or a pointer" },
    { "{\"pointer\":\"A\",\"offset_bytes\":4}",
      "{\"tensor_map\":{\"tensor\":\"A\",\"dtype\":\"f16\",\"dims\":[1,2],"
      "\"strides_bytes\":[],\"box\":[1,1]}}",
      "args[0].tensor_map: strides_bytes has 0 items" },
    { "{\"pointer\":\"A\",\"offset_bytes\":4}",
      "{\"tensor_map\":{\"tensor\":\"A\",\"dtype\":\"f17\",\"dims\":[1],\"box\":[1]}}",
      "dtype 'f17'" },
    { "{\"pointer\":\"A\",\"offset_bytes\":4}",
      "{\"tensor_map\":{\"tensor\":\"A\",\"dtype\":\"f16\",\"dims\":[1],\"box\":[1],"
      "\"swizzle\":\"256B\"}}",
      "swizzle '256B'" },
    { "{\"pointer\":\"A\",\"offset_bytes\":4}",
      "{\"struct\":{\"bytes\":4096,\"align\":8}}", "more than 4096 bytes" },
};

Test(pack, every_mistake_is_named_with_its_place)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct wf_pack *p = NULL;
        struct wf_error err = { .text = "" };
        char *text = changed_text(wrongs[i].from, wrongs[i].to);
        enum wf_status st = parse_text(text, &p, &err);
        cr_expect_neq(st, WF_OK, "%s is taken", wrongs[i].to);
        cr_expect(strncmp(err.text, "pack.json: ", 11) == 0, "%s", err.text);
        cr_expect(strstr(err.text, wrongs[i].error) != NULL, "'%s' lacks '%s'",
                  err.text, wrongs[i].error);
        wf_pack_free(p);
        free(text);
    }
}

Test(pack, not_an_object)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    cr_expect_eq(parse_text("[]", &p, &err), WF_EINVAL);
    cr_expect_str_eq(err.text, "pack.json: an object is expected");
}

Test(pack, too_many_kernels)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_buf_puts(&text,
                             "{\"schema\":\"wavefarm.pack/1\",\"name\":\"x\","
                             "\"files\":{},\"kernels\":[1",
                             NULL),
                 WF_OK);
    for (int i = 0; i < 1024; i++) {
        cr_assert_eq(wf_buf_puts(&text, ",1", NULL), WF_OK);
    }
    cr_assert_eq(wf_buf_puts(&text, "]}", NULL), WF_OK);
    cr_expect_eq(parse_text(text.data, &p, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "kernels has 1025 items, not 1 to 1024"), "%s",
              err.text);
    wf_buf_free(&text);
}

/* --- folders --- */

static char folder[64];

static void make_folder(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/wf-pack-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    cr_assert_eq(wf_remove_tree(folder, NULL), WF_OK);
}

TestSuite(pack_folder, .init = make_folder, .fini = remove_folder);

static void write_file(const char *name, const char *text)
{
    struct wf_error err = { .text = "" };
    char *path = wf_path_join(folder, name);
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), &err), WF_OK, "%s",
                 err.text);
    free(path);
}

static void write_input(const char *name, const char *files)
{
    char *text = wf_asprintf(
        "{\"schema\":\"wavefarm.pack/1\",\"name\":\"demo\",%s\"kernels\":["
        "{\"name\":\"k\",\"op\":\"gemm\",\"kind\":\"process\",\"arch\":[\"x86-64\"],"
        "\"command\":[\"python3\",\"{pack}/run.py\"]}]}",
        files);
    write_file(name, text);
    free(text);
}

static struct wf_pack *build_good(void)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_pack_build(folder, &p, &err), WF_OK, "%s", err.text);
    return p;
}

Test(pack_folder, build_hashes_listed_and_referred_files)
{
    write_file("run.py", "print('x')\n");
    write_file("LICENSE", "free\n");
    write_input("pack.json.in", "\"files\":[\"LICENSE\"],");
    struct wf_pack *p = build_good();
    char want[WF_SHA256_HEX];
    wf_sha256_hex("print('x')\n", 11, want);
    cr_expect_eq(wf_pack_file_count(p), 2);
    cr_expect_str_eq(wf_pack_file_sha256(p, "run.py"), want);
    cr_expect_str_eq(wf_pack_folder(p), folder);
    struct wf_pack *again = NULL;
    cr_expect_eq(wf_pack_open(folder, &again, NULL), WF_OK);
    cr_expect_str_eq(wf_pack_id(again), wf_pack_id(p));
    wf_pack_free(again);
    wf_pack_free(p);
}

Test(pack_folder, build_again_after_a_change)
{
    write_file("run.py", "1\n");
    write_input("pack.json", "");
    struct wf_pack *first = build_good();
    write_file("run.py", "2\n");
    struct wf_pack *second = build_good();
    cr_expect_str_neq(wf_pack_id(first), wf_pack_id(second));
    wf_pack_free(first);
    wf_pack_free(second);
}

static void expect_open_fails(enum wf_status want, const char *part)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st = wf_pack_open(folder, &p, &err);
    cr_expect_eq(st, want, "%s", wf_status_name(st));
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    wf_pack_free(p);
}

static void expect_build_fails(const char *part)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    (void)alarm(20); /* a pipe would be waited for */
    cr_expect_eq(wf_pack_build(folder, &p, &err), WF_EINVAL);
    (void)alarm(0);
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    cr_expect_null(p);
}

Test(pack_folder, a_file_with_another_hash_names_both)
{
    char found[WF_SHA256_HEX];
    write_file("run.py", "1\n");
    write_input("pack.json.in", "");
    struct wf_pack *p = build_good();
    write_file("run.py", "2\n");
    wf_sha256_hex("2\n", 2, found);
    expect_open_fails(WF_EINVAL, found);
    expect_open_fails(WF_EINVAL, wf_pack_file_sha256(p, "run.py"));
    expect_open_fails(WF_EINVAL, "run.py: SHA-256 is");
    wf_pack_free(p);
}

Test(pack_folder, a_file_that_is_not_there_or_not_regular)
{
    write_file("run.py", "1\n");
    write_input("pack.json.in", "");
    wf_pack_free(build_good());
    char *path = wf_path_join(folder, "run.py");
    cr_assert_eq(unlink(path), 0);
    expect_open_fails(WF_ENOTFOUND, "names run.py, which is not there");
    cr_assert_eq(symlink("/etc/passwd", path), 0);
    expect_open_fails(WF_EINVAL, "is not a regular file");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_open_fails(WF_EINVAL, "is not a regular file");
    expect_build_fails("run.py is not a regular file");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(symlink("/dev/zero", path), 0);
    expect_build_fails("run.py is not a regular file");
    char *in = wf_path_join(folder, "pack.json.in");
    cr_assert_eq(unlink(in), 0);
    cr_assert_eq(mkfifo(in, 0600), 0);
    expect_build_fails("pack.json.in is not a regular file");
    free(in);
    free(path);
}

Test(pack_folder, no_pack_json)
{
    expect_open_fails(WF_ENOTFOUND, "pack.json");
}

Test(pack_folder, a_failed_build_leaves_the_old_pack)
{
    write_file("run.py", "1\n");
    write_input("pack.json.in", "");
    struct wf_pack *p = build_good();
    struct wf_pack *broken = NULL;
    write_input("pack.json.in", "\"unknown\":1,");
    cr_expect_eq(wf_pack_build(folder, &broken, NULL), WF_EINVAL);
    struct wf_pack *again = NULL;
    cr_expect_eq(wf_pack_open(folder, &again, NULL), WF_OK);
    cr_expect_str_eq(wf_pack_id(again), wf_pack_id(p));
    wf_pack_free(again);
    wf_pack_free(p);
}

Test(pack_folder, build_refuses_unsafe_paths)
{
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    write_file("run.py", "1\n");
    write_input("pack.json.in", "\"files\":[\"../../etc/passwd\"],");
    cr_expect_eq(wf_pack_build(folder, &p, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "not a safe relative path"), "%s", err.text);
}

Test(pack_folder, describe_holds_id_and_members)
{
    write_file("run.py", "1\n");
    write_input("pack.json.in", "");
    struct wf_pack *p = build_good();
    struct wf_json *d = NULL;
    const char *id = NULL;
    cr_assert_eq(wf_pack_describe(p, &d, NULL), WF_OK);
    cr_assert_eq(wf_json_get_string(d, "id", &id, NULL), WF_OK);
    cr_expect_str_eq(id, wf_pack_id(p));
    cr_expect_not_null(wf_json_find(d, "kernels"));
    wf_json_free(d);
    wf_pack_free(p);
}
