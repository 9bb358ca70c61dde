/* Spool files are named "<20-digit sequence>.json", so that sorting by name is sorting
 * by age. The list in memory mirrors the folder; the folder is the truth. */
#include "runner/spool.h"

#include "core/file.h"
#include "core/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SPOOL_MAX_ENTRY_BYTES (64u * 1024 * 1024)

struct wf_spool {
    char *folder;
    int lock_fd;
    pthread_mutex_t mutex; /* guards what follows */
    uint64_t *entry;       /* sequence numbers, ascending */
    size_t count, cap;
    uint64_t next;
};

static bool entry_name(const char *name, uint64_t *ret)
{
    char digits[21];
    if (strlen(name) != 25 || strcmp(name + 20, ".json") != 0) {
        return false;
    }
    memcpy(digits, name, 20);
    digits[20] = '\0';
    return strspn(digits, "0123456789") == 20 &&
           wf_parse_u64(digits, "spool entry", 0, UINT64_MAX, ret, NULL) == WF_OK;
}

static enum wf_status append(struct wf_spool *s, uint64_t seq, struct wf_error *err)
{
    if (s->count == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        uint64_t *p = wf_realloc_array(s->entry, cap, sizeof(*p));
        if (p == NULL) {
            return wf_errorf(err, WF_ENOMEM, "spool: no memory for %zu entries", cap);
        }
        s->entry = p;
        s->cap = cap;
    }
    s->entry[s->count++] = seq;
    return WF_OK;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static enum wf_status scan(struct wf_spool *s, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    DIR *dir = opendir(s->folder);
    if (dir == NULL) {
        return wf_error_errno(err, errno, "spool %s", s->folder);
    }
    for (struct dirent *e = readdir(dir); e != NULL && status == WF_OK;
         e = readdir(dir)) {
        uint64_t seq = 0;
        if (entry_name(e->d_name, &seq)) {
            status = append(s, seq, err);
        }
    }
    closedir(dir);
    if (s->count > 0) {
        qsort(s->entry, s->count, sizeof(*s->entry), compare_u64);
        s->next = s->entry[s->count - 1] + 1;
    }
    return status;
}

static enum wf_status lock_folder(struct wf_spool *s, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *path = wf_path_join(s->folder, "lock");
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "spool: no memory");
    }
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0) {
        status = wf_error_errno(err, errno, "spool lock %s", path);
    } else if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        status = wf_errorf(err, WF_ECONFLICT,
                           "spool %s is used by another worker; give each worker its "
                           "own --spool",
                           s->folder);
    }
    free(path);
    return status;
}

enum wf_status wf_spool_open(const char *folder,
                             struct wf_spool **ret,
                             struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *rejected = wf_path_join(folder, "rejected");
    struct wf_spool *s = wf_calloc(1, sizeof(*s));
    if (s == NULL || rejected == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "spool: no memory");
        goto out;
    }
    s->lock_fd = -1;
    s->next = 1;
    pthread_mutex_init(&s->mutex, NULL);
    s->folder = wf_strdup(folder);
    if (s->folder == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "spool: no memory");
        goto out;
    }
    status = wf_mkdir_parents(rejected, err);
    if (status != WF_OK) {
        goto out;
    }
    status = lock_folder(s, err);
    if (status != WF_OK) {
        goto out;
    }
    status = scan(s, err);
out:
    free(rejected);
    if (status != WF_OK) {
        wf_spool_close(s);
        return status;
    }
    *ret = s;
    return WF_OK;
}

void wf_spool_close(struct wf_spool *s)
{
    if (s == NULL) {
        return;
    }
    if (s->lock_fd >= 0) {
        close(s->lock_fd);
    }
    pthread_mutex_destroy(&s->mutex);
    free(s->entry);
    free(s->folder);
    free(s);
}

static char *entry_path(const struct wf_spool *s, const char *name)
{
    return wf_path_join(s->folder, name);
}

enum wf_status wf_spool_put(struct wf_spool *s,
                            const char *text,
                            size_t len,
                            char ret_name[WF_SPOOL_NAME],
                            struct wf_error *err)
{
    char name[WF_SPOOL_NAME];
    pthread_mutex_lock(&s->mutex);
    uint64_t seq = s->next++;
    pthread_mutex_unlock(&s->mutex);
    snprintf(name, sizeof(name), "%020" PRIu64 ".json", seq);
    char *path = entry_path(s, name);
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "spool: no memory");
    }
    enum wf_status status = wf_file_write_atomic(path, text, len, err);
    if (status == WF_OK) {
        pthread_mutex_lock(&s->mutex);
        status = append(s, seq, err);
        /* Two devices may finish out of order. */
        qsort(s->entry, s->count, sizeof(*s->entry), compare_u64);
        pthread_mutex_unlock(&s->mutex);
    } else {
        wf_error_prefix(err, "spool");
    }
    free(path);
    if (status == WF_OK) {
        memcpy(ret_name, name, sizeof(name));
    }
    return status;
}

size_t wf_spool_count(struct wf_spool *s)
{
    pthread_mutex_lock(&s->mutex);
    size_t n = s->count;
    pthread_mutex_unlock(&s->mutex);
    return n;
}

void wf_spool_oldest(struct wf_spool *s,
                     char (*ret_names)[WF_SPOOL_NAME],
                     size_t max,
                     size_t *ret_count)
{
    pthread_mutex_lock(&s->mutex);
    size_t n = s->count < max ? s->count : max;
    for (size_t i = 0; i < n; i++) {
        snprintf(ret_names[i], WF_SPOOL_NAME, "%020" PRIu64 ".json", s->entry[i]);
    }
    pthread_mutex_unlock(&s->mutex);
    *ret_count = n;
}

enum wf_status wf_spool_read(struct wf_spool *s,
                             const char *name,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    char *path = entry_path(s, name);
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "spool: no memory");
    }
    enum wf_status status = wf_file_read(path, SPOOL_MAX_ENTRY_BYTES, out, err);
    free(path);
    return status;
}

static void forget(struct wf_spool *s, const char *name)
{
    uint64_t seq = 0;
    if (!entry_name(name, &seq)) {
        return;
    }
    pthread_mutex_lock(&s->mutex);
    uint64_t *e = bsearch(&seq, s->entry, s->count, sizeof(*e), compare_u64);
    if (e != NULL) {
        size_t after = s->count - 1 - (size_t)(e - s->entry);
        memmove(e, e + 1, after * sizeof(*e));
        s->count--;
    }
    pthread_mutex_unlock(&s->mutex);
}

enum wf_status wf_spool_done(struct wf_spool *s, const char *name, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *path = entry_path(s, name);
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "spool: no memory");
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        status = wf_error_errno(err, errno, "spool: cannot remove %s", path);
    }
    free(path);
    forget(s, name);
    return status;
}

enum wf_status wf_spool_reject(struct wf_spool *s,
                               const char *name,
                               const char *why,
                               struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *from = entry_path(s, name);
    char *to = wf_asprintf("%s/rejected/%s", s->folder, name);
    char *note = wf_asprintf("%s/rejected/%s.why", s->folder, name);
    if (from == NULL || to == NULL || note == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "spool: no memory");
    } else if (rename(from, to) != 0) {
        status = wf_error_errno(err, errno, "spool: cannot move %s aside", from);
    } else {
        /* The entry is safe by now; the note is a convenience. */
        (void)wf_file_write_atomic(note, why, strlen(why), NULL);
    }
    free(note);
    free(to);
    free(from);
    forget(s, name);
    return status;
}
