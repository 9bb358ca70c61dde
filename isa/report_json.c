/* The report as JSON: schema wavefarm.isa/1, docs/schemas/isa-report.schema.json. */
#include "core/json.h"
#include "isa/report_internal.h"

#include <math.h>

/* An object that is being filled: the first failure stays. */
struct filler {
    struct wf_json *obj;
    enum wf_status status;
    struct wf_error *err;
};

static struct filler begin(struct wf_json *obj, struct wf_error *err)
{
    return (struct filler){ .obj = obj, .err = err };
}

static void put_text(struct filler *f, const char *key, const char *value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_string(f->obj, key, value, f->err);
    }
}

static void put_i64(struct filler *f, const char *key, int64_t value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_i64(f->obj, key, value, f->err);
    }
}

static void put_bool(struct filler *f, const char *key, bool value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_bool(f->obj, key, value, f->err);
    }
}

/* What is not known is null. */
static void put_real(struct filler *f, const char *key, double value)
{
    if (f->status == WF_OK && isfinite(value)) {
        f->status = wf_json_set_f64(f->obj, key, value, f->err);
    } else if (f->status == WF_OK) {
        f->status = wf_json_set_null(f->obj, key, f->err);
    }
}

static void put_null(struct filler *f, const char *key)
{
    put_real(f, key, (double)NAN);
}

/* Takes the child's object whatever comes of it. */
static void put_child(struct filler *f, const char *key, struct filler child)
{
    f->status = f->status == WF_OK ? child.status : f->status;
    if (f->status == WF_OK) {
        f->status = wf_json_set_take(f->obj, key, child.obj, f->err);
    } else {
        wf_json_free(child.obj);
    }
}

static void push_child(struct filler *f, struct filler child)
{
    f->status = f->status == WF_OK ? child.status : f->status;
    if (f->status == WF_OK) {
        f->status = wf_json_push_take(f->obj, child.obj, f->err);
    } else {
        wf_json_free(child.obj);
    }
}

/* --- parts --- */

static struct filler registers_json(const struct isa_kernel *k, struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    struct filler named = begin(wf_json_object(), err);
    put_i64(&f, "vgprs", k->vgprs);
    put_i64(&f, "agprs", k->agprs);
    put_i64(&f, "accum_offset", k->accum_offset);
    put_i64(&f, "sgprs", k->sgprs);
    put_i64(&f, "allocated", (k->vgprs + k->agprs + 7) / 8 * 8);
    put_i64(&named, "vgprs", k->named_vgprs);
    put_i64(&named, "agprs", k->named_agprs);
    put_i64(&named, "sgprs", k->named_sgprs);
    if (k->has_metadata) {
        put_child(&f, "named", named);
    } else {
        wf_json_free(named.obj);
        put_null(&f, "named");
    }
    return f;
}

static void put_spills(struct filler *f, const struct isa_kernel *k)
{
    if (!k->has_metadata) {
        put_null(f, "spills");
        return;
    }
    struct filler s = begin(wf_json_object(), f->err);
    put_i64(&s, "vgprs", k->vgpr_spills);
    put_i64(&s, "sgprs", k->sgpr_spills);
    put_child(f, "spills", s);
}

static void put_scratch(struct filler *f, const struct isa_kernel *k)
{
    struct filler s = begin(wf_json_object(), f->err);
    put_i64(&s, "bytes", k->scratch_bytes);
    put_i64(&s, "loads", k->mix.kind[ISA_SCRATCH_LOAD]);
    put_i64(&s, "stores", k->mix.kind[ISA_SCRATCH_STORE]);
    put_bool(&s, "dynamic_stack", k->dynamic_stack);
    put_child(f, "scratch", s);
}

static void put_occupancy(struct filler *f, const struct isa_kernel *k)
{
    const struct isa_occupancy *o = &k->occupancy;
    if (o->workgroup == 0) {
        put_null(f, "workgroup");
        put_null(f, "occupancy");
        return;
    }
    struct filler w = begin(wf_json_object(), f->err);
    put_i64(&w, "size", o->workgroup);
    put_bool(&w, "exact", o->exact);
    put_child(f, "workgroup", w);
    struct filler s = begin(wf_json_object(), f->err);
    put_real(&s, "waves_per_simd", o->waves);
    put_text(&s, "limited_by", o->limit);
    put_real(&s, "by_vgprs", o->by_vgprs);
    put_real(&s, "by_sgprs", o->by_sgprs);
    put_real(&s, "by_lds", o->by_lds);
    put_child(f, "occupancy", s);
}

