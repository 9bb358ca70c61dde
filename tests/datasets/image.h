/* Builds safetensors images from a header text, lies included. */
#ifndef WF_TESTS_DATASETS_IMAGE_H
#define WF_TESTS_DATASETS_IMAGE_H

#include "core/buf.h"
#include "datasets/dataset.h"

#include <criterion/criterion.h>
#include <string.h>

static inline void image_add(struct wf_buf *b, const void *bytes, size_t n)
{
    cr_assert_eq(wf_buf_add(b, bytes, n, NULL), WF_OK);
}

static inline void image_add_length(struct wf_buf *b, uint64_t n)
{
    unsigned char le[8];
    for (int i = 0; i < 8; i++) {
        le[i] = (unsigned char)(n >> (8 * i));
    }
    image_add(b, le, sizeof le);
}

/* Header with its true length, then data_bytes bytes 1, 2, 3, ... */
static inline struct wf_buf image_make(const char *header, size_t data_bytes)
{
    struct wf_buf b = WF_BUF_INIT;
    image_add_length(&b, strlen(header));
    image_add(&b, header, strlen(header));
    for (size_t i = 0; i < data_bytes; i++) {
        const unsigned char byte = (unsigned char)(i + 1);
        image_add(&b, &byte, 1);
    }
    return b;
}

#endif
