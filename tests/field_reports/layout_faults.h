/* Where a kernel with one of the reported faults looks for an element. Shared by the
 * host and the device forms of the tests' kernels, so that both have the very same
 * fault. */
#ifndef WF_TESTS_FIELD_REPORTS_LAYOUT_FAULTS_H
#define WF_TESTS_FIELD_REPORTS_LAYOUT_FAULTS_H

/* X(NAME, text) */
#define LAYOUT_FAULTS(X)                                                           \
    X(RIGHT, "right")                                                              \
    X(INT32, "int32_elements")      /* A04, A20: element offset in 32 bits */      \
    X(PAGE_INT32, "int32_page")     /* A05: page times stride in 32 bits */        \
    X(UINT32_BYTES, "uint32_bytes") /* A06, A28: byte offset in 32 bits */         \
    X(PAGE16, "page16")             /* page id in 16 bits */                       \
    X(DENSE, "assumes_dense")       /* contiguous rows, whatever the strides */    \
    X(ALIGNED, "assumes_aligned")   /* base rounded down to 16 bytes */            \
    X(STALE, "stale_page")          /* A25: a page that was freed */               \
    X(COLUMN, "next_column")        /* A08: beyond the page table's last column */ \
    X(GRID16, "grid16")             /* A29: workgroups beyond 65535 are dropped */ \
    X(TILE, "no_tail_check")        /* writes whole tiles of rows */               \
    X(INPUT, "writes_input")                                                       \
    X(INDEX, "writes_index")                                                       \
    X(BEFORE, "writes_before")                                                     \
    X(GUARD, "writes_guard_value") /* behind the output, what guards once held */  \
    X(PADDING, "writes_padding")

enum layout_fault {
#define X(name, text) FAULT_##name,
    LAYOUT_FAULTS(X)
#undef X
    FAULT_COUNT
};

#ifdef __HIP__
#define LAYOUT_FN __attribute__((device, always_inline)) static inline
#else
#define LAYOUT_FN static inline
#endif

/* The element offset as the kernel computes it. */
LAYOUT_FN long long faulty_offset(int fault, long long at, int width)
{
    if (fault == FAULT_INT32) {
        return (long long)(int)at;
    }
    if (fault == FAULT_UINT32_BYTES) {
        return (long long)((unsigned)(at * width)) / width;
    }
    return at;
}

struct layout_pool {
    long long page, token, head; /* strides */
    long long dense_page, dense_token, dense_head;
};

LAYOUT_FN long long pool_offset(int fault,
                                const struct layout_pool *p,
                                int page,
                                int slot,
                                int head,
                                int width)
{
    long long at;
    if (fault == FAULT_PAGE16) {
        page &= 0xffff;
    }
    if (fault == FAULT_STALE && page == 4) {
        page = 5;
    }
    if (fault == FAULT_DENSE) {
        return page * p->dense_page + slot * p->dense_token + head * p->dense_head;
    }
    at = slot * p->token + head * p->head;
    if (fault == FAULT_PAGE_INT32) {
        return at + (int)((unsigned)page * (unsigned)p->page);
    }
    return faulty_offset(fault, at + page * p->page, width);
}

#endif
