/* wf-packgen on small trees of its own: variants, spills, and every way to fail. The
 * program's path is WF_PACKGEN, clang's WF_TEST_CLANG. */
#include "packs/code_object.h"
#include "packs/command.h"
#include "packs/pack.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-packgen-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(packgen, .init = make_root, .fini = remove_root);

static void write_file(const char *name, const char *text)
{
    char *path = wf_path_join(root, name);
    char *folder = wf_strndup(path, (size_t)(strrchr(path, '/') - path));
    cr_assert_eq(wf_mkdir_parents(folder, NULL), WF_OK);
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), NULL), WF_OK);
    free(folder);
    free(path);
}

static const char source[] =
    "#include \"k/shared.h\"\n"
    "extern \"C\" __attribute__((global)) void go(float *d, int n) { d[n] = VALUE; }\n";

static const char entry[] =
    "{\"schema\":\"wavefarm.kernel-entry/1\",\"name\":\"go\",\"op\":\"gemm\","
    "\"arch\":[\"gfx942\"],\"knobs\":{\"VALUE\":7,\"ROWS\":\"M\"},"
    "\"launches\":[{\"symbol\":\"go\",\"grid\":[1],\"block\":[64],\"args\":["
    "{\"pointer\":\"D\"},{\"scalar\":\"i32\",\"value\":\"M\"}]}]}";

static void write_tree(void)
{
    write_file("k/go.hip", source);
    write_file("k/go.json", entry);
    write_file("k/shared.h", "\n");
}

/* The entry with one text replaced. */
static void write_changed(const char *from, const char *to)
{
    const char *at = strstr(entry, from);
    cr_assert(at != NULL, "the entry has no %s", from);
    char *changed =
        wf_asprintf("%.*s%s%s", (int)(at - entry), entry, to, at + strlen(from));
    write_file("k/go.json", changed);
    free(changed);
}

static int run(const char *arch, struct wf_buf *out)
{
    int code = -1;
    struct wf_error err = { .text = "" };
    char *folder = wf_path_join(root, "out/demo"),
         *deps = wf_path_join(root, "out/demo.d");
    const char *const argv[] = { WF_PACKGEN,  "device",      "--name",    "demo",
                                 "--arch",    arch,          "--format",  "co",
                                 "--clang",   WF_TEST_CLANG, "--root",    root,
                                 "--out",     folder,        "--depfile", deps,
                                 "k/go.json", NULL };
    char *parent = wf_path_join(root, "out");
    cr_assert_eq(wf_mkdir_parents(parent, NULL), WF_OK);
    cr_assert_eq(command_run(argv, NULL, true, out, &code, &err), WF_OK, "%s",
                 err.text);
    free(parent);
    free(deps);
    free(folder);
    return code;
}

static struct wf_pack *run_good(void)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_pack *p = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(run("gfx942", &out), 0, "%s", wf_buf_cstr(&out));
    char *folder = wf_path_join(root, "out/demo");
    cr_assert_eq(wf_pack_open(folder, &p, &err), WF_OK, "%s", err.text);
    free(folder);
    wf_buf_free(&out);
    return p;
}

static void expect_fails(const char *arch, const char *part)
{
    struct wf_buf out = WF_BUF_INIT;
    char *left = wf_path_join(root, "out/demo.new");
    cr_expect_eq(run(arch, &out), 1);
    cr_expect(strstr(wf_buf_cstr(&out), part) != NULL, "'%s' lacks '%s'",
              wf_buf_cstr(&out), part);
    cr_expect_not(wf_file_exists(left));
    free(left);
    wf_buf_free(&out);
}

static struct wf_buf read_out(const char *name)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    char *path = wf_path_join(root, name);
    cr_assert_eq(wf_file_read(path, 1 << 20, &b, &err), WF_OK, "%s", err.text);
    free(path);
    return b;
}

Test(packgen, one_kernel)
{
    write_tree();
    struct wf_pack *p = run_good();
    cr_assert_eq(wf_pack_kernel_count(p), 1);
    const struct wf_pack_kernel *k = wf_pack_kernel_at(p, 0);
    cr_expect_str_eq(k->name, "go");
    cr_expect_str_eq(k->source, "k/go.hip");
    cr_expect_eq(k->arch_count, 1);
    cr_expect_str_eq(k->code[0].file, "go.co");
    wf_pack_free(p);
}

