/* The "environment" member of a result: the machine, for people and for provenance. */
#include "runner/result.h"

#include "core/file.h"
#include "core/version.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Value of `key` in a file of lines "key<separator>value", quotes taken off. */
static void file_value(const char *path,
                       const char *key,
                       char separator,
                       char *ret,
                       size_t n)
{
    struct wf_buf text = WF_BUF_INIT;
    size_t key_len = strlen(key);
    ret[0] = '\0';
    if (wf_file_read(path, 1 << 20, &text, NULL) != WF_OK) {
        return;
    }
    for (const char *line = text.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + key_len;
        if (strncmp(line, key, key_len) != 0) {
            continue;
        }
        at += strspn(at, " \t");
        if (*at == separator) {
            at += 1 + strspn(at + 1, " \t\"");
            (void)snprintf(ret, n, "%.*s", (int)strcspn(at, "\"\n"), at);
            break;
        }
    }
    wf_buf_free(&text);
}

enum wf_status result_environment_to_json(const struct wf_device *device,
                                          const struct wf_json *placement,
                                          struct wf_json **ret,
                                          struct wf_error *err)
{
    struct utsname name;
    char os[128];
    char cpu[128];
    struct wf_json *obj = wf_json_object();
    memset(&name, 0, sizeof(name));
    (void)uname(&name);
    file_value("/etc/os-release", "PRETTY_NAME", '=', os, sizeof(os));
    file_value("/proc/cpuinfo", "model name", ':', cpu, sizeof(cpu));
    enum wf_status st = wf_json_set_string(obj, "host", name.nodename, err);
    st = st == WF_OK ? wf_json_set_string(obj, "os", os, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "kernel", name.release, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "cpu", cpu, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "driver", device->driver, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "wavefarm", wf_version, err) : st;
    st = st == WF_OK && placement ? wf_json_set_copy(obj, "placement", placement, err)
                                  : st;
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}
