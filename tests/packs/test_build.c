/* Packs through the kernel cache. Most use a compiler of their own: a script that
 * copies its preprocessed source into the object and counts how often it compiles, so
 * that a wrong object would show. Those at the end use clang. */
#include "packs/build.h"
#include "packs/kernel_cache.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];
static struct wf_buf said;

static char *in_root(const char *name)
{
    return wf_path_join(root, name);
}

static void write_file(const char *name, const char *text)
{
    char *path = in_root(name);
    char *folder = wf_strndup(path, (size_t)(strrchr(path, '/') - path));
    cr_assert_eq(wf_mkdir_parents(folder, NULL), WF_OK);
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), NULL), WF_OK);
    free(folder);
    free(path);
}

static struct wf_buf read_file(const char *name)
{
    struct wf_buf b = WF_BUF_INIT;
    char *path = in_root(name);
    cr_assert_eq(wf_file_read(path, 1 << 20, &b, NULL), WF_OK, "%s", name);
    free(path);
    return b;
}

/* PTX, since a text is a good one: the symbol, and the source as comments. Environment:
 * WF_FAKE_SLOW seconds, WF_FAKE_CRASH. */
static const char compiler[] =
    "#!/bin/sh\n"
    "if [ \"$1\" = --version ]; then echo fake ${WF_FAKE_VERSION:-1}; exit; fi\n"
    "if [ \"$1\" = -print-prog-name=lld ]; then exit 1; fi\n"
    "out= in= pre= defs=\n"
    "for w; do\n"
    "  case $w in\n"
    "  -E) pre=1 ;;\n"
    "  -D*) defs=\"$defs $w\" ;;\n"
    "  *.hip) in=$w ;;\n"
    "  esac\n"
    "  [ \"$last\" = -o ] && out=$w\n"
    "  last=$w\n"
    "done\n"
    "text() { echo \"# 1 \\\"$in\\\"\"; cat \"$in\"; echo \"# 1 \\\"k/shared.h\\\" 1\"; "
    "cat k/shared.h; echo \"$defs\"; }\n"
    "if [ -n \"$pre\" ]; then text >\"$out\"; exit; fi\n"
    "echo x >>count\n"
    "grep -q nonsense \"$in\" && { echo \"$in: nonsense\"; exit 1; }\n"
    "if [ -n \"$WF_FAKE_SLOW\" ]; then sleep \"$WF_FAKE_SLOW\" & "
    "echo $! >sleeper; wait; fi\n"
    "{ printf '.version 7.8\\n.target sm_90\\n.address_size 64\\n';\n"
    "  printf '.visible .entry go(.param .u64 d, .param .u32 n) { ret; }\\n';\n"
    "  text | sed 's,^,// ,'; } >\"$out\"\n";

static const char entry[] =
    "{\"schema\":\"wavefarm.kernel-entry/1\",\"op\":\"gemm\",\"source\":\"go.hip\","
    "\"arch\":[\"sm_90\"],\"knobs\":{\"VALUE\":7},\"args\":[{\"pointer\":\"D\"},"
    "{\"scalar\":\"i32\",\"value\":\"M\"}],\"launches\":[{\"symbol\":\"go\","
    "\"grid\":[1],\"block\":[64]}],\"variants\":[{\"name\":\"a\"},"
    "{\"name\":\"b\",\"knobs\":{\"VALUE\":8}},{\"name\":\"c\",\"knobs\":{\"VALUE\":9}}]}";

static void set_up(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-build-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    write_file("cc", compiler);
    char *path = in_root("cc");
    cr_assert_eq(chmod(path, 0755), 0);
    free(path);
    write_file("k/go.hip", "go\n");
    write_file("k/shared.h", "shared\n");
    write_file("k/go.json", entry);
}

