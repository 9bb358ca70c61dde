/* Names of kernels and hipBLASLt's logic files into knobs. */
#include "isa/knobs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct wf_isa_knobs decode(const char *name, enum wf_isa_scheme wanted)
{
    struct wf_isa_knobs k = { .knob = NULL };
    enum wf_isa_scheme scheme;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_isa_knobs_of_name(name, &k, &scheme, &err), WF_OK, "%s", err.text);
    cr_expect_eq(scheme, wanted, "%s: %s", name, wf_isa_scheme_name(scheme));
    return k;
}

/* `wanted`: "PGR=2 PLR=1", each of which the name says; `unknown`: how many keys have
 * no meaning. */
static void expect(const char *name,
                   enum wf_isa_scheme scheme,
                   const char *wanted,
                   size_t unknown)
{
    struct wf_isa_knobs k = decode(name, scheme);
    char text[1024], *rest = text;
    size_t found = 0;
    (void)snprintf(text, sizeof(text), "%s", wanted);
    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        const char *value = wf_isa_knobs_value(&k, word);
        cr_expect(value != NULL && strcmp(value, equals + 1) == 0,
                  "%s: %s is %s, not %s", name, word,
                  value != NULL ? value : "not there", equals + 1);
    }
    for (size_t i = 0; i < k.count; i++) {
        found += k.knob[i].meaning == NULL;
    }
    cr_expect_eq(found, unknown, "%s: %zu unknown keys, want %zu", name, found,
                 unknown);
    wf_isa_knobs_free(&k);
}

Test(isa_knobs, tensile_names_give_problem_tile_and_knobs)
{
    expect(
        "Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT256x224x64_MI16x16x1_SN_LDSB0_"
        "GRVWA8_GSUAMBSK_ISA942_MIWT8_7_NTAn1_PGR2_PLR1_SK3_SKXCCM8_SS1_SU8_SUM0_"
        "SUS256_WG32_8_1_WGM8_WGMXCC4_WGMXCCGn1_DTVA1",
        WF_ISA_TENSILE,
        "TransA=T TransB=N Type=f16 TypeD=f16 TypeCompute=f32 Problem=BH Bias=Bias "
        "Activation=S ScaleAlphaVec=SAV UserArgs=UserArgs MT0=256 MT1=224 DU=64 "
        "MI=16x16x1 LDSB=0 GRVWA=8 GSUA=MBSK ISA=942 MIWT=8_7 NTA=n1 PGR=2 PLR=1 "
        "SK=3 SKXCCM=8 SS=1 SU=8 SUM=0 SUS=256 WG=32_8_1 WGM=8 WGMXCC=4 WGMXCCG=n1 "
        "DTVA=1",
        0);
}

Test(isa_knobs, tensile_types_in_all_their_spellings)
{
    expect("Cijk_Ailk_Bjlk_SB_MT64x64x16", WF_ISA_TENSILE,
           "TransA=N TransB=T Type=f32 Problem=B MT0=64", 0);
    expect("Cijk_Ailk_Bljk_HF8_HHS_BH_MT1x2x3", WF_ISA_TENSILE,
           "TransA=N TransB=N TypeA=f16 TypeB=f8 Type=f16 TypeD=f16", 0);
    expect("Cijk_Alik_Bljk_F8BS_BH_SAB_MT1x2x3", WF_ISA_TENSILE,
           "Type=f8 TypeD=bf16 TypeCompute=f32 ScaleAB=SAB", 0);
    expect("Cijk_Alik_Bljk_F8B8_F8B8HS_BH_MT1x2x3", WF_ISA_TENSILE,
           "TypesAB=f8,bf8 Type=f8,bf8 TypeD=f16", 0);
    expect("Cijk_Alik_Bljk_I8BH_HAI_SAV_MT1x2x3", WF_ISA_TENSILE,
           "Type=i8 Problem=BH Activation=I", 0);
    expect("Cijk_Alik_Bljk_I8II_BH_GG_MT1x2x3", WF_ISA_TENSILE,
           "Type=i8 TypeD=i32 TypeCompute=i32 GroupedGemm=GG", 0);
    expect("Cijk_Alik_Bljk_S_MX_B_Bias_HA_MT1x2x3", WF_ISA_TENSILE,
           "Type=f32 F32Math=MX Problem=B Activation=HA", 0);
}

