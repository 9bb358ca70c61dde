/* Packs against their code objects: wrong symbols, architectures, layouts. */
#include "packs/pack.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/wf-verify-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(verify, .init = make_root, .fini = remove_root);

static struct wf_buf read_at(const char *folder, const char *name)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    char *path = wf_path_join(folder, name);
    cr_assert_eq(wf_file_read(path, 1 << 24, &b, &err), WF_OK, "%s", err.text);
    free(path);
    return b;
}

static void write_in_root(const char *name, const void *data, size_t n)
{
    char *path = wf_path_join(root, name);
    cr_assert_eq(wf_file_write_atomic(path, data, n, NULL), WF_OK);
    free(path);
}

static void copy_file(const char *from, const char *name)
{
    struct wf_buf b = read_at(from, name);
    write_in_root(name, b.data, b.len);
    wf_buf_free(&b);
}

/* A copy of the every_feature pack with one text of pack.json replaced. */
static void make_copy(const char *from, const char *to)
{
    char folder[512];
    const char *build = getenv("WF_BINARY_DIR");
    cr_assert_not_null(build, "WF_BINARY_DIR is not set: run through ctest");
    (void)snprintf(folder, sizeof folder, "%s/test-packs/every-feature-gfx942", build);
    copy_file(folder, "every_feature.co");
    copy_file(folder, "every_feature.tail.co");
    struct wf_buf b = read_at(folder, "pack.json");
    const char *at = strstr(b.data, from);
    cr_assert(at != NULL, "pack.json has no %s", from);
    char *changed =
        wf_asprintf("%.*s%s%s", (int)(at - b.data), b.data, to, at + strlen(from));
    write_in_root("pack.json.in", changed, strlen(changed));
    free(changed);
    wf_buf_free(&b);
}

static enum wf_status verify(struct wf_error *err)
{
    struct wf_pack *p = NULL;
    cr_assert_eq(wf_pack_build(root, &p, err), WF_OK, "%s", err->text);
    enum wf_status st = wf_pack_verify(p, err);
    wf_pack_free(p);
    return st;
}

static void expect_error(const char *want)
{
    struct wf_error err = { .text = "" };
    cr_expect_neq(verify(&err), WF_OK);
    cr_expect(strstr(err.text, want) != NULL, "'%s' lacks '%s'", err.text, want);
}

Test(verify, an_unchanged_pack_is_good)
{
    struct wf_error err = { .text = "" };
    make_copy("every_feature", "every_feature");
    cr_expect_eq(verify(&err), WF_OK, "%s", err.text);
}

Test(verify, a_wrong_symbol_names_those_that_are_there)
{
    make_copy("\"wf_every_reduce\"", "\"wf_evry_reduce\"");
    expect_error(
        "kernel every_feature: launches[1]: every_feature.tail.co has no kernel "
        "'wf_evry_reduce'; did you mean wf_every_reduce?; there are ");
    expect_error("wf_every_add_c");
}

static void build_tail_for(unsigned char machine)
{
    make_copy("every_feature", "every_feature");
    struct wf_buf b = read_at(root, "every_feature.tail.co");
    b.data[48] = (char)machine; /* the low byte of e_flags */
    write_in_root("every_feature.tail.co", b.data, b.len);
    wf_buf_free(&b);
}

/* A80: of the three processors that MI300 was compiled for only gfx942 is one; the
 * generic target of the family runs on it too. */
Test(verify, a80_code_for_another_processor_is_refused_with_both_names)
{
    struct wf_error err = { .text = "" };
    build_tail_for(0x40);
    expect_error(
        "kernel every_feature: every_feature.tail.co is built for gfx940, which "
        "does not run on gfx942");
    build_tail_for(0x4b);
    expect_error("every_feature.tail.co is built for gfx941, which does not run on "
                 "gfx942");
    build_tail_for(0x4c);
    cr_expect_eq(verify(&err), WF_OK, "%s", err.text);
    build_tail_for(0x5f);
    cr_expect_eq(verify(&err), WF_OK, "gfx9-4-generic: %s", err.text);
}

Test(verify, one_architecture_of_the_list_is_enough_to_refuse)
{
    make_copy("\"gfx942\"", "\"gfx942\", \"gfx90a\"");
    expect_error("is built for gfx942, which does not run on gfx90a");
}

Test(verify, an_argument_of_another_size_or_place)
{
    make_copy("\"scalar\": \"i64\",\n              \"value\": \"M * N\"",
              "\"scalar\": \"i32\",\n              \"value\": \"M * N\"");
    expect_error(
        "launches[3].args[2]: 4 bytes at offset 16; the code object's parameter "
        "has 8 bytes at 16");
}

Test(verify, a_missing_argument)
{
    make_copy("{\n              \"pointer\": \"C\"\n            },", "");
    expect_error(
        "launches[3]: 4 arguments of 28 bytes; wf_every_add_c has 5 parameters of "
        "36 bytes");
}

Test(verify, text_that_is_no_code_object)
{
    make_copy("every_feature", "every_feature");
    write_in_root("every_feature.co", "hello", 5);
    expect_error("neither an ELF code object nor PTX text");
}

Test(verify, a_library_must_export_its_entry)
{
    static const char library[] =
        "{\"schema\":\"wavefarm.pack/1\",\"name\":\"lib\",\"kernels\":[{\"name\":\"k\","
        "\"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],"
        "\"library\":\"every_feature.co\"}]}";
    make_copy("every_feature", "every_feature");
    write_in_root("pack.json.in", library, sizeof library - 1);
    expect_error("kernel k: every_feature.co does not export wf_library_kernels_v1");
}

Test(verify, a_pack_without_a_folder)
{
    struct wf_error err = { .text = "" };
    struct wf_json *json = NULL;
    struct wf_pack *p = NULL;
    make_copy("every_feature", "every_feature");
    struct wf_buf b = read_at(root, "pack.json.in");
    cr_assert_eq(wf_json_parse(b.data, b.len, "pack.json", &json, NULL), WF_OK);
    cr_assert_eq(wf_pack_parse(json, "pack.json", &p, NULL), WF_OK);
    cr_expect_eq(wf_pack_verify(p, &err), WF_EINVAL);
    wf_pack_free(p);
    wf_json_free(json);
    wf_buf_free(&b);
}
