/* Who may make an object: a lock file per key, held with flock.
 *
 * The system drops the lock with its owner, however it ends, so there is nothing to
 * take over and no stale lock. The file is removed by its last holder; one that was
 * removed while it was being waited for is opened anew. */
#include "packs/kernel_cache_internal.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_NS ((int64_t)20000000)

struct wf_kernel_lock {
    char *path;
    int fd;
};

static bool still_there(const struct wf_kernel_lock *l)
{
    struct stat have, there;
    return fstat(l->fd, &have) == 0 && lstat(l->path, &there) == 0 &&
           have.st_ino == there.st_ino && have.st_dev == there.st_dev;
}

/* *ret_taken false: somebody else has it. */
static enum wf_status try_once(struct wf_kernel_lock *l,
                               bool *ret_taken,
                               struct wf_error *err)
{
    *ret_taken = false;
    if (l->fd < 0) {
        l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    }
    if (l->fd < 0) {
        return wf_error_errno(err, errno, "cannot open %s", l->path);
    }
    if (flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK || errno == EINTR
                   ? WF_OK
                   : wf_error_errno(err, errno, "cannot lock %s", l->path);
    }
    *ret_taken = still_there(l);
    if (!*ret_taken) {
        (void)close(l->fd);
        l->fd = -1;
    }
    return WF_OK;
}

static enum wf_status wait_for(struct wf_kernel_lock *l,
                               int64_t timeout_ms,
                               struct wf_error *err)
{
    const struct wf_clock *clock = wf_clock_system();
    int64_t start_ns = wf_monotonic_ns();
    for (;;) {
        bool taken = false;
        enum wf_status st = try_once(l, &taken, err);
        if (st != WF_OK || taken) {
            return st;
        }
        if (timeout_ms > 0 && wf_monotonic_ns() - start_ns > timeout_ms * 1000000) {
            return wf_errorf(err, WF_ETIMEOUT, "%s has been held for more than %lld ms",
                             l->path, (long long)timeout_ms);
        }
        if (l->fd >= 0) {
            clock->sleep_ns(clock->ctx, RETRY_NS);
        }
    }
}

static void lock_free(struct wf_kernel_lock *l)
{
    if (l->fd >= 0) {
        (void)close(l->fd);
    }
    free(l->path);
    free(l);
}

enum wf_status wf_kernel_cache_lock(struct wf_kernel_cache *cache,
                                    const char key[WF_SHA256_HEX],
                                    int64_t timeout_ms,
                                    struct wf_kernel_lock **ret,
                                    struct wf_error *err)
{
    struct wf_kernel_lock *l = wf_calloc(1, sizeof *l);
    if (l == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a lock");
    }
    l->fd = -1;
    l->path = wf_asprintf("%s/locks/%s", cache->folder, key);
    enum wf_status st = l->path == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                            : wait_for(l, timeout_ms, err);
    if (st != WF_OK) {
        lock_free(l);
        return st;
    }
    *ret = l;
    return WF_OK;
}

void wf_kernel_cache_unlock(struct wf_kernel_lock *lock)
{
    if (lock != NULL) {
        (void)unlink(lock->path); /* while it is held: nobody else's */
        lock_free(lock);
    }
}