static void tear_down(void)
{
    wf_buf_free(&said);
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(build, .init = set_up, .fini = tear_down);

static void say(void *ctx, const char *text)
{
    (void)ctx;
    cr_assert_eq(wf_buf_puts(&said, text, NULL), WF_OK);
}

/* How often the compiler has compiled since the last call. */
static size_t compiled(void)
{
    char *path = in_root("count");
    uint64_t bytes = 0;
    size_t n = wf_file_size(path, &bytes, NULL) == WF_OK ? (size_t)bytes / 2 : 0;
    (void)unlink(path);
    free(path);
    return n;
}

struct asked {
    const char *out, *cache; /* names in root; cache "none": no cache */
    const struct wf_build_kernel *kernels;
    size_t count;
    bool keep_going;
    int timeout_ms, jobs;
    struct wf_build_outcome *outcomes;
};

static enum wf_status build(struct asked a, struct wf_error *err)
{
    static const struct wf_build_kernel all = { .entry = "k/go.json" };
    char *cc = in_root("cc"), *out = in_root(a.out == NULL ? "pack" : a.out);
    char *folder = a.cache != NULL && strcmp(a.cache, "none") == 0
                       ? wf_strdup("none")
                       : in_root(a.cache == NULL ? "cache" : a.cache);
    struct wf_build_options o = { .name = "demo",
                                  .arch = "sm_90",
                                  .format = "ptx",
                                  .clang = cc,
                                  .root = root,
                                  .out = out,
                                  .jobs = a.jobs == 0 ? 2 : a.jobs,
                                  .timeout_ms = a.timeout_ms,
                                  .keep_going = a.keep_going,
                                  .say = say };
    wf_buf_clear(&said);
    enum wf_status st = wf_kernel_cache_open(folder, 0, &o.cache, err);
    cr_assert_eq(st, WF_OK);
    st = wf_build_pack(&o, a.kernels == NULL ? &all : a.kernels,
                       a.kernels == NULL ? 1 : a.count, a.outcomes, err);
    wf_kernel_cache_close(o.cache);
    free(folder);
    free(out);
    free(cc);
    return st;
}

static void build_good(struct asked a)
{
    struct wf_error err = { .text = "" };
    cr_assert_eq(build(a, &err), WF_OK, "%s", err.text);
    cr_expect_str_eq(wf_buf_cstr(&said), "");
}

static void expect_same(const char *a, const char *b)
{
    struct wf_buf x = read_file(a), y = read_file(b);
    cr_expect(x.len == y.len && memcmp(x.data, y.data, x.len) == 0, "%s and %s", a, b);
    wf_buf_free(&y);
    wf_buf_free(&x);
}

/* Whether the pack is what a build without a cache makes of the tree as it is. */
static void expect_true(const char *out)
{
    static const char *const files[] = { "pack.json", "a.ptx", "b.ptx", "c.ptx" };
    build_good((struct asked){ .out = "true", .cache = "none" });
    for (size_t i = 0; i < 4; i++) {
        char *x = wf_asprintf("%s/%s", out, files[i]);
        char *y = wf_asprintf("true/%s", files[i]);
        expect_same(x, y);
        free(y);
        free(x);
    }
    (void)compiled();
}

Test(build, a_second_build_compiles_nothing)
{
    struct wf_build_outcome o[1];
    build_good((struct asked){ .outcomes = o });
    cr_expect_eq(compiled(), 3);
    cr_expect(o[0].built && !o[0].from_cache && o[0].compile_ns > 0);
    build_good((struct asked){ .out = "elsewhere", .outcomes = o });
    cr_expect_eq(compiled(), 0);
    cr_expect(o[0].built && o[0].from_cache && o[0].compile_ns == 0);
    expect_true("elsewhere");
}

Test(build, one_changed_variant_is_one_compilation)
{
    char *changed = wf_strdup(entry);
    build_good((struct asked){ 0 });
    (void)compiled();
    *(strstr(changed, "\"VALUE\":8") + 8) = '5';
    write_file("k/go.json", changed);
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 1);
    expect_true("pack");
    free(changed);
}

Test(build, a_changed_header_is_seen)
{
    build_good((struct asked){ 0 });
    (void)compiled();
    write_file("k/shared.h", "other\n");
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3);
    expect_true("pack");
    write_file("k/shared.h", "shared\n"); /* and back */
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 0);
    expect_true("pack");
}

Test(build, another_flag_is_another_object)
{
    char *changed = wf_asprintf("%.*s,\"compile\":{\"flags\":[\"-fast\"]}}",
                                (int)strlen(entry) - 1, entry);
    build_good((struct asked){ 0 });
    (void)compiled();
    write_file("k/go.json", changed);
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3);
    free(changed);
}

