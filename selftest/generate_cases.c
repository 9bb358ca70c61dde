/* The table of cases and page tables for generated mutants. */
#include "selftest/generate_cases.h"

#include "core/buf.h"
#include "core/rng.h"
#include "datasets/dataset.h"
#include "datasets/page_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LENGTHS = 8,
    MAX_BATCH = 512,
    MAX_PAGES = 2048
};

struct table {
    const char *name;
    int page_size, num_pages, empty;
    int count;
    int length[MAX_LENGTHS];
};

struct row {
    const char *kernel, *text;
};

#define COUNT_OF(...) (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int))
static const struct table tables[] = {
#define TABLE(name, size, pages, empty, ...) \
    { #name, size, pages, empty, COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } },
#include "selftest/generate_cases.def"
};

static const struct row rows[] = {
#define CASE(kernel, text) { kernel, text },
#include "selftest/generate_cases.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct wf_generated_cases {
    char *text[ROWS];
    size_t count;
};

/* --- page tables --- */

struct paged {
    int32_t indptr[MAX_BATCH + 1], last[MAX_BATCH], index[MAX_PAGES];
};

static int batch_of(const struct table *t)
{
    return t->count + t->empty;
}

/* Pages 1 ... num_pages - 1 in an order that the seed draws. */
static void draw_pages(const struct table *t, struct paged *p)
{
    struct wf_rng rng = { .seed = 7 };
    int32_t page[MAX_PAGES] = { 0 };
    int n = t->num_pages - 1;
    int used = 0;
    for (int i = 0; i < n; i++) {
        page[i] = i + 1;
    }
    for (int i = n; i > 1; i--) {
        int j = (int)wf_rng_next_below(&rng, (uint64_t)i);
        int32_t held = page[i - 1];
        page[i - 1] = page[j];
        page[j] = held;
    }
    for (int s = 0; s < batch_of(t); s++) {
        int length = s < t->count ? t->length[s] : 0;
        int pages = (length + t->page_size - 1) / t->page_size;
        p->last[s] = length - (pages - 1) * t->page_size;
        p->last[s] = pages ? p->last[s] : 1;
        for (int i = 0; i < pages; i++, used++) {
            p->index[used] = page[used];
        }
        p->indptr[s + 1] = used;
    }
}

static enum wf_status metadata(const struct table *t,
                               struct wf_json *meta,
                               struct wf_error *err)
{
    char text[2][16];
    (void)snprintf(text[0], sizeof(text[0]), "%d", t->num_pages);
    (void)snprintf(text[1], sizeof(text[1]), "%d", t->page_size);
    enum wf_status st = wf_json_set_string(meta, "format", WF_PAGE_TABLE_FORMAT, err);
    if (st == WF_OK) {
        st = wf_json_set_string(meta, "num_pages", text[0], err);
    }
    return st == WF_OK ? wf_json_set_string(meta, "page_size", text[1], err) : st;
}

static int pages_of(const struct table *t)
{
    int pages = 0;
    for (int s = 0; s < t->count; s++) {
        pages += (t->length[s] + t->page_size - 1) / t->page_size;
    }
    return pages;
}

static enum wf_status write_table(const struct table *t,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    struct paged p = { .indptr = { 0 } };
    int batch = batch_of(t);
    if (pages_of(t) >= t->num_pages) { /* page 0 is nobody's */
        return wf_errorf(err, WF_EINVAL, "page table %s needs %d pages besides page 0",
                         t->name, pages_of(t));
    }
    draw_pages(t, &p);
    int used = p.indptr[batch];
    struct wf_dataset_tensor tensor[] = {
        { "kv_indptr", WF_I32, 1, { batch + 1 }, p.indptr, 4U * (unsigned)(batch + 1) },
        { "kv_indices", WF_I32, 1, { used }, p.index, 4U * (unsigned)used },
        { "kv_last_page_len", WF_I32, 1, { batch }, p.last, 4U * (unsigned)batch },
    };
    struct wf_json *meta = wf_json_object();
    enum wf_status st = meta ? metadata(t, meta, err)
                             : wf_errorf(err, WF_ENOMEM, "no memory for a page table");
    if (st == WF_OK) {
        st = wf_dataset_write(tensor, 3, meta, out, err);
    }
    wf_json_free(meta);
    return st;
}

static enum wf_status add_table(const char *name,
                                struct wf_dataset_store *store,
                                char sha256[WF_SHA256_HEX],
                                struct wf_error *err)
{
    struct wf_buf image = WF_BUF_INIT;
    const struct table *t = NULL;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        size_t n = strlen(tables[i].name);
        t = strncmp(tables[i].name, name, n) == 0 && name[n] == '"' ? &tables[i] : t;
    }
    enum wf_status st =
        t ? write_table(t, &image, err)
          : wf_errorf(err, WF_EINVAL, "no page table is called so: %.32s", name);
    if (st == WF_OK) {
        st = wf_dataset_store_add(store, image.data, image.len, sha256, err);
    }
    wf_buf_free(&image);
    return st;
}

/* --- cases --- */

static enum wf_status add_case(struct wf_generated_cases *cases,
                               const char *text,
                               struct wf_dataset_store *store,
                               struct wf_error *err)
{
    const char *at = strchr(text, '@');
    char sha256[WF_SHA256_HEX];
    if (at) {
        enum wf_status st = add_table(at + 1, store, sha256, err);
        if (st != WF_OK) {
            return st;
        }
        cases->text[cases->count] = wf_asprintf("%.*ssha256:%s%s", (int)(at - text),
                                                text, sha256, strchr(at, '"'));
    } else {
        cases->text[cases->count] = wf_strdup(text);
    }
    return cases->text[cases->count++]
               ? WF_OK
               : wf_errorf(err, WF_ENOMEM, "no memory for a case");
}

bool wf_generated_has_cases(const char *kernel)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].kernel, kernel) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_status wf_generated_cases_create(const char *kernel,
                                         const char *dataset_folder,
                                         struct wf_generated_cases **ret,
                                         struct wf_error *err)
{
    struct wf_dataset_store *store = NULL;
    struct wf_generated_cases *cases = wf_calloc(1, sizeof(*cases));
    if (!cases) {
        return wf_errorf(err, WF_ENOMEM, "no memory for cases");
    }
    enum wf_status st = wf_dataset_store_open(dataset_folder, &store, err);
    for (size_t i = 0; i < ROWS && st == WF_OK; i++) {
        if (strcmp(rows[i].kernel, kernel) == 0) {
            st = add_case(cases, rows[i].text, store, err);
        }
    }
    if (st == WF_OK && cases->count == 0) {
        st =
            wf_errorf(err, WF_ENOTFOUND,
                      "no case for mutants of %s: selftest/generate_cases.def", kernel);
    }
    wf_dataset_store_close(store);
    if (st != WF_OK) {
        wf_generated_cases_destroy(cases);
        return st;
    }
    *ret = cases;
    return WF_OK;
}

void wf_generated_cases_destroy(struct wf_generated_cases *cases)
{
    if (cases) {
        for (size_t i = 0; i < cases->count; i++) {
            free(cases->text[i]);
        }
        free(cases);
    }
}

size_t wf_generated_cases_count(const struct wf_generated_cases *cases)
{
    return cases->count;
}

const char *wf_generated_case(const struct wf_generated_cases *cases, size_t i)
{
    return cases->text[i];
}