Test(packgen, the_record_has_flags_without_paths)
{
    struct wf_json *json = NULL;
    struct wf_error err = { .text = "" };
    write_tree();
    struct wf_pack *p = run_good();
    char *path = wf_path_join(root, "out/demo/provenance.json");
    cr_assert_eq(wf_provenance_read(path, wf_pack_id(p), &json, &err), WF_OK, "%s",
                 err.text);
    struct wf_buf b = read_out("out/demo/provenance.json");
    cr_expect(strstr(b.data, "\"-DVALUE=7\"") != NULL);
    cr_expect(strstr(b.data, "ROWS") == NULL, "text knobs are not compile-time");
    cr_expect(strstr(b.data, root) == NULL, "%s", b.data);
    wf_buf_free(&b);
    wf_json_free(json);
    free(path);
    wf_pack_free(p);
}

Test(packgen, headers_are_in_the_depfile)
{
    write_tree();
    wf_pack_free(run_good());
    struct wf_buf b = read_out("out/demo.d");
    char *header = wf_asprintf("%s/k/shared.h", root);
    cr_expect(strstr(b.data, header) != NULL, "%s", b.data);
    cr_expect(strstr(b.data, "/out/demo/pack.json:") != NULL, "%s", b.data);
    free(header);
    wf_buf_free(&b);
}

Test(packgen, variants_merge_knobs_and_replace_the_rest)
{
    write_tree();
    write_changed("\"launches\"",
                  "\"variants\":[{\"name\":\"go_a\"},{\"name\":\"go_b\","
                  "\"summary\":\"b\",\"knobs\":{\"VALUE\":8}}],\"launches\"");
    struct wf_pack *p = run_good();
    cr_assert_eq(wf_pack_kernel_count(p), 2);
    const struct wf_pack_kernel *a = wf_pack_kernel(p, "go_a"),
                                *b = wf_pack_kernel(p, "go_b");
    cr_assert(a != NULL && b != NULL);
    cr_expect(a->knob_count == 2 && b->knob_count == 2);
    cr_expect_str_eq(a->summary, "");
    cr_expect_str_eq(b->summary, "b");
    cr_expect_str_neq(wf_pack_file_sha256(p, "go_a.co"),
                      wf_pack_file_sha256(p, "go_b.co"), "VALUE is compiled in");
    wf_pack_free(p);
}

Test(packgen, equal_trees_in_different_places_give_equal_packs)
{
    char id[WF_SHA256_HEX];
    write_tree();
    struct wf_pack *p = run_good();
    (void)snprintf(id, sizeof id, "%s", wf_pack_id(p));
    wf_pack_free(p);
    remove_root();
    make_root();
    write_tree();
    p = run_good();
    cr_expect_str_eq(wf_pack_id(p), id);
    wf_pack_free(p);
}

/* An array that is indexed at run time has to lie in scratch memory. */
static const char spilling[] =
    "extern \"C\" __attribute__((global)) void go(float *d, int n) {\n"
    "    volatile float x[64];\n"
    "    for (int i = 0; i < 64; i++) x[(i * n) & 63] = d[i];\n"
    "    d[n] = x[n & 63];\n"
    "}\n";

Test(packgen, spills_are_an_error)
{
    write_tree();
    write_file("k/go.hip", spilling);
    expect_fails("gfx942", "k/go.json: kernel go: go uses ");
    expect_fails("gfx942", "bytes of scratch");
}

Test(packgen, spills_may_be_allowed)
{
    write_tree();
    write_file("k/go.hip", spilling);
    write_changed("\"launches\"", "\"compile\":{\"allow_spills\":true},\"launches\"");
    wf_pack_free(run_good());
}

Test(packgen, flags_of_the_entry)
{
    write_tree();
    write_file("k/go.hip",
               "#if FLAG + ARCH_FLAG != 3\n#error flags are missing\n#endif\n"
               "extern \"C\" __attribute__((global)) void go(float *d, int n)"
               " { d[n] = 1; }\n");
    expect_fails("gfx942", "flags are missing");
    write_changed("\"launches\"",
                  "\"compile\":{\"flags\":[\"-DFLAG=1\"],\"arch_flags\":{"
                  "\"gfx942\":[\"-DARCH_FLAG=2\"],\"sm_90\":[\"-DFLAG=9\"]}},"
                  "\"launches\"");
    wf_pack_free(run_good());
}

/* With one launch that has arguments of its own, and one that has not. */
static const char two_launches[] =
    "{\"schema\":\"wavefarm.kernel-entry/1\",\"name\":\"go\",\"op\":\"gemm\","
    "\"arch\":[\"gfx942\"],\"knobs\":{\"VALUE\":7},"
    "\"args\":[{\"pointer\":\"D\"},{\"scalar\":\"i32\",\"value\":\"M\"}],\"launches\":["
    "{\"symbol\":\"go\",\"grid\":[1],\"block\":[64]},"
    "{\"symbol\":\"go\",\"grid\":[1],\"block\":[64],\"args\":["
    "{\"pointer\":\"A\"},{\"scalar\":\"i32\",\"value\":\"N\"}]}]%s}";

