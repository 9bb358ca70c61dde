/* A kernel's static report as a block of lines, from its JSON. */
#include "cli/isa_view.h"

#include "cli/output.h"
#include "cli/table.h"
#include "core/buf.h"
#include "core/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- reading --- */

static const struct wf_json *at(const struct wf_json *o, const char *key)
{
    return o != NULL && wf_json_type(o) == WF_JSON_OBJECT ? wf_json_find(o, key) : NULL;
}

static double number(const struct wf_json *o, const char *key)
{
    double v = (double)NAN;
    const struct wf_json *m = at(o, key);
    return m != NULL && wf_json_as_f64(m, &v) ? v : (double)NAN;
}

/* 0 where a count is absent. */
static long count(const struct wf_json *o, const char *key)
{
    double v = number(o, key);
    return isfinite(v) ? (long)v : 0;
}

static const char *text(const struct wf_json *o, const char *key)
{
    const struct wf_json *m = at(o, key);
    const char *s = m != NULL ? wf_json_string(m) : NULL;
    return s != NULL ? s : "";
}

static bool flag(const struct wf_json *o, const char *key)
{
    bool v = false;
    const struct wf_json *m = at(o, key);
    return m != NULL && wf_json_as_bool(m, &v) && v;
}

/* --- lines --- */

static void line(bool notable, const char *title, const struct wf_buf *b)
{
    wf_say("%s %-10s %s", notable ? "!" : " ", title, wf_buf_cstr(b));
}

static void show_registers(const struct wf_json *k)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *r = at(k, "registers");
    long v = count(r, "vgprs");
    long a = count(r, "agprs");
    (void)wf_buf_printf(&b, NULL, "%ld of 512: %ld vgprs + %ld agprs; %ld sgprs",
                        count(r, "allocated"), v, a, count(r, "sgprs"));
    bool wasted = false;
    const struct wf_json *named = at(r, "named");
    if (named != NULL && wf_json_type(named) == WF_JSON_OBJECT) {
        long all = count(named, "vgprs"); /* vgpr_count holds both kinds */
        long acc = count(named, "agprs");
        wasted = count(r, "allocated") > (all + 7) / 8 * 8;
        (void)wf_buf_printf(&b, NULL, " (used: %ld with %ld agprs; %ld)", all, acc,
                            count(named, "sgprs"));
    }
    line(wasted, "registers", &b);
    wf_buf_clear(&b);
    const struct wf_json *s = at(k, "spills");
    const struct wf_json *m = at(k, "scratch");
    long spilled = count(s, "vgprs") + count(s, "sgprs");
    if (wf_json_type(s) == WF_JSON_OBJECT) {
        (void)wf_buf_printf(&b, NULL, "%ld vgprs, %ld sgprs", count(s, "vgprs"),
                            count(s, "sgprs"));
    } else {
        (void)wf_buf_puts(&b, "not known (no metadata)", NULL);
    }
    (void)wf_buf_printf(&b, NULL, "; scratch %ld bytes, %ld loads, %ld stores%s",
                        count(m, "bytes"), count(m, "loads"), count(m, "stores"),
                        flag(m, "dynamic_stack") ? ", dynamic stack" : "");
    bool notable = spilled > 0 || count(m, "bytes") > 0 || count(m, "loads") > 0 ||
                   count(m, "stores") > 0;
    line(notable, "spills", &b);
    wf_buf_free(&b);
}

static void show_occupancy(const struct wf_json *k)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *o = at(k, "occupancy");
    const struct wf_json *w = at(k, "workgroup");
    (void)wf_buf_printf(&b, NULL, "%ld bytes", count(k, "lds_bytes"));
    line(false, "LDS", &b);
    wf_buf_clear(&b);
    if (o == NULL || wf_json_type(o) != WF_JSON_OBJECT) {
        (void)wf_buf_puts(&b, "not known: no workgroup size in the metadata", NULL);
        line(true, "occupancy", &b);
    } else {
        (void)wf_buf_printf(
            &b, NULL,
            "%g waves a SIMD, limited by %s (vgprs %g, sgprs %g, LDS %g); "
            "workgroup of %s%ld",
            number(o, "waves_per_simd"), text(o, "limited_by"), number(o, "by_vgprs"),
            number(o, "by_sgprs"), number(o, "by_lds"),
            flag(w, "exact") ? "" : "at most ", count(w, "size"));
        line(number(o, "waves_per_simd") == 0, "occupancy", &b);
    }
    wf_buf_free(&b);
}

