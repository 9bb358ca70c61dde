/* Reads /proc/cpuinfo, /proc/meminfo and the cache folders of sysfs. What cannot be
 * read is 0 or "unknown": none of it decides whether something works. */
#include "runner/host/host_machine.h"

#include "core/parse.h"

#include <stdio.h>
#include <string.h>

#define MAX_CACHE_INDEX 8

/* First line of `path` without its newline; false when there is none. */
static int first_line(const char *path, char *ret, size_t n)
{
    FILE *f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    char *line = fgets(ret, (int)n, f);
    (void)fclose(f);
    if (!line) {
        return 0;
    }
    ret[strcspn(ret, "\n")] = '\0';
    return 1;
}

void host_cpu_model(char *ret, size_t n)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    (void)snprintf(ret, n, "unknown processor");
    if (!f) {
        return;
    }
    while (fgets(line, sizeof(line), f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon += 1 + strspn(colon + 1, " \t");
            (void)snprintf(ret, n, "%.*s", (int)strcspn(colon, "\n"), colon);
            break;
        }
    }
    (void)fclose(f);
}

/* "307200K" as sysfs writes it. */
static uint64_t parse_cache_size(char *text)
{
    uint64_t value = 0;
    size_t digits = strspn(text, "0123456789");
    char unit = text[digits];
    text[digits] = '\0';
    if (wf_parse_u64(text, "cache size", 0, UINT32_MAX, &value, NULL) != WF_OK) {
        return 0;
    }
    return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

static uint64_t cache_at(int cpu, int index, int *ret_level)
{
    char path[128];
    char text[64];
    (void)snprintf(path, sizeof(path),
                   "/sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu, index);
    if (!first_line(path, text, sizeof(text)) || strcmp(text, "Instruction") == 0) {
        return 0;
    }
    (void)snprintf(path, sizeof(path),
                   "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, index);
    if (!first_line(path, text, sizeof(text)) || text[0] < '1' || text[0] > '9') {
        return 0;
    }
    *ret_level = text[0] - '0';
    (void)snprintf(path, sizeof(path),
                   "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index);
    return first_line(path, text, sizeof(text)) ? parse_cache_size(text) : 0;
}

uint64_t host_cache_bytes(int cpu, int level)
{
    for (int index = 0; index < MAX_CACHE_INDEX; index++) {
        int found = 0;
        uint64_t bytes = cache_at(cpu, index, &found);
        if (bytes && found == level) {
            return bytes;
        }
    }
    return 0;
}

uint64_t host_llc_bytes(int cpu)
{
    for (int level = 4; level > 0; level--) {
        uint64_t bytes = host_cache_bytes(cpu, level);
        if (bytes) {
            return bytes;
        }
    }
    return 0;
}

static uint64_t meminfo(const char *key)
{
    char line[128];
    uint64_t kib = 0;
    size_t n = strlen(key);
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f) {
        return 0;
    }
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, key, n) != 0 || line[n] != ':') {
            continue;
        }
        char *digits = line + n + 1 + strspn(line + n + 1, " \t");
        digits[strspn(digits, "0123456789")] = '\0';
        (void)wf_parse_u64(digits, key, 0, UINT64_MAX >> 10, &kib, NULL);
        break;
    }
    (void)fclose(f);
    return kib << 10;
}

uint64_t host_memory_total(void)
{
    return meminfo("MemTotal");
}

uint64_t host_memory_available(void)
{
    return meminfo("MemAvailable");
}
