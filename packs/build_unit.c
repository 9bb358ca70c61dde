/* One compilation: preprocess, ask the cache, else compile and give it to the cache.
 *
 * The cache is a help, never a condition: whatever is wrong with it, the unit is
 * compiled. An object is stored only when preprocessing again after the compilation
 * gives the same text, so that a source that was edited meanwhile cannot be stored
 * under the key of the old one. */
#include "packs/build_internal.h"

#include "core/clock.h"
#include "core/file.h"
#include "packs/command.h"
#include "packs/kernel_cache_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_TEXT_BYTES   ((size_t)256 << 20)
#define MAX_OBJECT_BYTES ((size_t)1 << 30)

struct unit_run {
    const struct build *b;
    struct build_unit *u;
    char *object, *text_path; /* files */
    struct wf_buf text;       /* preprocessed */
    char key[WF_SHA256_HEX];
};

static enum wf_status no_memory(struct unit_run *r)
{
    return wf_errorf(&r->u->error, WF_ENOMEM, "%s: no memory", r->u->entry);
}

/* --- running the compiler --- */

static enum wf_status failed(struct unit_run *r,
                             const struct build_words *w,
                             int code,
                             const struct wf_buf *output)
{
    struct build_unit *u = r->u;
    (void)command_text((const char *const *)w->word, &u->output, NULL);
    (void)wf_buf_printf(
        &u->output, NULL, "\n%s%s", wf_buf_cstr(output),
        output->len > 0 && output->data[output->len - 1] == '\n' ? "" : "\n");
    return wf_errorf(&u->error, WF_EINVAL,
                     "%s: kernel %s does not compile for %s (the compiler ended with "
                     "%d)",
                     u->entry, u->kernel, r->b->o->arch, code);
}

/* The words are taken. What the compiler says on success is kept when `tell`. */
static enum wf_status run(struct unit_run *r, struct build_words *w, bool tell)
{
    struct wf_buf output = WF_BUF_INIT;
    int code = 0;
    enum wf_status st =
        w->failed ? no_memory(r)
                  : compiler_run(r->u->compiler->path, (const char *const *)w->word,
                                 r->b->o->root, r->b->o->timeout_ms, &output, &code,
                                 &r->u->error);
    if (st != WF_OK && !w->failed) {
        (void)wf_error_prefix(&r->u->error, "%s: kernel %s", r->u->entry, r->u->kernel);
    } else if (st == WF_OK && code != 0) {
        st = failed(r, w, code, &output);
    } else if (st == WF_OK && tell && output.len > 0) {
        (void)wf_buf_add(&r->u->output, output.data, output.len, NULL);
    }
    wf_buf_free(&output);
    build_words_fini(w);
    return st;
}

/* Words that say how far the compiler goes; -E is as far as preprocessing. */
static bool is_stage(const char *flag)
{
    return strcmp(flag, "-c") == 0 || strcmp(flag, "-S") == 0 ||
           strcmp(flag, "-cubin") == 0;
}

static enum wf_status preprocess(struct unit_run *r, struct wf_buf *text)
{
    struct build_words w = { .count = 0 };
    const struct build_unit *u = r->u;
    build_word(&w, u->compiler->name);
    for (size_t i = 0; i < u->flags.count; i++) {
        if (!is_stage(u->flags.word[i])) {
            build_word(&w, u->flags.word[i]);
        }
    }
    build_word(&w, "-E");
    if (strcmp(r->b->o->format, "cubin") == 0) {
        build_word(&w, "-Xcompiler");
    }
    build_word(&w, "-dD");
    build_word(&w, u->source);
    build_word(&w, "-o");
    build_word(&w, r->text_path);
    enum wf_status st = run(r, &w, false);
    st = st != WF_OK ? st
                     : wf_file_read(r->text_path, MAX_TEXT_BYTES, text, &r->u->error);
    (void)unlink(r->text_path);
    return st;
}

