/* From sums to results: what an element should hold, and how far an honest kernel may
 * be from it. The formulas are derived in gemm_check.h. */
#include "kernels/gemm/gemm_check.h"

#include <math.h>

/* Largest slope of silu, and half its largest curvature (0.5, at 0). */
#define SILU_SLOPE 1.1
#define SILU_BEND  0.25

struct guess {
    double value, error;
};

double gemm_silu(double v)
{
    return v / (1.0 + exp(-v));
}

static double linear_error(const struct gemm_tolerance *t, const struct gemm_parts *p)
{
    return t->split * fabs(p->v) + t->accumulate * p->size + t->c * fabs(p->c) +
           t->bias * fabs(p->bias);
}

static struct guess activated(const struct gemm_tolerance *t,
                              const struct gemm_parts *p)
{
    const double e = linear_error(t, p);
    const double s = 1.0 / (1.0 + exp(-p->v));
    const double y = p->v * s;
    const double slope = fabs(s + y * (1.0 - s));
    const double moved = fmin(slope * e + SILU_BEND * e * e, SILU_SLOPE * e);
    const double own = t->silu * fabs(y) * (4.0 + (1.0 - s) * (2.0 * fabs(p->v) + 4.0));
    return (struct guess){ y, moved + own + t->silu_floor };
}

void gemm_finish_element(const struct wf_reference *ref,
                         const struct gemm_parts *gate,
                         const struct gemm_parts *up,
                         double *ret_value,
                         double *ret_error)
{
    const struct gemm_tolerance *t = &ref->tolerance;
    if (ref->g.activation == GEMM_ACTIVATION_NONE) {
        *ret_value = gate->v;
        *ret_error = linear_error(t, gate);
        return;
    }
    const struct guess y = activated(t, gate);
    if (!gemm_is_gated(&ref->g)) {
        *ret_value = y.value;
        *ret_error = y.error;
        return;
    }
    const double e = linear_error(t, up);
    *ret_value = y.value * up->v;
    *ret_error = y.error * fabs(up->v) + fabs(y.value) * e + y.error * e +
                 t->silu * fabs(*ret_value);
}

static struct gemm_parts parts_at(const struct gemm_line *l, int half, int64_t j)
{
    return (struct gemm_parts){
        .v = l->v[half][j],
        .size = l->a_norm * l->b_norm[half][j],
        .c = l->c != NULL ? l->c[j] : 0.0,
        .bias = l->bias[half] != NULL ? l->bias[half][j] : 0.0,
    };
}

void gemm_finish_line(const struct wf_reference *ref,
                      const struct gemm_line *l,
                      double *ret_ref,
                      double *ret_tolerance)
{
    const struct gemm_tolerance *t = &ref->tolerance;
    const bool gated = gemm_is_gated(&ref->g);
    for (int64_t j = 0; j < l->cols; j++) {
        const struct gemm_parts gate = parts_at(l, 0, j);
        const struct gemm_parts up = gated ? parts_at(l, 1, j) : gate;
        double error;
        gemm_finish_element(ref, &gate, &up, &ret_ref[j], &error);
        ret_tolerance[j] = error + t->out * fabs(ret_ref[j]) + t->floor;
    }
}

/* Integer problems stay exact: reduced modulo 2^32 by integer arithmetic, as a double
 * would round. */
static void add_up_integers(const struct gemm *g,
                            const double *c,
                            double *product,
                            int64_t cols)
{
    const uint64_t alpha = (uint64_t)(int64_t)g->alpha;
    const uint64_t beta = (uint64_t)(int64_t)g->beta;
    for (int64_t j = 0; j < cols; j++) {
        const uint64_t sum = alpha * (uint64_t)(int64_t)product[j] +
                             (c != NULL ? beta * (uint64_t)(int64_t)c[j] : 0);
        product[j] = (double)(uint32_t)sum;
    }
}

void gemm_add_up(const struct wf_reference *ref,
                 const double *c,
                 const double *bias,
                 double *product,
                 int64_t cols)
{
    const struct gemm *g = &ref->g;
    if (gemm_is_integer(g)) {
        add_up_integers(g, c, product, cols);
        return;
    }
    for (int64_t j = 0; j < cols; j++) {
        product[j] = g->alpha * product[j] + (c != NULL ? g->beta * c[j] : 0.0) +
                     (bias != NULL ? bias[j] : 0.0);
    }
}

void gemm_start_line(const struct wf_reference *ref,
                     struct gemm_work *w,
                     int64_t batch,
                     int64_t row,
                     int64_t col,
                     int64_t cols,
                     struct gemm_line *ret)
{
    const struct gemm *g = &ref->g;
    *ret = (struct gemm_line){ .cols = cols, .a_norm = gemm_a_norms(ref, batch)[row] };
    for (int half = 0; half < (gemm_is_gated(g) ? 2 : 1); half++) {
        const int64_t first = half * g->n + col;
        ret->b_norm[half] = gemm_b_norms(ref, batch) + first;
        ret->bias[half] = ref->bias != NULL ? ref->bias + first : NULL;
    }
    if (gemm_reads_c(g)) {
        const enum wf_dtype type = g->matrix[GEMM_C].dtype;
        const char *c = gemm_c_row(ref, batch, row);
        wf_to_f64(type, c + (size_t)col * wf_dtype_bytes(type), w->c, (size_t)cols);
        ret->c = w->c;
    }
}
