/* Element types of a gemm: which go together, and what follows from them. */
#include "kernels/gemm/gemm.h"

static bool is_operand(enum wf_dtype t)
{
    return wf_dtype_is_float(t) || t == WF_I8;
}

static enum wf_status read_type(const struct wf_json *json,
                                const char *key,
                                enum wf_dtype *ret,
                                struct wf_error *err)
{
    const char *text = NULL;
    const enum wf_status st = wf_json_opt_string(json, key, &text, err);
    if (st != WF_OK || text == NULL) {
        return st;
    }
    if (!wf_dtype_parse(text, ret) || !(is_operand(*ret) || *ret == WF_I32)) {
        return wf_errorf(err, WF_EINVAL,
                         "%s is \"%.32s\"; gemm takes f64, f32, f16, bf16, e4m3fnuz, "
                         "e5m2fnuz, e4m3fn, e5m2, i8 (operands) and i32 (results)",
                         key, text);
    }
    return WF_OK;
}

enum wf_dtype gemm_default_result(enum wf_dtype a)
{
    if (a == WF_I8) {
        return WF_I32;
    }
    return wf_dtype_bytes(a) == 1 ? WF_F16 : a;
}

static enum wf_status check_pair(enum wf_dtype a,
                                 enum wf_dtype other,
                                 const char *key,
                                 struct wf_error *err)
{
    const bool good = a == WF_F64 || a == WF_I8
                          ? other == a
                          : wf_dtype_is_float(other) && other != WF_F64;
    if (good) {
        return WF_OK;
    }
    return wf_errorf(err, WF_EINVAL, "%s is %s with a_type %s; it must be %s", key,
                     wf_dtype_name(other), wf_dtype_name(a),
                     a == WF_F64  ? "f64"
                     : a == WF_I8 ? "i8"
                                  : "f32, f16, bf16 or an fp8 type");
}

static enum wf_status check_result(enum wf_dtype a,
                                   enum wf_dtype other,
                                   const char *key,
                                   struct wf_error *err)
{
    if (a != WF_I8) {
        return check_pair(a, other, key, err);
    }
    if (other == WF_I32) {
        return WF_OK;
    }
    return wf_errorf(err, WF_EINVAL, "%s is %s with a_type i8; it must be i32", key,
                     wf_dtype_name(other));
}

enum wf_status gemm_read_types(struct gemm *g,
                               const struct wf_json *json,
                               struct wf_error *err)
{
    enum wf_dtype a = WF_F16;
    enum wf_status st = read_type(json, "a_type", &a, err);
    if (st == WF_OK && !is_operand(a)) {
        st = wf_errorf(err, WF_EINVAL,
                       "a_type is i32; an operand must be a float or i8");
    }
    enum wf_dtype b = a;
    enum wf_dtype d = gemm_default_result(a);
    if (st == WF_OK) {
        st = read_type(json, "b_type", &b, err);
    }
    if (st == WF_OK) {
        st = check_pair(a, b, "b_type", err);
    }
    if (st == WF_OK) {
        st = read_type(json, "d_type", &d, err);
    }
    if (st == WF_OK) {
        st = check_result(a, d, "d_type", err);
    }
    enum wf_dtype c = d;
    if (st == WF_OK) {
        st = read_type(json, "c_type", &c, err);
    }
    if (st == WF_OK) {
        st = check_result(a, c, "c_type", err);
    }
    g->matrix[GEMM_A].dtype = a;
    g->matrix[GEMM_B].dtype = b;
    g->matrix[GEMM_C].dtype = c;
    g->matrix[GEMM_D].dtype = d;
    g->acc_type = a == WF_F64 ? WF_F64 : a == WF_I8 ? WF_I32 : WF_F32;
    return st;
}