static enum wf_status compile(struct unit_run *r)
{
    struct build_words w = { .count = 0 };
    struct build_unit *u = r->u;
    int64_t start_ns = wf_monotonic_ns();
    build_word(&w, u->compiler->name);
    for (size_t i = 0; i < u->flags.count; i++) {
        build_word(&w, u->flags.word[i]);
    }
    build_word(&w, u->source);
    build_word(&w, "-o");
    build_word(&w, r->object);
    enum wf_status st = run(r, &w, true);
    u->compile_ns = wf_monotonic_ns() - start_ns;
    return st;
}

/* --- the cache --- */

/* True: the object is in its place. */
static bool from_cache(struct unit_run *r)
{
    struct wf_buf object = WF_BUF_INIT;
    struct wf_error err;
    bool found = false;
    enum wf_status st =
        wf_kernel_cache_get(r->b->o->cache, r->key, &object, &found, &err);
    if (st != WF_OK) {
        r->u->cache_error = err;
    } else if (found) {
        const void *const part[2] = { wf_buf_cstr(&object), "" };
        const size_t bytes[2] = { object.len, 0 };
        found = kernel_cache_write(r->object, part, bytes, NULL) == WF_OK;
    }
    wf_buf_free(&object);
    r->u->from_cache = st == WF_OK && found;
    return r->u->from_cache;
}

static void to_cache(struct unit_run *r)
{
    struct wf_buf text = WF_BUF_INIT, object = WF_BUF_INIT;
    struct wf_error err = { .status = WF_OK };
    size_t said = r->u->output.len;
    bool same = preprocess(r, &text) == WF_OK && text.len == r->text.len &&
                memcmp(wf_buf_cstr(&text), wf_buf_cstr(&r->text), text.len) == 0;
    r->u->output.len = said; /* a source that is broken by now is the next build's */
    if (same && (wf_file_read(r->object, MAX_OBJECT_BYTES, &object, &err) != WF_OK ||
                 wf_kernel_cache_put(r->b->o->cache, r->key, object.data, object.len,
                                     &err) != WF_OK)) {
        r->u->cache_error = err;
    }
    wf_buf_free(&object);
    wf_buf_free(&text);
}

/* A lock that cannot be had (a folder that is read-only, an owner that is stopped)
 * means at worst that somebody else compiles the same. */
static enum wf_status compile_once(struct unit_run *r)
{
    struct wf_kernel_lock *lock = NULL;
    struct wf_error err;
    if (wf_kernel_cache_lock(r->b->o->cache, r->key, 3 * (int64_t)r->b->o->timeout_ms,
                             &lock, &err) != WF_OK) {
        r->u->cache_error = err;
    } else if (from_cache(r)) {
        wf_kernel_cache_unlock(lock);
        return WF_OK;
    }
    enum wf_status st = compile(r);
    if (st == WF_OK) {
        to_cache(r);
    }
    wf_kernel_cache_unlock(lock);
    return st;
}

static enum wf_status obtain(struct unit_run *r)
{
    struct wf_error err;
    if (r->b->o->cache == NULL) {
        return compile(r);
    }
    if (build_key(r->b, r->u, &r->text, r->key, &err) != WF_OK) {
        return compile(r);
    }
    return from_cache(r) ? WF_OK : compile_once(r);
}

void build_unit_run(const struct build *b, struct build_unit *u)
{
    struct unit_run r = { .b = b, .u = u, .text = WF_BUF_INIT };
    r.object = wf_path_join(b->folder, u->file);
    r.text_path = r.object == NULL ? NULL : wf_asprintf("%s.i", r.object);
    u->status = r.text_path == NULL ? no_memory(&r) : preprocess(&r, &r.text);
    u->status = u->status != WF_OK
                    ? u->status
                    : build_deps_of(&r.text, b->o->root, &u->deps, &u->error);
    u->status = u->status != WF_OK ? u->status : obtain(&r);
    wf_buf_free(&r.text);
    free(r.text_path);
    free(r.object);
}
