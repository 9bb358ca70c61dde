/* A launch's report as JSON: schema wavefarm.emulator-report/1. */
#include "core/buf.h"
#include "core/json.h"
#include "emulator/count/model.h"
#include "emulator/exec/code.h"
#include "emulator/launch/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* An object that is being filled: the first failure stays. */
struct filler {
    struct wf_json *obj;
    enum wf_status status;
    struct wf_error *err;
};

static void put_string(struct filler *f, const char *key, const char *value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_string(f->obj, key, value, f->err);
    }
}

static void put_u64(struct filler *f, const char *key, uint64_t value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_u64(f->obj, key, value, f->err);
    }
}

static void put_f64(struct filler *f, const char *key, double value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_f64(f->obj, key, value, f->err);
    }
}

static void put_bool(struct filler *f, const char *key, bool value)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_bool(f->obj, key, value, f->err);
    }
}

static void put_null(struct filler *f, const char *key)
{
    if (f->status == WF_OK) {
        f->status = wf_json_set_null(f->obj, key, f->err);
    }
}

/* Takes `child` whatever comes of it. */
static void put_child(struct filler *f, const char *key, struct filler child)
{
    if (f->status == WF_OK) {
        f->status = child.status;
    }
    if (f->status == WF_OK) {
        f->status = wf_json_set_take(f->obj, key, child.obj, f->err);
    } else {
        wf_json_free(child.obj);
    }
}

static struct filler begin(struct wf_error *err)
{
    return (struct filler){ .obj = wf_json_object(), .err = err };
}

static void put_triple(struct filler *f, const char *key, const uint32_t value[3])
{
    struct filler array = { .obj = wf_json_array(), .err = f->err };
    for (unsigned i = 0; i < 3 && array.status == WF_OK; i++) {
        array.status = wf_json_push_i64(array.obj, value[i], f->err);
    }
    put_child(f, key, array);
}

static void put_address(struct filler *f, const char *key, uint64_t address)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "0x%" PRIx64, address);
    put_string(f, key, text);
}

/* Where an instruction is, for people and for tools. */
struct place {
    char symbol[128];
    uint32_t offset; /* in it */
    char line[256];
    char instruction[160];
};

static void find_place(const struct em_launch *launch, uint32_t pc, struct place *ret)
{
    memset(ret, 0, sizeof(*ret));
    const struct em_code *code = em_image_code(launch->image);
    const char *symbol = em_image_symbol(launch->image, pc, &ret->offset);
    if (symbol) {
        (void)snprintf(ret->symbol, sizeof(ret->symbol), "%s", symbol);
    }
    if (!em_image_line(launch->image, pc, ret->line, sizeof(ret->line))) {
        ret->line[0] = '\0';
    }
    if (pc < em_code_count(code)) {
        (void)em_print(&em_code_at(code, pc)->in, ret->instruction,
                       sizeof(ret->instruction));
    }
}

static void put_place(struct filler *f, const struct em_launch *launch, uint32_t pc)
{
    struct place place;
    find_place(launch, pc, &place);
    put_u64(f, "pc", (uint64_t)pc * 4);
    if (place.symbol[0]) {
        put_string(f, "symbol", place.symbol);
        put_u64(f, "symbol_offset", place.offset);
    } else {
        put_null(f, "symbol");
        put_null(f, "symbol_offset");
    }
    put_string(f, "line", place.line[0] ? place.line : NULL);
    put_string(f, "instruction", place.instruction);
}

/* One line that says it all. */
static char *summary(const struct em_fault *fault, const struct em_launch *launch)
{
    struct wf_buf text = WF_BUF_INIT;
    struct place place;
    find_place(launch, fault->pc, &place);
    enum wf_status st = wf_buf_printf(&text, NULL, "%s: %s at %s+0x%" PRIx32,
                                      launch->kernel->name, em_fault_words(fault->kind),
                                      place.symbol[0] ? place.symbol : "code",
                                      place.symbol[0] ? place.offset : fault->pc * 4);
    if (st == WF_OK && place.line[0]) {
        st = wf_buf_printf(&text, NULL, " (%s)", place.line);
    }
    if (st == WF_OK) {
        st = wf_buf_printf(
            &text, NULL, ", %s; workgroup %" PRIu32 ",%" PRIu32 ",%" PRIu32 " wave %u",
            place.instruction, fault->workgroup[0], fault->workgroup[1],
            fault->workgroup[2], fault->wave);
    }
    if (st == WF_OK && fault->lane >= 0) {
        st = wf_buf_printf(&text, NULL, " lane %d", fault->lane);
    }
    if (st == WF_OK && fault->has_address) {
        st = wf_buf_printf(&text, NULL, " address 0x%" PRIx64, fault->address);
    }
    if (st == WF_OK && fault->text[0]) {
        st = wf_buf_printf(&text, NULL, ": %s", fault->text);
    }
    char *result = st == WF_OK ? wf_strdup(wf_buf_cstr(&text)) : NULL;
    wf_buf_free(&text);
    return result;
}

