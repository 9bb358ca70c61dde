/* Memory whose end touches a page that faults: a read behind it kills the test. */
#ifndef WF_TESTS_DEVICE_KERNELS_GUARDED_H
#define WF_TESTS_DEVICE_KERNELS_GUARDED_H

#include <stddef.h>

struct guarded {
    void *data; /* 16-byte aligned, all ones (NaN), at most 15 bytes before the page */
    void *mapping;
    size_t mapped;
};

struct guarded guarded_make(size_t bytes);
void guarded_free(struct guarded *g);

#endif