/* "mfma 128, valu 200, ..." without "all". */
static void add_kinds(struct wf_buf *b, const struct wf_json *mix)
{
    const char *between = "";
    for (const struct wf_json *m = mix != NULL ? wf_json_first(mix) : NULL; m != NULL;
         m = wf_json_next(m)) {
        if (strcmp(wf_json_key(m), "all") != 0) {
            (void)wf_buf_printf(b, NULL, "%s%s %ld", between, wf_json_key(m),
                                count(mix, wf_json_key(m)));
            between = ", ";
        }
    }
}

static void show_code(const struct wf_json *k)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *c = at(k, "code");
    const struct wf_json *mix = at(c, "instructions");
    (void)wf_buf_printf(&b, NULL, "%ld bytes, %ld instructions: ", count(c, "bytes"),
                        count(mix, "all"));
    add_kinds(&b, mix);
    line(count(mix, "unknown") > 0, "code", &b);
    wf_buf_clear(&b);
    if (flag(c, "indirect_jumps")) {
        (void)wf_buf_puts(&b,
                          "jumps through registers: the whole function was looked at, "
                          "but such a jump closes no loop here",
                          NULL);
        line(true, "jumps", &b);
    }
    wf_buf_free(&b);
}

/* --- loops --- */

static void place(const struct wf_json *loop, struct wf_buf *b)
{
    (void)wf_buf_printf(b, NULL, "+0x%lx", count(loop, "offset"));
    if (text(loop, "line")[0] != '\0') {
        (void)wf_buf_printf(b, NULL, " %s", text(loop, "line"));
    }
}

static void show_loops(const struct wf_json *k, bool all)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *loops = at(k, "loops");
    size_t n = loops != NULL ? wf_json_count(loops) : 0;
    bool complete = flag(k, "loops_complete");
    (void)wf_buf_printf(&b, NULL, "%zu%s", n,
                        complete ? "" : " and more (too much code)");
    line(!complete, "loops", &b);
    for (size_t i = 0; all && i < n; i++) {
        const struct wf_json *l = wf_json_at(loops, i);
        wf_buf_clear(&b);
        (void)wf_buf_printf(&b, NULL, "%zu: depth %ld, ", i, count(l, "depth"));
        place(l, &b);
        (void)wf_buf_printf(
            &b, NULL,
            ": %ld instructions in %ld blocks, mfma %ld (%ld passes), "
            "vector passes %ld%s",
            count(l, "instructions"), count(l, "blocks"), count(l, "mfma"),
            count(l, "mfma_passes"), count(l, "valu_passes"),
            flag(l, "irreducible") ? ", entered in several places" : "");
        line(flag(l, "irreducible"), "", &b);
    }
    wf_buf_free(&b);
}

/* "ds_read_b128 x32 (16 bytes a lane), ..." of kinds that begin with `kind`. */
static size_t add_names(struct wf_buf *b, const struct wf_json *names, const char *kind)
{
    size_t n = 0;
    for (const struct wf_json *m = names != NULL ? wf_json_first(names) : NULL;
         m != NULL; m = wf_json_next(m)) {
        const char *mine = text(m, "kind");
        if (strncmp(mine, kind, strlen(kind)) != 0) {
            continue;
        }
        (void)wf_buf_printf(b, NULL, "%s%s%s x%ld", n > 0 ? ", " : "", text(m, "name"),
                            strcmp(mine, "load_lds") == 0 ? " to LDS" : "",
                            count(m, "count"));
        long bytes = count(m, "bytes_of_lane");
        if (bytes > 0) {
            (void)wf_buf_printf(b, NULL, " (%ld B)", bytes);
        }
        n++;
    }
    return n;
}

