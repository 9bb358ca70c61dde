/* Opening is the careful part: the folder is one where anybody may create files. An
 * existing file is opened for reading alone, which flock needs no more than (and which
 * fs.protected_regular allows for other people's files); a new one is made with O_EXCL;
 * links are never followed. After the lock is had, the name must still be that file:
 * somebody may have tidied the folder up meanwhile. */
#include "runner/device_lock.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define RETRY_NS    ((int64_t)20000000)
#define OPEN_TRIES  100
#define LOCKS_BYTES (4u << 20)

struct device_lock {
    int fd;
    int64_t waited_ns;
};

/* --- the name --- */

/* Letters, digits and '.' stay; runs of others become one '-'. */
static void add_plain(char *ret, size_t n, const char *text, size_t len)
{
    size_t used = strlen(ret);
    for (size_t i = 0; i < len && text[i] && used + 1 < n; i++) {
        const char c = text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '.';
        if (plain || ret[used - 1] != '-') {
            ret[used++] = plain ? c : '-';
            ret[used] = '\0';
        }
    }
}

static void add_machine(char *ret, size_t n)
{
    struct wf_buf text = WF_BUF_INIT;
    if (wf_file_read("/etc/machine-id", 64, &text, NULL) == WF_OK) {
        add_plain(ret, n, text.data, strcspn(text.data, "\n"));
    }
    wf_buf_free(&text);
}

void device_lock_name(const struct wf_device *device, char ret[DEVICE_LOCK_NAME])
{
    const size_t room = DEVICE_LOCK_NAME - sizeof(".lock");
    (void)snprintf(ret, DEVICE_LOCK_NAME, "wavefarm-");
    if (device->pci_bus_id[0]) {
        add_plain(ret, room, device->pci_bus_id, strcspn(device->pci_bus_id, "."));
    } else {
        add_plain(ret, room, device->runtime, SIZE_MAX);
        add_plain(ret, room, "-", 1);
        add_machine(ret, room);
        add_plain(ret, room, "-", 1);
        add_plain(ret, room, device->id, SIZE_MAX);
    }
    (void)snprintf(ret + strlen(ret), sizeof(".lock"), ".lock");
}

/* --- opening --- */

static int open_once(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)fchmod(fd, 0666); /* whatever the umask: all users share it */
    }
    return fd;
}

static enum wf_status open_file(const char *path, int *ret, struct wf_error *err)
{
    struct stat st;
    int fd = -1;
    for (int i = 0; i < OPEN_TRIES && fd < 0; i++) {
        fd = open_once(path);
        if (fd < 0 && errno != EEXIST && errno != ENOENT) {
            break;
        }
    }
    if (fd < 0) {
        return wf_error_errno(err, errno, "lock file %s", path);
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1) {
        (void)close(fd);
        return wf_errorf(err, WF_EREFUSED,
                         "%s is not a plain file of its own; remove it", path);
    }
    *ret = fd;
    return WF_OK;
}

/* Is the name still this file? */
static bool still_there(const char *path, int fd)
{
    struct stat have;
    struct stat there;
    return fstat(fd, &have) == 0 && lstat(path, &there) == 0 &&
           have.st_ino == there.st_ino && have.st_dev == there.st_dev;
}

/* --- who has it --- */

/* The process that holds the file's lock, from /proc/locks; 0 when it cannot be told.
 */
static int64_t holder(int fd)
{
    struct wf_buf text = WF_BUF_INIT;
    struct stat st;
    char file[64];
    int64_t pid = 0;
    if (fstat(fd, &st) != 0 ||
        wf_file_read("/proc/locks", LOCKS_BYTES, &text, NULL) != WF_OK) {
        return 0;
    }
    (void)snprintf(file, sizeof(file), " %02x:%02x:%" PRIu64 " ", major(st.st_dev),
                   minor(st.st_dev), (uint64_t)st.st_ino);
    const char *at = strstr(wf_buf_cstr(&text), file);
    const char *begin = at;
    while (begin && begin > text.data && begin[-1] != ' ') {
        begin--;
    }
    if (at) {
        char digits[16];
        (void)snprintf(digits, sizeof(digits), "%.*s", (int)(at - begin), begin);
        (void)wf_parse_i64(digits, "pid", 0, INT32_MAX, &pid, NULL);
    }
    wf_buf_free(&text);
    return pid;
}