/* A flag that names a file stands for the content of that file. */
Test(build, a_file_that_a_flag_names)
{
    char *changed = wf_asprintf("%.*s,\"compile\":{\"flags\":[\"-fuse=k/list\"]}}",
                                (int)strlen(entry) - 1, entry);
    write_file("k/go.json", changed);
    write_file("k/list", "1");
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3);
    write_file("k/list", "2");
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3);
    free(changed);
}

Test(build, another_compiler_is_another_object)
{
    build_good((struct asked){ 0 });
    (void)compiled();
    cr_assert_eq(setenv("WF_FAKE_VERSION", "2", 1), 0);
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3, "the version counts");
    char *changed = wf_asprintf("%s# changed\n", compiler);
    write_file("cc", changed);
    char *path = in_root("cc");
    cr_assert_eq(chmod(path, 0755), 0);
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3, "so does the program");
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 0);
    free(path);
    free(changed);
}

/* Not what the preprocessor shows: the object may depend on anything. */
Test(build, included_bytes_are_never_cached)
{
    write_file("k/go.hip", "asm(\".incbin \\\"x\\\"\");\n");
    build_good((struct asked){ 0 });
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 6);
}

static void each_object(void (*change)(const char *path))
{
    char *command = wf_asprintf("%s/cache/objects", root);
    const char *const argv[] = { "find", command, "-type", "f", NULL };
    int out[2];
    char name[256];
    cr_assert_eq(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)execlp(argv[0], argv[0], argv[1], argv[2], argv[3], (char *)NULL);
        _exit(127);
    }
    (void)close(out[1]);
    FILE *f = fdopen(out[0], "r");
    size_t n = 0;
    while (fgets(name, sizeof name, f) != NULL) {
        name[strcspn(name, "\n")] = '\0';
        change(name);
        n++;
    }
    (void)fclose(f);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_expect_eq(n, 3);
    free(command);
}

static void cut(const char *path)
{
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(truncate(path, st.st_size - 1), 0);
}

Test(build, damaged_objects_are_compiled_again)
{
    build_good((struct asked){ 0 });
    (void)compiled();
    each_object(cut);
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 3);
    expect_true("pack");
    build_good((struct asked){ 0 });
    cr_expect_eq(compiled(), 0);
}

/* --- several at once --- */