static void write_two_launches(const char *variants)
{
    struct wf_buf b = WF_BUF_INIT;
    const char *at = strstr(two_launches, "%s");
    cr_assert_eq(wf_buf_printf(&b, NULL, "%.*s%s%s", (int)(at - two_launches),
                               two_launches, variants, at + 2),
                 WF_OK);
    write_file("k/go.json", b.data);
    wf_buf_free(&b);
}

Test(packgen, launches_share_the_arguments_of_the_entry)
{
    write_tree();
    write_two_launches("");
    struct wf_pack *p = run_good();
    const struct wf_pack_kernel *k = wf_pack_kernel_at(p, 0);
    cr_assert_eq(k->launch_count, 2);
    cr_assert(k->launch[0].arg_count == 2 && k->launch[1].arg_count == 2);
    struct wf_buf b = read_out("out/demo/pack.json");
    cr_expect(strstr(b.data, "\"D\"") != NULL && strstr(b.data, "\"A\"") != NULL, "%s",
              b.data);
    wf_buf_free(&b);
    wf_pack_free(p);
}

Test(packgen, arguments_of_a_variant_replace_those_of_the_entry)
{
    write_tree();
    write_two_launches(",\"variants\":[{\"name\":\"a\",\"args\":[{\"pointer\":\"B\"},"
                       "{\"scalar\":\"i32\",\"value\":\"K\"}]}]");
    wf_pack_free(run_good());
    struct wf_buf b = read_out("out/demo/pack.json");
    cr_expect(strstr(b.data, "\"B\"") != NULL && strstr(b.data, "\"A\"") != NULL, "%s",
              b.data);
    cr_expect(strstr(b.data, "\"D\"") == NULL, "%s", b.data);
    wf_buf_free(&b);
}

/* A program of that name earlier in PATH. */
static void install_compiler(const char *name)
{
    struct wf_buf path = WF_BUF_INIT;
    char *script =
        wf_asprintf("#!/bin/sh\nif [ \"$1\" = --version ]; then echo other compiler 3; "
                    "exit 0; fi\nexec %s \"$@\"\n",
                    WF_TEST_CLANG);
    char *file = wf_asprintf("bin/%s", name), *full = wf_path_join(root, file);
    write_file(file, script);
    cr_assert_eq(chmod(full, 0755), 0);
    cr_assert_eq(wf_buf_printf(&path, NULL, "%s/bin:%s", root, getenv("PATH")), WF_OK);
    cr_assert_eq(setenv("PATH", path.data, 1), 0);
    wf_buf_free(&path);
    free(full);
    free(file);
    free(script);
}

Test(packgen, a_variant_may_have_another_compiler)
{
    write_tree();
    install_compiler("wf-other-cc");
    write_changed("\"launches\"",
                  "\"variants\":[{\"name\":\"go_a\"},{\"name\":\"go_b\","
                  "\"compile\":{\"compiler\":\"wf-other-cc\"}}],\"launches\"");
    wf_pack_free(run_good());
    struct wf_buf b = read_out("out/demo/provenance.json");
    const char *second = strstr(b.data, "\"go_b\"");
    const char *other = strstr(b.data, "\"wf-other-cc\"");
    cr_assert(second != NULL && other != NULL, "%s", b.data);
    cr_expect(other > second && strstr(other, "\"other compiler 3\"") != NULL, "%s",
              b.data);
    wf_buf_free(&b);
}

Test(packgen, a_compiler_that_is_missing)
{
    write_tree();
    write_changed("\"launches\"",
                  "\"compile\":{\"compiler\":\"wf-no-cc\"},\"launches\"");
    expect_fails("gfx942", "k/go.json: kernel go needs the compiler wf-no-cc, which is "
                           "not installed");
}

Test(packgen, a_source_that_does_not_compile_leaves_the_old_pack)
{
    char id[WF_SHA256_HEX];
    struct wf_pack *p = NULL;
    write_tree();
    struct wf_pack *first = run_good();
    (void)snprintf(id, sizeof id, "%s", wf_pack_id(first));
    wf_pack_free(first);
    write_file("k/go.hip", "nonsense\n");
    expect_fails("gfx942", "k/go.json: kernel go does not compile for gfx942");
    char *folder = wf_path_join(root, "out/demo");
    cr_assert_eq(wf_pack_open(folder, &p, NULL), WF_OK);
    cr_expect_str_eq(wf_pack_id(p), id);
    wf_pack_free(p);
    free(folder);
}

