/* amdgpu's sysfs: gpu_metrics first, what it does not say from hwmon
 * (Documentation/gpu/amdgpu/thermal.rst of the kernel: power1_average or power1_input
 * in uW, freq1_input (sclk) and freq2_input (mclk) in Hz, temp1_input in thousandths of
 * a degree), memory errors from ras/<block>_err_count (lines "ue: N" and "ce: N"). */
#include "runner/telemetry_source.h"

#include "core/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Whole small file; -1 when it cannot be read. */
static ssize_t read_small(const char *folder, const char *name, void *ret, size_t n)
{
    char path[900];
    size_t used = 0;
    ssize_t got = 1;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    while (got > 0 && used < n) {
        got = read(fd, (char *)ret + used, n - used);
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    return got < 0 ? -1 : (ssize_t)used;
}

/* The number in folder/name times `unit`, NaN where there is none. */
static double read_number(const char *folder, const char *name, double unit)
{
    char text[32];
    int64_t value = 0;
    ssize_t n = read_small(folder, name, text, sizeof(text) - 1);
    if (n <= 0) {
        return (double)NAN;
    }
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    enum wf_status st = wf_parse_i64(text, name, 0, INT64_MAX, &value, NULL);
    return st == WF_OK ? (double)value * unit : (double)NAN;
}

static bool read_metrics(const struct telemetry_source *s,
                         struct gpu_metrics *ret,
                         struct wf_error *err)
{
    unsigned char bytes[GPU_METRICS_MAX_BYTES];
    ssize_t n = read_small(s->folder, "gpu_metrics", bytes, sizeof(bytes));
    if (n < 0) {
        (void)wf_errorf(err, WF_ENOTFOUND, "no gpu_metrics");
        return false;
    }
    return gpu_metrics_parse(bytes, (size_t)n, ret, err) == WF_OK;
}

static void find_hwmon(struct telemetry_source *s)
{
    char parent[540];
    (void)snprintf(parent, sizeof(parent), "%s/hwmon", s->folder);
    DIR *dir = opendir(parent);
    struct dirent *e = dir ? readdir(dir) : NULL;
    for (; e && !s->hwmon[0]; e = readdir(dir)) {
        if (strncmp(e->d_name, "hwmon", 5) == 0 && strlen(e->d_name) < 32) {
            (void)snprintf(s->hwmon, sizeof(s->hwmon), "%s/%.32s", parent, e->d_name);
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
}

bool telemetry_sysfs_open(struct telemetry_source *s,
                          const struct telemetry_options *options,
                          char *text)
{
    struct gpu_metrics m;
    struct wf_error err = { 0 };
    (void)snprintf(s->folder, sizeof(s->folder), "%s/bus/pci/devices/%s",
                   options->sysfs, options->pci_bus_id);
    find_hwmon(s);
    s->has_metrics = read_metrics(s, &m, &err);
    if (s->has_metrics) {
        (void)snprintf(text, TELEMETRY_TEXT, "gpu_metrics 1.%u%s", m.content,
                       s->hwmon[0] ? " and hwmon" : "");
    } else if (s->hwmon[0]) {
        (void)snprintf(text, TELEMETRY_TEXT, "hwmon alone (%.100s)", err.text);
    } else {
        (void)snprintf(text, TELEMETRY_TEXT,
                       "neither gpu_metrics nor hwmon of %.20s can be read",
                       options->pci_bus_id);
    }
    return s->has_metrics || s->hwmon[0];
}

static void take_metrics(struct telemetry_source *s, struct telemetry_reading *ret)
{
    struct gpu_metrics m;
    if (!s->has_metrics || !read_metrics(s, &m, NULL)) {
        s->has_before = false;
        return;
    }
    ret->clock_mhz = m.gfx_clock_mhz;
    ret->memory_clock_mhz = m.memory_clock_mhz;
    ret->power_w = m.power_w;
    ret->temperature_c = m.hotspot_c;
    ret->reasons = m.reasons;
    if (m.has_residency && s->has_before) {
        ret->reasons |= gpu_metrics_throttled(&s->before, &m.residency);
    }
    s->has_before = m.has_residency;
    s->before = m.residency;
}

static void fill_unknown(double *figure,
                         const char *folder,
                         const char *name,
                         double unit)
{
    if (isnan(*figure) && folder[0]) {
        *figure = read_number(folder, name, unit);
    }
}

void telemetry_sysfs_read(struct telemetry_source *s, struct telemetry_reading *ret)
{
    take_metrics(s, ret);
    fill_unknown(&ret->clock_mhz, s->hwmon, "freq1_input", 1e-6);
    fill_unknown(&ret->memory_clock_mhz, s->hwmon, "freq2_input", 1e-6);
    fill_unknown(&ret->temperature_c, s->hwmon, "temp1_input", 1e-3);
    fill_unknown(&ret->power_w, s->hwmon, "power1_average", 1e-6);
    fill_unknown(&ret->power_w, s->hwmon, "power1_input", 1e-6);
}

/* The number behind "ue:" or "ce:"; false when the text has no such line. */
static bool counted(const char *text, const char *key, uint64_t *sum)
{
    char digits[24];
    uint64_t value = 0;
    const char *at = strstr(text, key);
    if (at == NULL) {
        return false;
    }
    at += strlen(key);
    at += strspn(at, " \t");
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(at, " \t\n"), at);
    if (wf_parse_u64(digits, key, 0, UINT64_MAX, &value, NULL) != WF_OK) {
        return false;
    }
    *sum += value;
    return true;
}

void telemetry_sysfs_errors(struct telemetry_source *s, struct telemetry_errors *ret)
{
    static const char suffix[] = "_err_count";
    char folder[540];
    *ret = (struct telemetry_errors){ 0 };
    (void)snprintf(folder, sizeof(folder), "%s/ras", s->folder);
    DIR *dir = opendir(folder);
    struct dirent *e = dir ? readdir(dir) : NULL;
    for (; e; e = readdir(dir)) {
        char text[256];
        size_t len = strlen(e->d_name);
        if (len < sizeof(suffix) ||
            strcmp(e->d_name + len - (sizeof(suffix) - 1), suffix) != 0) {
            continue;
        }
        ssize_t n = read_small(folder, e->d_name, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        bool any = counted(text, "ue:", &ret->uncorrectable);
        any = counted(text, "ce:", &ret->corrected) || any;
        ret->known = ret->known || any;
    }
    if (dir) {
        (void)closedir(dir);
    }
}