Test(isa_knobs, what_no_table_knows_is_kept)
{
    expect("Cijk_Alik_Bljk_HHS_BH_NEWTHING_MT1x2x3_MI16x16x1_SN_QQX12_lower_7",
           WF_ISA_TENSILE, "NEWTHING= QQX=12 lower= 7=", 4);
    expect("Custom_Cijk_Alik_Bljk_BBS_BH_MT128x16x128_SN_GSUM_K1_MIWT2_1_01",
           WF_ISA_TENSILE, "Custom=1 GSU=M KL=1 MIWT=2_1 01=", 1);
    expect(
        "CustomGSUs_Cijk_Ailk_Bljk_F8H_HHS_BH_Bias_GG_AS_SAB_SAV_DTVA_shortname12_gfx942",
        WF_ISA_TENSILE, "Custom=1 TypeA=f8 TypeB=f16 DTVA=1 Shortname=12 ISA=942", 0);
    expect("bf16gemm_fp32bf16_tn_128x64_newidea", WF_ISA_AITER,
           "Tile=128x64 newidea=", 1);
    /* twice, with two values: both are there */
    expect("Cijk_Alik_Bljk_HHS_BH_MT1x2x3_SN_PGR1_PGR2_PGR1", WF_ISA_TENSILE, "PGR=1|2",
           0);
}

Test(isa_knobs, aiter_names_mangled_or_of_files)
{
    expect("_ZN5aiter39bf16gemm_fp32bf16_tn_64x64_splitk_cleanE", WF_ISA_AITER,
           "Family=bf16gemm Trans=TN Tile=64x64 SplitK=1 Clean=1", 0);
    expect("I8gemm_bf16_perTokenI8_BpreShuffle_112x256.co", WF_ISA_AITER,
           "Family=i8gemm Type=bf16 BShuffle=1 Tile=112x256", 0);
    expect("flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32.co", WF_ISA_AITER,
           "Tile=128x256x128 WaveGroup=1x4x1 MI=16x16x32", 0);
    expect("pa_bf16_noquant_gqa8_1tg_4w_mtp_msk1", WF_ISA_AITER,
           "Gqa=8 Workgroups=1 Waves=4 Mtp=1 Mask=1", 0);
    expect("mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps", WF_ISA_AITER,
           "QHeads=16 TileM=16x4 TileN=16x1 Persistent=1", 0);
}

Test(isa_knobs, other_names_have_none)
{
    static const char *const names[] = {
        "gemm_f16_mfma", "", "_ZN", "_ZN99999999999x", "Cijk", "_____", "Cij"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct wf_isa_knobs k = decode(names[i], WF_ISA_NO_SCHEME);
        cr_expect_eq(k.count, 0u, "%s", names[i]);
        wf_isa_knobs_free(&k);
    }
}

/* Every row of the table by the rule that makes keys, but the few that older names
 * have. */