static struct filler mix_json(const struct isa_mix *m, struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    put_i64(&f, "all", m->instructions);
    for (unsigned i = 0; i < ISA_KIND_COUNT; i++) {
        if (m->kind[i] > 0) {
            put_i64(&f, isa_kind_name((enum isa_kind)i), m->kind[i]);
        }
    }
    return f;
}

static void put_code(struct filler *f, const struct isa_kernel *k)
{
    struct filler s = begin(wf_json_object(), f->err);
    put_i64(&s, "bytes", (int64_t)k->code_bytes);
    put_bool(&s, "bytes_from_symbol", k->code_bytes_from_symbol);
    put_bool(&s, "indirect_jumps", k->indirect);
    put_bool(&s, "calls", k->calls);
    put_child(&s, "instructions", mix_json(&k->mix, f->err));
    put_child(f, "code", s);
}

static struct filler loop_json(const struct isa_loop_line *l, struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    put_i64(&f, "offset", l->offset);
    put_text(&f, "line", l->line[0] != '\0' ? l->line : NULL);
    put_i64(&f, "depth", l->depth);
    if (l->parent != ISA_NO_LOOP) {
        put_i64(&f, "parent", l->parent);
    } else {
        put_null(&f, "parent");
    }
    put_i64(&f, "inner_loops", l->children);
    put_i64(&f, "blocks", l->blocks);
    put_i64(&f, "back_edges", l->back_edges);
    put_bool(&f, "irreducible", l->irreducible);
    put_i64(&f, "instructions", l->mix.instructions);
    put_i64(&f, "mfma", l->mix.kind[ISA_MFMA]);
    put_i64(&f, "mfma_passes", (int64_t)l->mix.mfma_passes);
    put_i64(&f, "valu_passes", (int64_t)l->mix.valu_passes);
    return f;
}

static void put_loops(struct filler *f, const struct isa_kernel *k)
{
    struct filler all = begin(wf_json_array(), f->err);
    for (size_t i = 0; i < k->line_count; i++) {
        push_child(&all, loop_json(&k->line[i], f->err));
    }
    put_child(f, "loops", all);
    put_bool(f, "loops_complete", !k->loops_cut);
}

/* --- hot loops --- */

static void put_waits(struct filler *f, const struct isa_mix *m)
{
    struct filler s = begin(wf_json_object(), f->err);
    put_i64(&s, "vmcnt_drains", m->vm_drains);
    put_i64(&s, "vmcnt_counted", m->vm_counted);
    put_i64(&s, "lgkmcnt_drains", m->lgkm_drains);
    put_i64(&s, "lgkmcnt_counted", m->lgkm_counted);
    put_child(f, "waits", s);
}

static void put_bytes(struct filler *f, const struct isa_mix *m)
{
    struct filler s = begin(wf_json_object(), f->err);
    put_i64(&s, "load", (int64_t)m->load_bytes);
    put_i64(&s, "load_lds", (int64_t)m->load_lds_bytes);
    put_i64(&s, "lds_read", (int64_t)m->lds_read_bytes);
    put_i64(&s, "lds_write", (int64_t)m->lds_write_bytes);
    put_child(f, "bytes_of_lane", s);
}

static struct filler tally_json(const struct isa_tally *t, struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    struct em_inst in = { .op = t->op, .encoding = EM_SOPP, .simm16 = t->wait };
    const char *name = em_op_info((enum em_opcode)t->op)->name;
    char text[96];
    if (t->kind == ISA_WAIT) { /* "s_waitcnt vmcnt(8) lgkmcnt(0)" */
        in.bytes = 4;
        in.dst.code = in.sdst.code = EM_NONE;
        for (int i = 0; i < 4; i++) {
            in.src[i].code = EM_NONE;
        }
        (void)em_print(&in, text, sizeof(text));
        name = text;
    }
    put_text(&f, "name", name);
    put_text(&f, "kind", isa_kind_name((enum isa_kind)t->kind));
    put_i64(&f, "count", t->count);
    if (t->bytes > 0) {
        put_i64(&f, "bytes_of_lane", t->bytes);
    }
    return f;
}

static void put_tallies(struct filler *f, const struct isa_tallies *t)
{
    struct filler all = begin(wf_json_array(), f->err);
    for (size_t i = 0; i < t->count; i++) {
        push_child(&all, tally_json(&t->item[i], f->err));
    }
    put_child(f, "names", all);
}

