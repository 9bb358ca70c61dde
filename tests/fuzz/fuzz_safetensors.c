/* Fuzzes the safetensors reader. Input that begins with '{' is a header line and data,
 * and gets its true header length here, so that seeds are plain text and mutations
 * reach the header's rules; any other input is taken as it is. What the reader accepts
 * must survive: written and read again, every tensor is the same. */
#include "core/buf.h"
#include "datasets/dataset.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static void make_image(const uint8_t *data, size_t size, struct wf_buf *out)
{
    if (size > 0 && data[0] == '{') {
        const uint8_t *end = memchr(data, '\n', size);
        const uint64_t n = end ? (uint64_t)(end - data) + 1 : size;
        uint8_t length[8];
        for (size_t i = 0; i < sizeof length; i++) {
            length[i] = (uint8_t)(n >> (8 * i));
        }
        must(wf_buf_add(out, length, sizeof length, NULL) == WF_OK);
    }
    must(size == 0 || wf_buf_add(out, data, size, NULL) == WF_OK);
}

static void check_tensor(const struct wf_dataset_tensor *a,
                         const struct wf_dataset_tensor *b)
{
    must(b && a->dtype == b->dtype && a->ndim == b->ndim && a->bytes == b->bytes);
    must(memcmp(a->dim, b->dim, sizeof a->dim) == 0);
    must((uintptr_t)a->data % 8 == 0);
    must(a->bytes == 0 || memcmp(a->data, b->data, (size_t)a->bytes) == 0);
}

static void check_round_trip(const struct wf_dataset *ds)
{
    const size_t n = wf_dataset_count(ds);
    struct wf_dataset_tensor *tensors = wf_calloc(n + 1, sizeof *tensors);
    struct wf_buf image = WF_BUF_INIT;
    struct wf_dataset *back = NULL;
    must(tensors != NULL);
    for (size_t i = 0; i < n; i++) {
        tensors[i] = *wf_dataset_at(ds, i);
    }
    must(wf_dataset_write(tensors, n, NULL, &image, NULL) == WF_OK);
    must(wf_dataset_parse(image.data, image.len, "back", &back, NULL) == WF_OK);
    must(wf_dataset_count(back) == n);
    for (size_t i = 0; i < n; i++) {
        check_tensor(&tensors[i], wf_dataset_find(back, tensors[i].name));
    }
    wf_dataset_free(back);
    wf_buf_free(&image);
    free(tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_buf image = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    struct wf_dataset *ds = NULL;

    make_image(data, size, &image);
    if (wf_dataset_parse(wf_buf_cstr(&image), image.len, "fuzz", &ds, &err) == WF_OK) {
        check_round_trip(ds);
    } else {
        must(ds == NULL && strncmp(err.text, "fuzz: ", 6) == 0);
    }
    wf_dataset_free(ds);
    wf_buf_free(&image);
    return 0;
}
