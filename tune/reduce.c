#include "tune/reduce.h"

#define WORK_MACS 150000000 /* about, of the larger of the two */
#define K_MOST    4096

enum wf_status wf_tune_sizes_of(const struct wf_json *problem,
                                struct wf_tune_sizes *ret,
                                struct wf_error *err)
{
    struct wf_tune_sizes s = { .batch = 1 };
    enum wf_status st = wf_json_get_i64(problem, "M", 0, INT64_MAX, &s.m, err);
    st = st == WF_OK ? wf_json_get_i64(problem, "N", 0, INT64_MAX, &s.n, err) : st;
    st = st == WF_OK ? wf_json_get_i64(problem, "K", 0, INT64_MAX, &s.k, err) : st;
    st = st == WF_OK ? wf_json_opt_i64(problem, "batch", 0, INT64_MAX, &s.batch, err)
                     : st;
    if (st == WF_OK) {
        *ret = s;
    }
    return st;
}

static int64_t smaller(int64_t size, int64_t tile)
{
    tile = tile > 0 ? tile : WF_TUNE_TILE;
    const int64_t rest = size % tile;
    return size <= 2 * tile + rest ? size : 2 * tile + rest;
}

void wf_tune_reduce(const struct wf_tune_sizes *whole,
                    int64_t tile_m,
                    int64_t tile_n,
                    struct wf_tune_sizes ret[2],
                    bool *ret_pair)
{
    struct wf_tune_sizes s = { .m = smaller(whole->m, tile_m),
                               .n = smaller(whole->n, tile_n),
                               .batch = whole->batch < 2 ? whole->batch : 2 };
    const int64_t area = s.m * s.n * s.batch > 0 ? s.m * s.n * s.batch : 1;
    const int64_t rest = whole->k % WF_TUNE_K_UNIT;
    int64_t half = WORK_MACS / area / (2 * WF_TUNE_K_UNIT) * WF_TUNE_K_UNIT;
    half = half < WF_TUNE_K_UNIT ? WF_TUNE_K_UNIT : half;
    half = half > K_MOST / 2 ? K_MOST / 2 : half;
    ret[0] = ret[1] = s;
    *ret_pair = whole->k > 2 * half + rest;
    ret[0].k = *ret_pair ? half + rest : whole->k;
    ret[1].k = 2 * half + rest;
}

enum wf_status wf_tune_resized(const struct wf_json *problem,
                               const struct wf_tune_sizes *sizes,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *v = NULL;
    enum wf_status st = wf_json_copy(problem, &v, err);
    st = st == WF_OK ? wf_json_set_i64(v, "M", sizes->m, err) : st;
    st = st == WF_OK ? wf_json_set_i64(v, "N", sizes->n, err) : st;
    st = st == WF_OK ? wf_json_set_i64(v, "K", sizes->k, err) : st;
    if (st == WF_OK && wf_json_find(v, "batch") != NULL) {
        st = wf_json_set_i64(v, "batch", sizes->batch, err);
    }
    if (st != WF_OK) {
        wf_json_free(v);
        return st;
    }
    *ret = v;
    return WF_OK;
}