Test(isa_knobs, a_key_is_the_parameters_capital_letters)
{
    static const struct {
        const char *key, *parameter;
    } rows[] = {
#define TENSILE(key, parameter, meaning) { key, parameter },
#include "isa/tensile.def"
#undef TENSILE
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char capitals[64];
        size_t n = 0;
        for (const char *c = rows[i].parameter; *c != '\0'; c++) {
            if ((*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9' && c[1] == 'E')) {
                capitals[n++] = *c;
            }
        }
        capitals[n] = '\0';
        const bool older =
            strcmp(rows[i].key, "K") == 0 || strcmp(rows[i].key, "1LDSB") == 0 ||
            strcmp(rows[i].key, "GSUASB") == 0 || strcmp(rows[i].key, "MAC") == 0 ||
            strcmp(rows[i].key, "DPLB") == 0;
        cr_expect(older || strcmp(capitals, rows[i].key) == 0, "%s of %s is %s",
                  rows[i].key, rows[i].parameter, capitals);
    }
}

Test(isa_knobs, a_logic_file_gives_solutions_and_who_takes_them)
{
    struct wf_isa_logic l = { .solution = NULL };
    struct wf_error err = { 0 };
    cr_assert_eq(wf_isa_logic_read(LOGIC, &l, &err), WF_OK, "%s", err.text);
    cr_assert_eq(l.solution_count, 2u);
    cr_assert_eq(l.selection_count, 3u);
    cr_expect_eq(l.skipped_sizes, 0u);
    const struct wf_isa_knobs *k = &l.solution[0].knobs;
    const struct {
        const char *key, *value;
    } wanted[] = { { "LDSB", "1" },    { "DU", "64" },    { "DTVA", "1" },
                   { "GSUA", "MBSK" }, { "ISA", "942" },  { "MIWT", "8_4" },
                   { "MT0", "256" },   { "MT1", "128" },  { "MI", "16x16x1" },
                   { "MIK", "16" },    { "NT", "n1" },    { "PGR", "2" },
                   { "WG", "32_8_1" }, { "WGM", "8" },    { "TransA", "T" },
                   { "Type", "f16" },  { "TypeD", "f16" } };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const char *v = wf_isa_knobs_value(k, wanted[i].key);
        cr_expect(v != NULL && strcmp(v, wanted[i].value) == 0, "%s is %s",
                  wanted[i].key, v != NULL ? v : "not there");
    }
    cr_expect_eq(l.solution[1].index, 1);
    cr_expect_str_eq(wf_isa_knobs_value(&l.solution[1].knobs, "Custom"), "1");
    cr_expect_str_eq(wf_isa_knobs_value(&l.solution[1].knobs, "DU"), "128");
    const struct wf_isa_selection *s = &l.selection[1];
    cr_expect(s->m == 128 && s->n == 2048 && s->batch == 4 && s->k == 8192);
    cr_expect_eq(s->solution, 0);
    cr_expect_eq(s->rating, 600.25);
    wf_isa_logic_free(&l);
}

static void expect_wrong_bytes(const char *text, size_t bytes, const char *says)
{
    char path[] = "/tmp/wf_logic_XXXXXX";
    struct wf_isa_logic l = { .solution = NULL };
    struct wf_error err = { 0 };
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, bytes), (ssize_t)bytes);
    (void)close(fd);
    cr_expect_eq(wf_isa_logic_read(path, &l, &err), WF_EPARSE);
    cr_expect_not_null(strstr(err.text, says), "%s", err.text);
    (void)unlink(path);
}

static void expect_wrong(const char *text, const char *says)
{
    expect_wrong_bytes(text, strlen(text), says);
}

Test(isa_knobs, files_that_are_no_logic_are_told)
{
    struct wf_isa_logic l = { .solution = NULL };
    struct wf_error err = { 0 };
    expect_wrong("Tests:\n- name: x\n", "no solutions");
    expect_wrong("", "no solutions");
    expect_wrong("- - SolutionIndex: zero\n", "line 1: SolutionIndex is no index");
    expect_wrong("- - SolutionIndex: 0\n    nonsense\n",
                 "line 2: a solution's parameter");
    expect_wrong("- - SolutionIndex: 0\n- - - [1, 2, 3, 4]\n    - [7, 0.0]\n",
                 "takes solution 7");
    expect_wrong(
        "- - SolutionIndex: 0\n- - - [1, 2, 3, 4]\n    - [0, 1]\n    - [0, 1]\n",
        "line 4: a solution without a size");
    static const char nul[] = "- - SolutionIndex: 0\n    Kernel\0Name: x\n";
    expect_wrong_bytes(nul, sizeof(nul) - 1, "line 2: a NUL behind:     Kernel");
    expect_wrong_bytes("\0", 1, "line 1: a NUL at its beginning");
    cr_expect_neq(wf_isa_logic_read("/nowhere.yaml", &l, &err), WF_OK);
    cr_expect_not_null(strstr(err.text, "/nowhere.yaml"), "%s", err.text);
}
