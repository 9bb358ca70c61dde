/* The draw: different mutants, the same ones for the same seed, each kind made, each
 * decoding to what its name says, one instruction changed in the pack that is written.
 */
#include "core/buf.h"
#include "core/file.h"
#include "packs/pack.h"
#include "selftest/generate.h"
#include "selftest/generate_cases.h"
#include "selftest/generate_kinds.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL "paged_decode_f16_mfma_d64"
#define COUNT  90

static struct wf_generated_set *draw(const char *kernel, size_t count, uint64_t seed)
{
    struct wf_generated_set *set = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_generated_create(WF_GFX942_PACK, kernel, count, seed, &set, &err),
                 WF_OK, "%s", err.text);
    cr_assert_eq(wf_generated_count(set), count);
    return set;
}

Test(generate, names_differ_and_a_seed_draws_the_same)
{
    struct wf_generated_set *a = draw(KERNEL, COUNT, 1);
    struct wf_generated_set *b = draw(KERNEL, COUNT, 1);
    struct wf_generated_set *c = draw(KERNEL, COUNT, 2);
    size_t other = 0;
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_str_eq(wf_generated_name(a, i), wf_generated_name(b, i));
        other += strcmp(wf_generated_name(a, i), wf_generated_name(c, i)) != 0;
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(wf_generated_name(a, i), wf_generated_name(a, j));
        }
    }
    cr_assert_gt(other, COUNT / 2);
    wf_generated_destroy(a);
    wf_generated_destroy(b);
    wf_generated_destroy(c);
}

Test(generate, every_kind_that_a_kernel_has_takes_its_turn)
{
    struct wf_generated_set *set = draw("gemm_f16_mfma_64x64_split_nt", COUNT, 3);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        size_t n = 0;
        for (size_t i = 0; i < COUNT; i++) {
            n +=
                strcmp(wf_generated_kind(set, i), gen_kind_name((enum gen_kind)k)) == 0;
        }
        cr_assert_geq(n, 2, "%s: %zu", gen_kind_name((enum gen_kind)k), n);
    }
    size_t count = 0;
    cr_assert_not_null(wf_generated_excluded(set, 0, &count));
    cr_assert_null(wf_generated_excluded(set, 100, &count));
    wf_generated_destroy(set);
}

static void read_pack_file(const char *folder, const char *name, struct wf_buf *out)
{
    struct wf_error err = { .text = "" };
    char *path = wf_path_join(folder, name);
    cr_assert_eq(wf_file_read(path, 1 << 20, out, &err), WF_OK, "%s", err.text);
    free(path);
}

Test(generate, a_pack_differs_in_one_instruction)
{
    struct wf_generated_set *set = draw(KERNEL, 20, 4);
    struct wf_error err = { .text = "" };
    char folder[] = "/tmp/wf-generate-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < 20; i++) {
        char *to = wf_asprintf("%s/%zu", folder, i);
        struct wf_buf was = WF_BUF_INIT;
        struct wf_buf now = WF_BUF_INIT;
        struct wf_pack *pack = NULL;
        cr_assert_eq(wf_generated_write(set, i, to, &err), WF_OK, "%s", err.text);
        cr_assert_eq(wf_pack_open(to, &pack, &err), WF_OK, "%s", err.text);
        cr_assert_eq(wf_pack_kernel_count(pack), 1);
        read_pack_file(WF_GFX942_PACK, KERNEL ".co", &was);
        read_pack_file(to, KERNEL ".co", &now);
        cr_assert_eq(was.len, now.len);
        size_t first = 0;
        size_t last = was.len - 1;
        while (first < was.len && was.data[first] == now.data[first]) {
            first++;
        }
        cr_assert_lt(first, was.len, "%s changes nothing", wf_generated_name(set, i));
        while (was.data[last] == now.data[last]) {
            last--;
        }
        cr_assert_lt(last - first, 8, "%s", wf_generated_name(set, i));
        cr_assert_neq(wf_generated_write(set, i, to, &err), WF_OK,
                      "twice the same folder");
        wf_pack_free(pack);
        wf_buf_free(&was);
        wf_buf_free(&now);
        free(to);
    }
    cr_assert_eq(wf_remove_tree(folder, &err), WF_OK);
    wf_generated_destroy(set);
}

static void expect_error(const char *kernel, size_t count, enum wf_status status)
{
    struct wf_generated_set *set = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_generated_create(WF_GFX942_PACK, kernel, count, 1, &set, &err),
                 status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, kernel));
}

Test(generate, errors_name_the_kernel)
{
    expect_error("no_such_kernel", 1, WF_ENOTFOUND);
    expect_error(KERNEL, 1000000, WF_EINVAL);
}

/* Mutants are made of these; the other kernels of the family share their code. */
static bool has_mutants(const char *name)
{
    static const char *const NAMES[] = {
        "gemm_f16_mfma_128x128_nt", "gemm_f16_mfma_128x128_nn",
        "gemm_f16_mfma_128x128_tn", "gemm_f16_mfma_128x128_tt",
        "gemm_f16_mfma_256x256_nt", "gemm_f16_mfma_64x64_split_nt"
    };
    bool found = strncmp(name, "paged", 5) == 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        found = found || strcmp(name, NAMES[i]) == 0;
    }
    return found;
}

Test(generate, there_are_cases_for_the_kernels_that_mutants_are_made_of)
{
    struct wf_error err = { .text = "" };
    struct wf_pack *pack = NULL;
    char folder[] = "/tmp/wf-generate-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(wf_pack_open(WF_GFX942_PACK, &pack, &err), WF_OK, "%s", err.text);
    size_t seen = 0;
    for (size_t i = 0; i < wf_pack_kernel_count(pack); i++) {
        struct wf_generated_cases *cases = NULL;
        const char *name = wf_pack_kernel_at(pack, i)->name;
        if (!has_mutants(name)) {
            continue;
        }
        seen++;
        cr_assert_eq(wf_generated_cases_create(name, folder, &cases, &err), WF_OK, "%s",
                     err.text);
        for (size_t c = 0; c < wf_generated_cases_count(cases); c++) {
            struct wf_json *json = NULL;
            cr_assert_eq(wf_json_parse(wf_generated_case(cases, c),
                                       strlen(wf_generated_case(cases, c)), name, &json,
                                       &err),
                         WF_OK, "%s", err.text);
            wf_json_free(json);
        }
        wf_generated_cases_destroy(cases);
    }
    cr_assert_geq(seen, 7, "a kernel of the list is gone");
    wf_pack_free(pack);
    cr_assert_eq(wf_remove_tree(folder, &err), WF_OK);
}