static void say_whose(const struct wf_device *device, int fd, char *ret, size_t n)
{
    int64_t pid = holder(fd);
    if (pid > 0) {
        (void)snprintf(ret, n, "device %s is being measured by process %" PRId64,
                       device->id, pid);
    } else {
        (void)snprintf(ret, n, "device %s is being measured by another process",
                       device->id);
    }
}

/* --- taking --- */

static enum wf_status wait_for(const struct wf_device *device,
                               const char *path,
                               const struct device_lock_options *o,
                               struct device_lock *lock,
                               struct wf_error *err)
{
    char whose[200];
    bool said = false;
    const struct wf_clock *clock = wf_clock_system();
    int64_t start_ns = wf_monotonic_ns();
    for (;;) {
        enum wf_status st = WF_OK;
        if (lock->fd < 0) {
            st = open_file(path, &lock->fd, err);
        }
        if (st != WF_OK) {
            return st;
        }
        lock->waited_ns = wf_monotonic_ns() - start_ns;
        if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0) {
            if (still_there(path, lock->fd)) {
                return WF_OK;
            }
            (void)close(lock->fd);
            lock->fd = -1;
            continue;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return wf_error_errno(err, errno, "flock %s", path);
        }
        if (!said || lock->waited_ns >= o->timeout_ns) {
            say_whose(device, lock->fd, whose, sizeof(whose));
        }
        if (lock->waited_ns >= o->timeout_ns) {
            return wf_errorf(err, WF_ETIMEOUT,
                             "%s; waited %.1f s: try again later, or wait longer with "
                             "--lock-timeout",
                             whose, (double)lock->waited_ns / 1e9);
        }
        if (!said && o->wait) {
            o->wait(o->ctx, whose);
        }
        said = true;
        clock->sleep_ns(clock->ctx, RETRY_NS);
    }
}

/* The first folder in which the file can be had. */
static enum wf_status find_folder(const char *asked,
                                  const char *name,
                                  char **ret_path,
                                  int *ret_fd,
                                  struct wf_error *err)
{
    const char *const both[] = { "/run/lock", "/tmp" };
    const char *const one[] = { asked };
    const char *const *folder = asked ? one : both;
    size_t count = asked ? 1 : 2;
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < count; i++) {
        char *path = wf_asprintf("%s/%s", folder[i], name);
        if (path == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for a path");
        }
        st = open_file(path, ret_fd, err);
        if (st == WF_OK) {
            *ret_path = path;
            return WF_OK;
        }
        free(path);
    }
    struct wf_error why = *err;
    return wf_errorf(err, WF_EIO,
                     "no lock that keeps measurements on a device apart: %s (a folder "
                     "that all its users can write: WAVEFARM_LOCK_DIR)",
                     why.text);
}

enum wf_status device_lock_take(const struct wf_device *device,
                                const struct device_lock_options *options,
                                struct device_lock **ret,
                                struct wf_error *err)
{
    char name[DEVICE_LOCK_NAME];
    char *path = NULL;
    struct wf_error ignored = { 0 };
    const char *folder =
        options->folder ? options->folder : getenv("WAVEFARM_LOCK_DIR");
    struct device_lock *lock = wf_calloc(1, sizeof(*lock));
    err = err ? err : &ignored;
    if (lock == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a lock");
    }
    lock->fd = -1;
    device_lock_name(device, name);
    enum wf_status st =
        find_folder(folder && folder[0] ? folder : NULL, name, &path, &lock->fd, err);
    if (st == WF_OK) {
        st = wait_for(device, path, options, lock, err);
    }
    free(path);
    if (st != WF_OK) {
        device_lock_free(lock);
        return st;
    }
    *ret = lock;
    return WF_OK;
}

int64_t device_lock_waited_ns(const struct device_lock *lock)
{
    return lock ? lock->waited_ns : 0;
}

void device_lock_free(struct device_lock *lock)
{
    if (lock != NULL) {
        if (lock->fd >= 0) {
            (void)close(lock->fd);
        }
        free(lock);
    }
}
