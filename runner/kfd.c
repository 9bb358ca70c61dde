/* Reads /sys/class/kfd/kfd/topology/nodes and /sys/class/drm/renderD*.
 *
 * Nodes without compute units are processors and are left out. Numbers that a driver
 * does not tell are 0. Partition modes: only the first partition of a card has files
 * that say something; the others inherit, and never count as SPX. */
#include "runner/kfd.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES      256
#define MAX_FILE_BYTES 65536u

static enum wf_status read_text(const char *path, struct wf_buf *out)
{
    wf_buf_clear(out);
    return wf_file_read(path, MAX_FILE_BYTES, out, NULL);
}

/* Value of "key 123\n" in a properties file, 0 when it is not there. */
static uint64_t property(const struct wf_buf *text, const char *key)
{
    char digits[24] = "";
    uint64_t value = 0;
    size_t n = strlen(key);
    for (const char *line = wf_buf_cstr(text); line && *line;) {
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            size_t len = strspn(line + n + 1, "0123456789");
            if (len > 0 && len < sizeof(digits)) {
                memcpy(digits, line + n + 1, len);
                digits[len] = '\0';
                (void)wf_parse_u64(digits, key, 0, UINT64_MAX, &value, NULL);
            }
            break;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return value;
}

/* Largest cache of a level among the node's caches. */
static uint64_t cache_bytes(const char *node_path, unsigned level)
{
    char path[512];
    struct wf_buf text = WF_BUF_INIT;
    uint64_t best = 0;
    for (int i = 0;; i++) {
        (void)snprintf(path, sizeof(path), "%s/caches/%d/properties", node_path, i);
        if (read_text(path, &text) != WF_OK) {
            break;
        }
        uint64_t bytes = property(&text, "size") << 10;
        if (property(&text, "level") == level && bytes > best) {
            best = bytes;
        }
    }
    wf_buf_free(&text);
    return best;
}

/* False: this is not a GPU. */
static int read_node(const char *node_path, struct kfd_node *ret)
{
    char path[512];
    struct wf_buf text = WF_BUF_INIT;
    (void)snprintf(path, sizeof(path), "%s/properties", node_path);
    int is_gpu = read_text(path, &text) == WF_OK && property(&text, "simd_count") > 0;
    if (is_gpu) {
        uint64_t location = property(&text, "location_id");
        uint64_t simd_per_cu = property(&text, "simd_per_cu");
        memset(ret, 0, sizeof(*ret));
        ret->domain = (unsigned)property(&text, "domain");
        ret->bus = (unsigned)(location >> 8 & 0xff);
        ret->device = (unsigned)(location >> 3 & 0x1f);
        ret->function = (unsigned)(location & 7);
        ret->device_id = (unsigned)property(&text, "device_id");
        ret->render_minor = (int)property(&text, "drm_render_minor");
        ret->xcc_count = (int)property(&text, "num_xcc");
        ret->cu_count =
            simd_per_cu ? (int)(property(&text, "simd_count") / simd_per_cu) : 0;
        ret->l2_bytes = cache_bytes(node_path, 2);
        ret->llc_bytes = cache_bytes(node_path, 3);
    }
    wf_buf_free(&text);
    return is_gpu;
}

/* "SPX" from a partition file; "" when it is absent or says N/A. */
static void read_mode(const char *root,
                      int minor,
                      const char *file,
                      char *ret,
                      size_t n)
{
    char path[512];
    struct wf_buf text = WF_BUF_INIT;
    ret[0] = '\0';
    (void)snprintf(path, sizeof(path), "%s/class/drm/renderD%d/device/%s", root, minor,
                   file);
    if (read_text(path, &text) == WF_OK) {
        const char *value = wf_buf_cstr(&text);
        size_t len = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        if (len > 0 && strncmp(value, "N/A", 3) != 0) {
            (void)snprintf(ret, n, "%.*s", (int)len, value);
        }
    }
    wf_buf_free(&text);
}

static int same_card(const struct kfd_node *a, const struct kfd_node *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

static void read_partitions(const char *root, struct kfd_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char compute[8];
        char memory[8];
        read_mode(root, nodes[i].render_minor, "current_compute_partition", compute,
                  sizeof(compute));
        read_mode(root, nodes[i].render_minor, "current_memory_partition", memory,
                  sizeof(memory));
        if (compute[0]) {
            (void)snprintf(nodes[i].partition, sizeof(nodes[i].partition), "%s%s%s",
                           compute, memory[0] ? "/" : "", memory);
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && !nodes[i].partition[0]; k++) {
            if (nodes[k].partition[0] && same_card(&nodes[i], &nodes[k])) {
                memcpy(nodes[i].partition, nodes[k].partition,
                       sizeof(nodes[i].partition));
            }
        }
    }
}

enum wf_status kfd_read(const char *root,
                        struct kfd_node **ret,
                        size_t *ret_count,
                        struct wf_error *err)
{
    char path[384];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "%s/class/kfd/kfd/topology/nodes", root);
    if (!wf_file_exists(path)) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "%s is missing: the amdgpu kernel driver is not loaded", path);
    }
    struct kfd_node *nodes = wf_calloc(MAX_NODES, sizeof(*nodes));
    if (!nodes) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the topology");
    }
    for (int i = 0; i < MAX_NODES; i++) {
        (void)snprintf(path, sizeof(path), "%s/class/kfd/kfd/topology/nodes/%d", root,
                       i);
        if (!wf_file_exists(path)) {
            break;
        }
        count += (size_t)read_node(path, &nodes[count]);
    }
    read_partitions(root, nodes, count);
    *ret = nodes;
    *ret_count = count;
    return WF_OK;
}

const struct kfd_node *kfd_find(const struct kfd_node *nodes,
                                size_t count,
                                const char *pci_bus_id,
                                size_t nth)
{
    char address[32];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(address, sizeof(address), "%04x:%02x:%02x.", nodes[i].domain,
                       nodes[i].bus, nodes[i].device);
        if (strncasecmp(address, pci_bus_id, strlen(address)) == 0 && nth-- == 0) {
            return &nodes[i];
        }
    }
    return NULL;
}
