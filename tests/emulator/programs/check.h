// What all the programs share: errors end them, wrong results are counted and told.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                 \
    do {                                                                            \
        hipError_t code_ = (call);                                                  \
        if (code_ != hipSuccess) {                                                  \
            std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, \
                         hipGetErrorName(code_), hipGetErrorString(code_));         \
            std::exit(2);                                                           \
        }                                                                           \
    } while (0)

static int failures;

#define EXPECT(what)                                                              \
    do {                                                                          \
        if (!(what)) {                                                            \
            if (failures++ < 20) {                                                \
                std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, \
                             #what);                                              \
            }                                                                     \
        }                                                                         \
    } while (0)

// Memory of the device with a copy of `from`.
template <typename T> T *to_device(const std::vector<T> &from)
{
    T *p = nullptr;
    CHECK(hipMalloc(&p, from.size() * sizeof(T)));
    CHECK(hipMemcpy(p, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
    return p;
}

template <typename T> std::vector<T> from_device(const T *p, size_t n)
{
    std::vector<T> to(n);
    CHECK(hipMemcpy(to.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
    return to;
}

// Small numbers without a pattern, the same everywhere.
struct numbers {
    uint64_t state = 88172645463325252u;
    uint32_t next()
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (uint32_t)(state >> 20);
    }
    int below(int n)
    {
        return (int)(next() % (uint32_t)n);
    }
};

static int finish(const char *name)
{
    if (failures > 0) {
        std::fprintf(stderr, "%s: %d checks failed\n", name, failures);
        return 1;
    }
    std::printf("%s: good\n", name);
    return 0;
}
