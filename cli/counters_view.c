/* Counters as a table: a row a counter, a column a launch.
 *
 * All are a model's: exact for the code that ran, never a time of a device. */
#include "cli/counters_view.h"

#include "cli/result_view.h"
#include "cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_LAUNCHES (WF_TABLE_COLUMNS - 2)

/* ROW(path in a launch's report, unit): "a.b.c" goes down through objects. */
#define ROWS(ROW)                                           \
    ROW("workgroups", "")                                   \
    ROW("waves", "")                                        \
    ROW("counters.instructions.all", "instruction")         \
    ROW("counters.instructions.mfma", "instruction")        \
    ROW("counters.instructions.valu", "instruction")        \
    ROW("counters.instructions.trans", "instruction")       \
    ROW("counters.instructions.f64", "instruction")         \
    ROW("counters.instructions.salu", "instruction")        \
    ROW("counters.instructions.branch", "instruction")      \
    ROW("counters.instructions.smem", "instruction")        \
    ROW("counters.instructions.vmem_load", "instruction")   \
    ROW("counters.instructions.vmem_store", "instruction")  \
    ROW("counters.instructions.vmem_atomic", "instruction") \
    ROW("counters.instructions.lds", "instruction")         \
    ROW("counters.instructions.barrier", "instruction")     \
    ROW("counters.mfma_flops", "flop")                      \
    ROW("counters.mfma_passes", "pass")                     \
    ROW("counters.global_read_bytes", "byte")               \
    ROW("counters.global_write_bytes", "byte")              \
    ROW("counters.global_accesses", "instruction")          \
    ROW("counters.global_lines", "128-byte line")           \
    ROW("counters.lds_bytes", "byte")                       \
    ROW("counters.lds_cycles", "cycle")                     \
    ROW("counters.lds_conflict_cycles", "cycle")            \
    ROW("counters.scratch_bytes", "byte")                   \
    ROW("counters.atomic_lanes", "lane")                    \
    ROW("occupancy.vgprs", "register")                      \
    ROW("occupancy.agprs", "register")                      \
    ROW("occupancy.sgprs", "register")                      \
    ROW("occupancy.lds_bytes", "byte")                      \
    ROW("occupancy.waves_of_simd", "wave")                  \
    ROW("occupancy.limited_by", "")                         \
    ROW("counters.cycles.at_least", "cycle")                \
    ROW("counters.cycles.bound_by", "")

static const struct {
    const char *path, *unit;
} rows[] = {
#define ROW(path, unit) { path, unit },
    ROWS(ROW)
#undef ROW
};

static const struct wf_json *find_path(const struct wf_json *at, const char *path)
{
    char key[64];
    while (at != NULL && wf_json_type(at) == WF_JSON_OBJECT) {
        size_t n = strcspn(path, ".");
        (void)snprintf(key, sizeof(key), "%.*s", (int)n, path);
        at = wf_json_find(at, key);
        if (path[n] == '\0') {
            return at;
        }
        path += n + 1;
    }
    return NULL;
}

static void format_value(const struct wf_json *v, char *ret, size_t n)
{
    uint64_t whole = 0;
    double real = 0;
    const char *text = v != NULL ? wf_json_string(v) : NULL;
    if (text != NULL) {
        (void)snprintf(ret, n, "%s", text);
    } else if (v != NULL && wf_json_as_u64(v, &whole)) {
        (void)snprintf(ret, n, "%" PRIu64, whole);
    } else if (v != NULL && wf_json_as_f64(v, &real)) {
        (void)snprintf(ret, n, "%.4g", real);
    } else {
        (void)snprintf(ret, n, "-");
    }
}

static void print_rows(struct wf_table *t, const struct wf_json *launches, size_t n)
{
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char value[MAX_LAUNCHES][40];
        const char *cell[WF_TABLE_COLUMNS];
        bool any = false;
        size_t prefix = strlen("counters.");
        bool counter = strncmp(rows[r].path, "counters.", prefix) == 0;
        cell[0] = rows[r].path + (counter ? prefix : 0);
        for (size_t i = 0; i < n; i++) {
            const struct wf_json *v = find_path(wf_json_at(launches, i), rows[r].path);
            any = any || v != NULL;
            format_value(v, value[i], sizeof(value[i]));
            cell[1 + i] = value[i];
        }
        cell[1 + n] = rows[r].unit;
        if (any) {
            wf_table_row(t, cell);
        }
    }
}

static void print_launches(const struct wf_json *launches)
{
    const char *header[WF_TABLE_COLUMNS];
    char name[MAX_LAUNCHES][72];
    size_t all = wf_json_count(launches);
    size_t n = all < MAX_LAUNCHES ? all : MAX_LAUNCHES;
    header[0] = "counter (model)";
    for (size_t i = 0; i < n; i++) {
        char kernel[64];
        format_value(wf_json_find(wf_json_at(launches, i), "kernel"), kernel,
                     sizeof(kernel));
        (void)snprintf(name[i], sizeof(name[i]), ">%s", kernel);
        header[1 + i] = name[i];
    }
    header[1 + n] = "unit";
    struct wf_table *t = wf_table_create(header, n + 2);
    if (t == NULL) {
        return;
    }
    print_rows(t, launches, n);
    (void)wf_table_print(t);
    wf_table_free(t);
    if (n < all) {
        printf("... and %zu launches more (--json has all)\n", all - n);
    }
}

static const char *text_at(const struct wf_json *result, const char *path)
{
    const struct wf_json *v = find_path(result, path);
    const char *text = v != NULL ? wf_json_string(v) : NULL;
    return text != NULL ? text : "";
}

void wf_print_counters(const struct wf_json *const *result, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct wf_json *launches =
            find_path(result[i], "details.emulation.launches");
        if (launches == NULL || wf_json_count(launches) == 0) {
            continue;
        }
        printf("\n%s  %s\n", text_at(result[i], "task.case_name"),
               text_at(result[i], "task.kernel"));
        print_launches(launches);
    }
}

static double number_at(const struct wf_json *result, const char *path)
{
    double v = (double)NAN;
    const struct wf_json *at = find_path(result, path);
    return at != NULL && wf_json_as_f64(at, &v) ? v : (double)NAN;
}

void wf_print_emulation_cost(const struct wf_json *const *result, size_t count)
{
    double checked_ns = 0;
    double plain_ns = 0;
    double all_ns = 0;
    char took[32];
    for (size_t i = 0; i < count; i++) {
        double one = number_at(result[i], "details.emulation.host_ns");
        double plain = number_at(result[i], "details.emulation.host_ns_plain");
        all_ns += isfinite(one) ? one : 0;
        if (isfinite(one) && isfinite(plain) && plain > 0) {
            checked_ns += one;
            plain_ns += plain;
        }
    }
    if (!(all_ns > 0)) {
        return;
    }
    wf_format_time_ns(all_ns, took, sizeof(took));
    printf("emulation: %s on this machine's processors", took);
    if (plain_ns > 0) {
        printf("; checks and counters cost %.2f times", checked_ns / plain_ns);
    }
    printf("\n");
}