Test(build, processes_at_once_compile_once)
{
    enum {
        N = 5
    };
    pid_t pid[N];
    cr_assert_eq(setenv("WF_FAKE_SLOW", "0.1", 1), 0);
    for (int i = 0; i < N; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            char name[16];
            struct wf_error err;
            (void)snprintf(name, sizeof name, "pack%d", i);
            _exit(build((struct asked){ .out = name }, &err) == WF_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < N; i++) {
        int status = -1;
        cr_assert_eq(waitpid(pid[i], &status, 0), pid[i]);
        cr_expect_eq(status, 0);
    }
    cr_expect_eq(compiled(), 3);
    cr_assert_eq(unsetenv("WF_FAKE_SLOW"), 0);
    expect_true("pack0");
    expect_true("pack4");
}

static void wait_for_compiler(void)
{
    const struct wf_clock *clock = wf_clock_system();
    char *path = in_root("count");
    for (int i = 0; i < 500 && !wf_file_exists(path); i++) {
        clock->sleep_ns(clock->ctx, 10000000);
    }
    cr_assert(wf_file_exists(path));
    free(path);
}

/* Nothing of a killed build runs on: the compiler's group is gone or ends with it. */
Test(build, a_killed_build_leaves_nothing_broken)
{
    cr_assert_eq(setenv("WF_FAKE_SLOW", "30", 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct wf_error err;
        _exit(build((struct asked){ .timeout_ms = 60000 }, &err) == WF_OK ? 0 : 1);
    }
    wait_for_compiler();
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_assert_eq(unsetenv("WF_FAKE_SLOW"), 0);
    (void)compiled();
    int64_t start_ns = wf_monotonic_ns();
    build_good((struct asked){ .timeout_ms = 20000 });
    cr_expect(wf_monotonic_ns() - start_ns < INT64_C(10000000000),
              "the lock of the dead");
    cr_expect_eq(compiled(), 3);
    expect_true("pack");
}

/* A dead process that nobody has waited for yet does not count. */
static bool runs(int64_t pid)
{
    struct wf_buf b = WF_BUF_INIT;
    char *path = wf_asprintf("/proc/%lld/stat", (long long)pid);
    bool there = wf_file_read(path, 4096, &b, NULL) == WF_OK &&
                 strstr(wf_buf_cstr(&b), ") Z ") == NULL;
    wf_buf_free(&b);
    free(path);
    return there;
}

Test(build, a_compiler_that_hangs_is_killed)
{
    struct wf_error err = { .text = "" };
    cr_assert_eq(setenv("WF_FAKE_SLOW", "1234.5", 1), 0);
    cr_expect_eq(build((struct asked){ .timeout_ms = 300 }, &err), WF_ETIMEOUT);
    cr_expect(strstr(err.text, "k/go.json: kernel a: ") != NULL &&
                  strstr(err.text, "did not end within 0.300 s and was killed") != NULL,
              "%s", err.text);
    /* The sleep is a process of the script's: the whole group has to go. */
    struct wf_buf b = read_file("sleeper");
    int64_t pid = 0;
    const struct wf_clock *clock = wf_clock_system();
    b.data[strcspn(b.data, "\n")] = '\0';
    cr_assert_eq(wf_parse_i64(b.data, "pid", 2, INT32_MAX, &pid, NULL), WF_OK);
    for (int i = 0; i < 100 && runs(pid); i++) {
        clock->sleep_ns(clock->ctx, 10000000);
    }
    cr_expect_not(runs(pid), "a sleep runs on");
    wf_buf_free(&b);
}

/* --- what goes wrong --- */

Test(build, errors_of_all_kernels_in_their_order)
{
    static const struct wf_build_kernel some[] = {
        { .entry = "k/go.json", .variant = "b" },
        { .entry = "k/bad.json", .variant = "x" },
        { .entry = "k/go.json", .variant = "none" },
        { .entry = "k/bad.json", .variant = "y" },
    };
    struct wf_build_outcome o[4];
    struct wf_error err = { .text = "" };
    write_file("k/bad.hip", "nonsense\n");
    write_file("k/bad.json",
               "{\"schema\":\"wavefarm.kernel-entry/1\",\"op\":\"gemm\","
               "\"arch\":[\"sm_90\"],\"launches\":[{\"symbol\":\"go\",\"grid\":[1],"
               "\"block\":[64],\"args\":[]}],\"variants\":[{\"name\":\"x\"},"
               "{\"name\":\"y\",\"knobs\":{\"V\":1}}]}");
    struct asked a = { .kernels = some, .count = 4, .outcomes = o };
    cr_expect_eq(build(a, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "kernel x does not compile") != NULL, "%s", err.text);
    const char *x = strstr(wf_buf_cstr(&said), "error: k/bad.json: kernel x "),
               *y = strstr(wf_buf_cstr(&said), "error: k/bad.json: kernel y ");
    cr_expect(x != NULL && y != NULL && x < y, "%s", wf_buf_cstr(&said));
    cr_expect(strstr(o[2].error.text, "no variant 'none'") != NULL, "%s",
              o[2].error.text);
    a.keep_going = true;
    cr_assert_eq(build(a, &err), WF_OK, "%s", err.text);
    cr_expect(o[0].built && !o[1].built && !o[2].built && !o[3].built);
    struct wf_buf pack = read_file("pack/pack.json");
    cr_expect(strstr(pack.data, "b.ptx") != NULL && strstr(pack.data, "x.ptx") == NULL);
    wf_buf_free(&pack);
}

Test(build, knobs_and_a_name_of_the_request)
{
    struct wf_json *knobs = wf_json_object();
    cr_assert_eq(wf_json_set_i64(knobs, "VALUE", 4, NULL), WF_OK);
    const struct wf_build_kernel some[] = {
        { .entry = "k/go.json", .variant = "a", .knobs = knobs, .name = "mine" },
        { .entry = "k/go.json", .variant = "a" },
    };
    build_good((struct asked){ .kernels = some, .count = 2 });
    struct wf_buf b = read_file("pack/mine.ptx");
    cr_expect(strstr(b.data, "-DVALUE=4") != NULL, "%s", b.data);
    wf_buf_free(&b);
    struct wf_error err = { .text = "" };
    const struct wf_build_kernel which = { .entry = "k/go.json", .knobs = knobs };
    cr_expect_eq(build((struct asked){ .kernels = &which, .count = 1 }, &err),
                 WF_EINVAL);
    cr_expect(strstr(err.text, "several variants") != NULL, "%s", err.text);
    wf_json_free(knobs);
}

/* No lock can be made and nothing stored; the warning comes once, the pack is right. */
Test(build, a_cache_that_cannot_be_written_is_told_once)
{
    static const struct wf_build_kernel all = { .entry = "k/go.json" };
    struct wf_error err = { .text = "" };
    char *cc = in_root("cc"), *out = in_root("pack"), *folder = in_root("cache");
    struct wf_build_options o = { .name = "demo",
                                  .arch = "sm_90",
                                  .format = "ptx",
                                  .clang = cc,
                                  .root = root,
                                  .out = out,
                                  .say = say };
    cr_assert_eq(wf_kernel_cache_open(folder, 0, &o.cache, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_remove_tree(folder, NULL), WF_OK);
    write_file("cache", "a file, not a folder");
    cr_assert_eq(wf_build_pack(&o, &all, 1, NULL, &err), WF_OK, "%s", err.text);
    wf_kernel_cache_close(o.cache);
    cr_expect_eq(compiled(), 3);
    const char *first = strstr(wf_buf_cstr(&said), "warning: the kernel cache");
    cr_expect(first != NULL && strstr(first + 1, "warning:") == NULL, "%s",
              wf_buf_cstr(&said));
    wf_buf_clear(&said);
    expect_true("pack");
    free(folder);
    free(out);
    free(cc);
}

/* --- with clang --- */

static void build_clang(const char *out, struct wf_build_outcome *o)
{
    static const struct wf_build_kernel all = { .entry = "k/real.json" };
    char *cache = in_root("cache"), *path = in_root(out);
    struct wf_build_options options = { .name = "demo",
                                        .arch = "gfx942",
                                        .format = "co",
                                        .clang = WF_TEST_CLANG,
                                        .root = root,
                                        .out = path,
                                        .jobs = 1,
                                        .say = say };
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_kernel_cache_open(cache, 0, &options.cache, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_build_pack(&options, &all, 1, o, &err), WF_OK, "%s", err.text);
    wf_kernel_cache_close(options.cache);
    free(path);
    free(cache);
}

static void write_real(const char *header)
{
    write_file("k/real.hip",
               "#include \"k/count.h\"\n"
               "extern \"C\" __attribute__((global)) void go(float *d) {\n"
               "    #pragma unroll COUNT\n"
               "    for (int i = 0; i < 64; i++) d[i * d[0] > 3] = i;\n"
               "}\n");
    write_file("k/count.h", header);
    write_file(
        "k/real.json",
        "{\"schema\":\"wavefarm.kernel-entry/1\",\"op\":\"gemm\",\"name\":\"real\","
        "\"arch\":[\"gfx942\"],\"launches\":[{\"symbol\":\"go\",\"grid\":[1],"
        "\"block\":[64],\"args\":[{\"pointer\":\"D\"}]}]}");
}

/* -E leaves "#pragma unroll COUNT" as it is: only the macros show the difference. */
Test(build, a_macro_that_only_a_pragma_names)
{
    struct wf_build_outcome o;
    write_real("#define COUNT 2\n");
    build_clang("two", &o);
    cr_expect_not(o.from_cache);
    write_real("#define COUNT 8\n");
    build_clang("eight", &o);
    cr_expect_not(o.from_cache);
    struct wf_buf two = read_file("two/real.co"), eight = read_file("eight/real.co");
    cr_expect(two.len != eight.len || memcmp(two.data, eight.data, two.len) != 0);
    wf_buf_free(&eight);
    wf_buf_free(&two);
    write_real("#define COUNT 2\n");
    build_clang("again", &o);
    cr_expect(o.from_cache);
    expect_same("two/real.co", "again/real.co");
}