static struct filler fault_object(const struct em_fault *fault,
                                  const struct em_launch *launch,
                                  struct wf_error *err)
{
    struct filler f = begin(err);
    char *line = summary(fault, launch);
    if (!line) {
        f.status = wf_errorf(err, WF_ENOMEM, "no memory for a launch's report");
    }
    put_string(&f, "kind", em_fault_name(fault->kind));
    put_string(&f, "answer", em_fault_answer(fault->kind));
    put_string(&f, "words", em_fault_words(fault->kind));
    put_string(&f, "summary", line);
    free(line);
    put_string(&f, "text", fault->text);
    put_string(&f, "kernel", launch->kernel->name);
    put_place(&f, launch, fault->pc);
    put_triple(&f, "workgroup", fault->workgroup);
    put_u64(&f, "workgroup_index", fault->workgroup_index);
    put_u64(&f, "wave", fault->wave);
    if (fault->lane >= 0) {
        put_u64(&f, "lane", (uint64_t)fault->lane);
    } else {
        put_null(&f, "lane");
    }
    if (fault->has_address) {
        put_address(&f, "address", fault->address);
    } else {
        put_null(&f, "address");
    }
    if (fault->other_pc != UINT32_MAX) {
        struct filler other = begin(err);
        put_place(&other, launch, fault->other_pc);
        put_u64(&other, "wave", fault->other_wave);
        put_child(&f, "other", other);
    } else {
        put_null(&f, "other");
    }
    return f;
}

static struct filler instructions_object(const struct em_totals *t,
                                         struct wf_error *err)
{
    struct filler f = begin(err);
    put_u64(&f, "all", t->instructions);
    for (unsigned i = 0; i < EM_CLASSES; i++) {
        put_u64(&f, em_class_name((enum em_class)i), t->by_class[i]);
    }
    return f;
}

static struct filler cycles_object(const struct em_model *model, struct wf_error *err)
{
    struct filler f = begin(err);
    put_u64(&f, "at_least", model->cycles);
    put_string(&f, "bound_by", em_pipe_name(model->bound));
    for (unsigned i = 0; i < EM_PIPE_COUNT; i++) {
        put_u64(&f, em_pipe_name((enum em_pipe)i), model->pipe[i]);
    }
    put_u64(&f, "hbm_without_caches", model->hbm_cycles_without_caches);
    return f;
}

static struct filler counters_object(const struct em_report *report,
                                     const struct em_launch *launch,
                                     struct wf_error *err)
{
    struct filler f = begin(err);
    struct em_model model;
    em_model(report, launch, &model);
    const struct em_totals *t = &model.totals;
    put_bool(&f, "model", true);
    put_child(&f, "instructions", instructions_object(t, err));
    put_u64(&f, "mfma_flops", t->mfma_flops);
    put_u64(&f, "mfma_passes", t->mfma_passes);
    put_u64(&f, "valu_cycles", t->valu_cycles);
#define X(member, unit, words) put_u64(&f, #member, report->counts.member);
    EM_MEMORY_COUNTS(X)
#undef X
    put_child(&f, "cycles", cycles_object(&model, err));
    return f;
}

static struct filler occupancy_object(const struct em_launch *launch,
                                      struct wf_error *err)
{
    struct filler f = begin(err);
    struct em_occupancy o;
    const struct em_kernel *k = launch->kernel;
    em_occupancy(k, launch->block[0] * launch->block[1] * launch->block[2],
                 k->lds_bytes + launch->dynamic_lds_bytes, &o);
    put_bool(&f, "model", true);
    put_u64(&f, "vgprs", k->vgprs);
    put_u64(&f, "agprs", k->agprs);
    put_u64(&f, "sgprs", k->sgprs);
    put_u64(&f, "lds_bytes", k->lds_bytes + launch->dynamic_lds_bytes);
    put_u64(&f, "scratch_bytes_of_lane", k->private_bytes);
    put_u64(&f, "waves_of_workgroup", o.waves_of_workgroup);
    put_u64(&f, "workgroups_of_cu", o.workgroups_of_cu);
    put_f64(&f, "waves_of_simd", o.waves_of_simd);
    put_string(&f, "limited_by", o.limit);
    return f;
}

static struct filler options_object(const struct em_options *options,
                                    struct wf_error *err)
{
    struct filler f = begin(err);
    put_string(&f, "mfma", options->exact ? "exact" : "fast");
    put_bool(&f, "checks", options->check);
    put_bool(&f, "counters", options->count);
    return f;
}

enum wf_status em_report_json(const struct em_report *report,
                              const struct em_launch *launch,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct filler f = begin(err);
    put_string(&f, "schema", "wavefarm.emulator-report/1");
    put_string(&f, "kernel", launch->kernel->name);
    put_u64(&f, "device", (uint64_t)launch->device);
    put_triple(&f, "grid", launch->grid);
    put_triple(&f, "block", launch->block);
    put_child(&f, "options", options_object(&launch->options, err));
    put_u64(&f, "threads", report->threads);
    put_bool(&f, "ordered", report->ordered);
    put_u64(&f, "host_ns", report->host_ns > 0 ? (uint64_t)report->host_ns : 0);
    put_u64(&f, "workgroups", report->workgroups);
    put_u64(&f, "waves", report->waves);
    put_u64(&f, "instructions", report->instructions);
    if (report->faulted) {
        put_child(&f, "fault", fault_object(&report->fault, launch, err));
    } else {
        put_null(&f, "fault");
    }
    put_child(&f, "occupancy", occupancy_object(launch, err));
    if (report->counted) {
        put_child(&f, "counters", counters_object(report, launch, err));
    } else {
        put_null(&f, "counters");
    }
    if (f.status != WF_OK) {
        wf_json_free(f.obj);
        return f.status;
    }
    *ret = f.obj;
    return WF_OK;
}
