/* hwmon (Documentation/gpu/amdgpu/thermal.rst of the kernel): power1_average or
 * power1_input in uW, freq1_input (sclk) and freq2_input (mclk) in Hz, temp1_input in
 * thousandths of a degree. The child answers each byte it gets with one wf_sp_power. */
#include "runner/amd_power.h"

#include "core/buf.h"
#include "core/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct amd_power {
    pid_t child; /* 0: none, or given up */
    int fd;
    int timeout_ms;
};

static void unknown(struct wf_sp_power *ret)
{
    *ret =
        (struct wf_sp_power){ (double)NAN, (double)NAN, (double)NAN, (double)NAN, 0 };
}

/* The number in folder/name times `unit`, NaN where there is none. */
static double read_number(const char *folder, const char *name, double unit)
{
    char path[512];
    char text[32];
    int64_t value = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (n <= 0) {
        return (double)NAN;
    }
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    enum wf_status st = wf_parse_i64(text, name, 0, INT64_MAX, &value, NULL);
    return st == WF_OK ? (double)value * unit : (double)NAN;
}

static void read_all(const char *folder, struct wf_sp_power *ret)
{
    unknown(ret);
    ret->clock_mhz = read_number(folder, "freq1_input", 1e-6);
    ret->memory_clock_mhz = read_number(folder, "freq2_input", 1e-6);
    ret->temperature_c = read_number(folder, "temp1_input", 1e-3);
    ret->power_w = read_number(folder, "power1_average", 1e-6);
    if (isnan(ret->power_w)) {
        ret->power_w = read_number(folder, "power1_input", 1e-6);
    }
}

/* Never returns. */
static void serve(int fd, const char *folder, pid_t parent)
{
    char byte;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent && read(fd, &byte, 1) == 1) {
        struct wf_sp_power power;
        read_all(folder, &power);
        if (write(fd, &power, sizeof(power)) != (ssize_t)sizeof(power)) {
            break;
        }
    }
    _exit(0);
}

/* <root>/bus/pci/devices/<id>/hwmon/hwmon<n>; caller frees. */
static enum wf_status find_hwmon(const char *root,
                                 const char *pci_bus_id,
                                 char **ret,
                                 struct wf_error *err)
{
    char *parent = wf_asprintf("%s/bus/pci/devices/%s/hwmon", root, pci_bus_id);
    if (parent == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    *ret = NULL;
    DIR *dir = opendir(parent);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !*ret; e = readdir(dir)) {
        if (strncmp(e->d_name, "hwmon", 5) == 0) {
            *ret = wf_asprintf("%s/%s", parent, e->d_name);
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    enum wf_status st = *ret
                            ? WF_OK
                            : wf_errorf(err, WF_ENOTFOUND,
                                        "%s: no hwmon folder: clocks and power of this "
                                        "device are unknown",
                                        parent);
    free(parent);
    return st;
}

static enum wf_status start_child(struct amd_power *p,
                                  const char *folder,
                                  struct wf_error *err)
{
    int pair[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return wf_error_errno(err, errno, "power helper: socketpair");
    }
    p->child = fork();
    if (p->child == 0) {
        (void)close(pair[0]);
        serve(pair[1], folder, parent);
    }
    (void)close(pair[1]);
    p->fd = pair[0];
    if (p->child < 0) {
        p->child = 0;
        return wf_error_errno(err, errno, "power helper: fork");
    }
    return WF_OK;
}

enum wf_status amd_power_start(const char *root,
                               const char *pci_bus_id,
                               int timeout_ms,
                               struct amd_power **ret,
                               struct wf_error *err)
{
    char *folder = NULL;
    enum wf_status st = find_hwmon(root, pci_bus_id, &folder, err);
    if (st != WF_OK) {
        return st;
    }
    struct amd_power *p = wf_calloc(1, sizeof(*p));
    if (p == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for the power helper");
    } else {
        p->fd = -1;
        p->timeout_ms = timeout_ms;
        st = start_child(p, folder, err);
    }
    free(folder);
    if (st != WF_OK) {
        amd_power_stop(p);
        return st;
    }
    *ret = p;
    return WF_OK;
}

/* Kills without waiting for one that cannot die. */
static void give_up(struct amd_power *p)
{
    if (p->child > 0) {
        (void)kill(p->child, SIGKILL);
        for (int i = 0; i < 50 && waitpid(p->child, NULL, WNOHANG) == 0; i++) {
            (void)poll(NULL, 0, 2);
        }
        p->child = 0;
    }
}

void amd_power_read(struct amd_power *p, struct wf_sp_power *ret)
{
    unknown(ret);
    if (p == NULL || p->child == 0) {
        return;
    }
    struct wf_sp_power power;
    struct pollfd wait = { p->fd, POLLIN, 0 };
    bool good = send(p->fd, "r", 1, MSG_NOSIGNAL) == 1 &&
                poll(&wait, 1, p->timeout_ms) == 1 &&
                recv(p->fd, &power, sizeof(power), 0) == (ssize_t)sizeof(power);
    if (good) {
        *ret = power;
    } else {
        give_up(p);
    }
}

void amd_power_stop(struct amd_power *p)
{
    if (p != NULL) {
        give_up(p);
        if (p->fd >= 0) {
            (void)close(p->fd);
        }
        free(p);
    }
}