Test(packgen, wrong_entries)
{
    static const char *const wrong[][3] = {
        { "kernel-entry/1", "kernel-entry/2", "k/go.json: schema" },
        { "\"name\":\"go\",", "", "k/go.json: " },
        { "\"arch\":[\"gfx942\"],", "", "k/go.json: " },
        { "\"op\":\"gemm\"", "\"opp\":\"gemm\"", "kernel go: " },
        { "\"symbol\":\"go\"", "\"symbol\":\"stop\"", "no kernel 'stop'; there is go" },
        { "\"scalar\":\"i32\"", "\"scalar\":\"i64\"",
          "launches[0].args[1]: 8 bytes at offset 8" },
        { "\"grid\":[1]", "\"grid\":[\"1 +\"]", "launches[0].grid[0]: column 4" },
        { "\"knobs\":{", "\"compile\":{\"flag\":[]},\"knobs\":{",
          "k/go.json: compile: " },
        { "\"knobs\":{", "\"compile\":{\"flags\":[3]},\"knobs\":{",
          "a flag is a text" },
        { "\"knobs\":{", "\"compile\":{\"compiler\":\"a/b\"},\"knobs\":{",
          "k/go.json: compile: compiler 'a/b'" },
        { "\"knobs\":{", "\"compile\":{\"target\":\"gfx950\"},\"knobs\":{",
          "compile.target 'gfx950' is not gfx942, or that and one letter" },
        { "\"knobs\":{", "\"args\":{},\"knobs\":{", "k/go.json: args: an array" },
        { "\"knobs\":{", "\"variants\":[{}],\"knobs\":{", "variants[0]: a variant" },
        { "\"knobs\":{", "\"source\":\"gone.hip\",\"knobs\":{", "k/gone.hip" },
        { "\"knobs\":{", "\"code\":{\"main\":\"../go.hip\"},\"knobs\":{",
          "beside the entry" },
        { "\"knobs\":{", "\"kind\":\"library\",\"knobs\":{",
          "kind library in a device pack" },
    };
    write_tree();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_changed(wrong[i][0], wrong[i][1]);
        expect_fails("gfx942", wrong[i][2]);
    }
}

Test(packgen, no_entry_for_the_architecture)
{
    write_tree();
    expect_fails("gfx90a", "pack demo: no entry is for gfx90a");
}

static int run_with(const char *cache, const char *path, struct wf_buf *out)
{
    int code = -1;
    char *folder = wf_path_join(root, "demo");
    const char *const argv[] = { WF_PACKGEN, "device",      "--name",   "demo",
                                 "--arch",   "gfx942",      "--format", "co",
                                 "--clang",  WF_TEST_CLANG, "--root",   root,
                                 "--out",    folder,        "--cache",  cache,
                                 path,       NULL };
    cr_assert_eq(command_run(argv, NULL, true, out, &code, NULL), WF_OK);
    free(folder);
    return code;
}

Test(packgen, an_entry_is_a_path_inside_the_tree)
{
    struct wf_buf out = WF_BUF_INIT;
    write_tree();
    char *path = wf_path_join(root, "k/go.json");
    cr_expect_eq(run_with("none", path, &out), 1);
    cr_expect(strstr(wf_buf_cstr(&out), "an entry is a path inside the tree") != NULL,
              "%s", wf_buf_cstr(&out));
    wf_buf_free(&out);
    free(path);
}

Test(packgen, a_cache_that_everybody_may_write_is_not_used)
{
    struct wf_buf out = WF_BUF_INIT;
    write_tree();
    char *cache = wf_path_join(root, "cache");
    cr_assert_eq(mkdir(cache, 0755), 0);
    cr_assert_eq(chmod(cache, 01777), 0);
    cr_expect_eq(run_with(cache, "k/go.json", &out), 0);
    cr_expect(strstr(wf_buf_cstr(&out), "warning: compiling without a cache: ") != NULL,
              "%s", wf_buf_cstr(&out));
    cr_expect(strstr(wf_buf_cstr(&out), "everybody may write into") != NULL);
    wf_buf_free(&out);
    free(cache);
}

Test(packgen, usage)
{
    static const char *const argv[] = { WF_PACKGEN, "device", "--name", NULL };
    struct wf_buf out = WF_BUF_INIT;
    int code = 0;
    cr_assert_eq(command_run(argv, NULL, true, &out, &code, NULL), WF_OK);
    cr_expect_eq(code, 2);
    cr_expect(strstr(wf_buf_cstr(&out), "usage: wf-packgen device") != NULL);
    wf_buf_free(&out);
}
