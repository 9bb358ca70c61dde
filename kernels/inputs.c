/* Input distributions: draws in blocks of doubles, then one rounding to the type. */
#include "kernels/inputs.h"

#include "core/rng.h"

#include <string.h>

#define BLOCK 1024

static const char *const NAMES[] = {
#define X(name, text) text,
    WF_INPUTS_LIST(X)
#undef X
};

const char *wf_inputs_name(enum wf_inputs kind)
{
    return kind < WF_INPUTS_COUNT ? NAMES[kind] : "?";
}

bool wf_inputs_parse(const char *text, enum wf_inputs *ret)
{
    for (unsigned i = 0; i < WF_INPUTS_COUNT; i++) {
        if (strcmp(text, NAMES[i]) == 0) {
            *ret = (enum wf_inputs)i;
            return true;
        }
    }
    return false;
}

static void scale(double *v, size_t n, double factor)
{
    for (size_t i = 0; i < n && factor != 1.0; i++) {
        v[i] *= factor;
    }
}

static void draw_uniform(const struct wf_input_stream *s,
                         uint64_t at,
                         double *v,
                         size_t n)
{
    wf_rng_fill_uniform(s->seed, s->stream, at, v, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = 2.0 * v[i] - 1.0;
    }
}

/* Integers lo .. lo + count - 1 from the top bits: exact in double, and off uniform by
 * less than 2^-50. */
static void draw_integers(const struct wf_input_stream *s,
                          uint64_t at,
                          int lo,
                          int count,
                          double *v,
                          size_t n)
{
    wf_rng_fill_uniform(s->seed, s->stream, at, v, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = (double)(lo + (int)(v[i] * count));
    }
}

static void draw_powers(const struct wf_input_stream *s,
                        uint64_t at,
                        double *v,
                        size_t n)
{
    const int lowest = wf_dtype_is_float(s->dtype) ? -2 : 0;
    const int count = 3 - lowest;
    draw_integers(s, at, 0, 2 * count, v, n);
    for (size_t i = 0; i < n; i++) {
        const int draw = (int)v[i];
        const double power = (double)(1 << (draw / 2)) * (lowest < 0 ? 0.25 : 1.0);
        v[i] = draw % 2 != 0 ? -power : power;
    }
}

static void draw_constant(double value, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = value;
    }
}

static void draw(const struct wf_input_stream *s, uint64_t at, double *v, size_t n)
{
    const double max = wf_dtype_is_float(s->dtype) ? 1.0 : wf_dtype_max(s->dtype);
    switch (s->kind) {
    case WF_INPUTS_UNIFORM:
        draw_uniform(s, at, v, n);
        scale(v, n, max);
        break;
    case WF_INPUTS_INTEGERS:
        draw_integers(s, at, -2, 5, v, n);
        break;
    case WF_INPUTS_ONES:
        draw_constant(1.0, v, n);
        break;
    case WF_INPUTS_ZEROS:
        draw_constant(0.0, v, n);
        break;
    case WF_INPUTS_POWERS:
        draw_powers(s, at, v, n);
        break;
    case WF_INPUTS_NORMAL:
    case WF_INPUTS_COUNT:
    default:
        wf_rng_fill_normal(s->seed, s->stream, at, v, n);
        scale(v, n, wf_dtype_is_float(s->dtype) ? 1.0 : max / 4.0);
        break;
    }
}

void wf_inputs_fill(const struct wf_input_stream *s,
                    uint64_t first,
                    size_t n,
                    void *dst)
{
    const size_t bytes = wf_dtype_bytes(s->dtype);
    double block[BLOCK];
    for (size_t done = 0; done < n;) {
        const size_t m = n - done < BLOCK ? n - done : BLOCK;
        draw(s, first + done, block, m);
        wf_from_f64(s->dtype, block, (char *)dst + done * bytes, m);
        done += m;
    }
}