static void put_variant(struct filler *f,
                        const char *name,
                        const struct isa_mca_run *r,
                        uint64_t passes)
{
    struct filler s = begin(wf_json_object(), f->err);
    put_real(&s, "cycles", r->cycles);
    put_real(&s, "matrix_passes", r->xdl);
    put_real(&s, "percent",
             passes > 0 ? 100.0 * (double)passes / r->cycles : (double)NAN);
    if (r->why[0] != '\0') {
        put_text(&s, "why", r->why);
    }
    put_child(f, name, s);
}

static void put_mca(struct filler *f, const struct isa_hot *h)
{
    static const char *const names[] = {
#define X(NAME, name, words) #name,
        ISA_MCA_VARIANTS(X)
#undef X
    };
    struct filler s = begin(wf_json_object(), f->err);
    if (!h->mca.asked) {
        wf_json_free(s.obj);
        put_null(f, "mca");
        return;
    }
    put_i64(&s, "instructions", h->mca.instructions);
    put_i64(&s, "rewritten", h->mca.rewritten);
    put_i64(&s, "branches_left_out", h->mca.branches);
    put_i64(&s, "left_out", h->mca.dropped);
    for (int v = 0; v < ISA_MCA_VARIANT_COUNT; v++) {
        put_variant(&s, names[v], &h->mca.run[v], h->mix.mfma_passes);
    }
    put_child(f, "mca", s);
}

static struct filler hot_json(const struct isa_hot *h, struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    put_i64(&f, "loop", h->loop);
    put_i64(&f, "skipped_instructions", h->skipped);
    put_i64(&f, "mfma_passes", (int64_t)h->mix.mfma_passes);
    put_i64(&f, "mfma_flops", (int64_t)h->mix.mfma_flops);
    put_i64(&f, "valu_passes", (int64_t)h->mix.valu_passes);
    put_child(&f, "instructions", mix_json(&h->mix, err));
    put_bytes(&f, &h->mix);
    put_waits(&f, &h->mix);
    put_tallies(&f, &h->tally);
    put_mca(&f, h);
    return f;
}

static void put_hot(struct filler *f, const struct isa_kernel *k)
{
    struct filler all = begin(wf_json_array(), f->err);
    for (size_t i = 0; i < k->hot_count; i++) {
        push_child(&all, hot_json(&k->hot[i], f->err));
    }
    put_child(f, "hot", all);
}

/* --- figures --- */

static void put_figures(struct filler *f, const struct isa_kernel *k)
{
    struct filler values = begin(wf_json_object(), f->err);
    struct filler why = begin(wf_json_object(), f->err);
    for (size_t i = 0; i < isa_figure_count(); i++) {
        struct wf_isa_figure g = isa_figure(k, i);
        put_real(&values, g.name, g.value);
        if (g.why != NULL) {
            put_text(&why, g.name, g.why);
        }
    }
    put_child(f, "figures", values);
    put_child(f, "unknown", why);
}

static struct filler kernel_json(const struct isa_kernel *k, struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    put_text(&f, "kernel", k->name);
    put_child(&f, "registers", registers_json(k, err));
    put_spills(&f, k);
    put_scratch(&f, k);
    put_i64(&f, "lds_bytes", k->lds_bytes);
    put_occupancy(&f, k);
    put_code(&f, k);
    put_loops(&f, k);
    put_hot(&f, k);
    put_figures(&f, k);
    return f;
}

static void put_tool(struct filler *f, const struct isa_mca_tool *t)
{
    struct filler s = begin(wf_json_object(), f->err);
    put_text(&s, "program", t->program);
    put_text(&s, "version", t->version);
    if (t->why != NULL) {
        put_text(&s, "why", t->why);
    }
    put_child(f, "llvm_mca", s);
}

enum wf_status wf_isa_report_json(const struct wf_isa_report *r,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct filler f = begin(wf_json_object(), err);
    struct filler kernels = begin(wf_json_array(), err);
    put_text(&f, "schema", "wavefarm.isa/1");
    put_text(&f, "file", r->file);
    put_text(&f, "arch", "gfx942");
    put_tool(&f, &r->tool);
    for (size_t i = 0; i < r->count; i++) {
        push_child(&kernels, kernel_json(&r->kernel[i], err));
    }
    put_child(&f, "kernels", kernels);
    if (f.status == WF_OK) {
        *ret = f.obj;
    } else {
        wf_json_free(f.obj);
    }
    return f.status;
}