static void show_names(const struct wf_json *names, const char *kind, const char *title)
{
    struct wf_buf b = WF_BUF_INIT;
    if (add_names(&b, names, kind) > 0) {
        line(false, title, &b);
    }
    wf_buf_free(&b);
}

static void show_work(const struct wf_json *h)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *mix = at(h, "instructions");
    long all = count(mix, "all");
    long mfma = count(mix, "mfma");
    long passes = count(h, "mfma_passes");
    long vector = count(mix, "valu") + count(mix, "trans") + count(mix, "accvgpr");
    (void)wf_buf_printf(&b, NULL, "%ld of %ld instructions (%.1f %%), %ld passes", mfma,
                        all, all > 0 ? 100.0 * (double)mfma / (double)all : 0.0,
                        passes);
    if (mfma > 0) {
        (void)wf_buf_puts(&b, ": ", NULL);
        (void)add_names(&b, at(h, "names"), "mfma");
    }
    line(false, "  matrix", &b);
    wf_buf_clear(&b);
    (void)wf_buf_printf(
        &b, NULL, "%ld instructions (trans %ld, accvgpr %ld), %ld passes", vector,
        count(mix, "trans"), count(mix, "accvgpr"), count(h, "valu_passes"));
    if (passes > 0) {
        (void)wf_buf_printf(&b, NULL, ": %.2f of the matrix passes",
                            (double)count(h, "valu_passes") / (double)passes);
    }
    line(mfma > 0 && count(mix, "accvgpr") > 0, "  vector", &b);
    wf_buf_free(&b);
}

static void show_memory(const struct wf_json *h)
{
    const struct wf_json *names = at(h, "names");
    struct wf_buf b = WF_BUF_INIT;
    show_names(names, "load", "  loads");
    show_names(names, "store", "  stores");
    show_names(names, "atomic", "  atomics");
    show_names(names, "lds", "  LDS");
    if (add_names(&b, names, "scratch") > 0) {
        line(true, "  scratch", &b);
    }
    wf_buf_free(&b);
}

static void show_waits(const struct wf_json *h)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *w = at(h, "waits");
    const struct wf_json *mix = at(h, "instructions");
    (void)wf_buf_printf(
        &b, NULL, "vmcnt(0) x%ld, vmcnt(n) x%ld, lgkmcnt(0) x%ld, lgkmcnt(n) x%ld",
        count(w, "vmcnt_drains"), count(w, "vmcnt_counted"), count(w, "lgkmcnt_drains"),
        count(w, "lgkmcnt_counted"));
    line(count(mix, "mfma") > 0 && count(w, "vmcnt_drains") > 0, "  waits", &b);
    wf_buf_clear(&b);
    (void)wf_buf_printf(&b, NULL,
                        "barrier %ld, setprio %ld, nop %ld, sleep %ld, branch %ld",
                        count(mix, "barrier"), count(mix, "setprio"), count(mix, "nop"),
                        count(mix, "sleep"), count(mix, "branch"));
    line(false, "  others", &b);
    wf_buf_free(&b);
}

static void show_mca(const struct wf_json *h, const struct wf_json *tool)
{
    static const char *const names[] = { "mca", "mca_nowait", "mca_nowait_trans" };
    static const char *const words[] = { "as is", "no waits", "no waits, trans x4" };
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *m = at(h, "mca");
    bool notable = false;
    if (m == NULL || wf_json_type(m) != WF_JSON_OBJECT) {
        (void)wf_buf_printf(&b, NULL, "not known: %s", text(tool, "why"));
        line(true, "  llvm-mca", &b);
        wf_buf_free(&b);
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct wf_json *v = at(m, names[i]);
        (void)wf_buf_puts(&b, i > 0 ? "; " : "", NULL);
        if (!isfinite(number(v, "cycles"))) {
            (void)wf_buf_printf(&b, NULL, "%s not known: %s", words[i], text(v, "why"));
            notable = true;
            break;
        }
        (void)wf_buf_printf(&b, NULL, "%s ", words[i]);
        if (isfinite(number(v, "percent"))) {
            (void)wf_buf_printf(&b, NULL, "%.1f %% of matrix peak, ",
                                number(v, "percent"));
        }
        (void)wf_buf_printf(&b, NULL, "%.1f passes", number(v, "cycles"));
    }
    (void)wf_buf_printf(&b, NULL, " (%s; rewritten %ld, left out %ld + %ld branches)",
                        text(tool, "version"), count(m, "rewritten"),
                        count(m, "left_out"), count(m, "branches_left_out"));
    line(notable, "  llvm-mca", &b);
    wf_buf_free(&b);
}

static void show_hot(const struct wf_json *k,
                     const struct wf_json *h,
                     const struct wf_json *tool)
{
    struct wf_buf b = WF_BUF_INIT;
    const struct wf_json *l = wf_json_at(at(k, "loops"), (size_t)count(h, "loop"));
    place(l, &b);
    (void)wf_buf_printf(&b, NULL, ", %ld blocks, depth %ld", count(l, "blocks"),
                        count(l, "depth"));
    if (count(l, "inner_loops") > 0) {
        (void)wf_buf_puts(&b, ", loops within it counted once", NULL);
    }
    if (count(h, "skipped_instructions") > 0) {
        (void)wf_buf_printf(&b, NULL, ", %ld instructions of masking blocks left out",
                            count(h, "skipped_instructions"));
    }
    line(false, "hot loop", &b);
    wf_buf_free(&b);
    show_work(h);
    show_memory(h);
    show_waits(h);
    show_mca(h, tool);
}

void wf_print_isa(const struct wf_json *report, bool loops)
{
    const struct wf_json *tool = at(report, "llvm_mca");
    const struct wf_json *kernels = at(report, "kernels");
    for (const struct wf_json *k = kernels != NULL ? wf_json_first(kernels) : NULL;
         k != NULL; k = wf_json_next(k)) {
        wf_say("%s", text(k, "kernel"));
        show_registers(k);
        show_occupancy(k);
        show_code(k);
        show_loops(k, loops);
        const struct wf_json *hot = at(k, "hot");
        size_t n = hot != NULL ? wf_json_count(hot) : 0;
        for (size_t i = 0; i < n && (i == 0 || loops); i++) {
            show_hot(k, wf_json_at(hot, i), tool);
        }
        wf_say("%s", "");
    }
}

/* --- side by side --- */

static void cell_of(const struct wf_json *v, char ret[32])
{
    double d;
    if (v != NULL && wf_json_as_f64(v, &d) && isfinite(d)) {
        (void)snprintf(ret, 32, "%.6g", d);
    } else {
        (void)snprintf(ret, 32, "-");
    }
}

void wf_print_isa_pair(const struct wf_isa_pair *pair, bool all)
{
    static const char *const header[] = { "figure", ">A", ">B", ">B - A", "" };
    struct wf_table *t = wf_table_create(header, 5);
    if (strcmp(pair->kernel_a, pair->kernel_b) == 0) {
        wf_say("%s", pair->kernel_a);
    } else {
        wf_say("A %s", pair->kernel_a);
        wf_say("B %s", pair->kernel_b);
    }
    for (const struct wf_json *f = wf_json_first(pair->figures); t != NULL && f != NULL;
         f = wf_json_next(f)) {
        char a[32];
        char b[32];
        char d[32];
        double difference = number(f, "b") - number(f, "a");
        cell_of(at(f, "a"), a);
        cell_of(at(f, "b"), b);
        (void)snprintf(d, sizeof(d), "%+.6g", difference);
        if (!isfinite(difference)) {
            (void)snprintf(d, sizeof(d), "-");
        }
        const char *verdict = text(f, "verdict");
        const char *cell[] = { text(f, "figure"), a, b, d, verdict };
        if (all || strcmp(verdict, "same") != 0) {
            wf_table_row(t, cell);
        }
    }
    bool good = t != NULL && wf_table_print(t);
    wf_say("%s", good ? "" : "(out of memory: rows are missing)");
    wf_table_free(t);
}
