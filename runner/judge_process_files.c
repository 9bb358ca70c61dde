/* Tensors of a process kernel as safetensors files.
 *
 * A dense tensor has its shape; one with padding between rows is its storage, one
 * dimension, and the metadata "<name>.strides" tells how it lies. */
#include "runner/judge_process.h"

#include "core/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum wf_status process_folder(struct process_task *p, struct wf_error *err)
{
    const char *base = getenv("TMPDIR");
    int n = snprintf(p->folder, sizeof(p->folder), "%s/wavefarm-XXXXXX",
                     base && base[0] ? base : "/tmp");
    if (n < 0 || (size_t)n >= sizeof(p->folder) || !mkdtemp(p->folder)) {
        enum wf_status st =
            wf_errorf(err, WF_EIO, "cannot make a folder like %s", p->folder);
        p->folder[0] = '\0';
        return st;
    }
    return WF_OK;
}

static char *replace_pack(const char *text, const char *folder)
{
    struct wf_buf out = WF_BUF_INIT;
    enum wf_status st = WF_OK;
    for (const char *at = text; st == WF_OK && *at;) {
        const char *next = strstr(at, "{pack}");
        size_t n = next ? (size_t)(next - at) : strlen(at);
        st = wf_buf_add(&out, at, n, NULL);
        if (st == WF_OK && next) {
            st = wf_buf_puts(&out, folder, NULL);
        }
        at += n + (next ? strlen("{pack}") : 0);
    }
    char *copy = st == WF_OK ? wf_strdup(wf_buf_cstr(&out)) : NULL;
    wf_buf_free(&out);
    return copy;
}

enum wf_status process_argv(const struct judge *j, char ***ret, struct wf_error *err)
{
    char **argv = wf_calloc(j->kernel->command_count + 1, sizeof(*argv));
    char *folder = realpath(wf_pack_folder(j->pack), NULL);
    bool good = argv && folder;
    for (size_t i = 0; good && i < j->kernel->command_count; i++) {
        argv[i] = replace_pack(j->kernel->command[i], folder);
        good = argv[i] != NULL;
    }
    free(folder);
    if (!good) {
        for (size_t i = 0; argv && argv[i]; i++) {
            free(argv[i]);
        }
        free(argv);
        return wf_errorf(err, WF_ENOMEM, "no memory for a command");
    }
    *ret = argv;
    return WF_OK;
}

/* --- inputs --- */

static bool is_dense(const struct wf_tensor *t)
{
    uint64_t used = 1;
    for (int d = 0; d < t->ndim; d++) {
        used *= (uint64_t)t->dim[d];
    }
    return used == t->elements;
}

static enum wf_status add_strides(struct wf_json *metadata,
                                  const struct wf_tensor *t,
                                  struct wf_error *err)
{
    char key[96];
    char text[160] = "";
    size_t used = 0;
    for (int d = 0; d < t->ndim; d++) {
        int n = snprintf(text + used, sizeof(text) - used, "%s%" PRId64, d ? "," : "",
                         t->stride[d]);
        used += n > 0 && used + (size_t)n < sizeof(text) ? (size_t)n : 0;
    }
    (void)snprintf(key, sizeof(key), "%.80s.strides", t->name);
    return wf_json_set_string(metadata, key, text, err);
}

static enum wf_status make_tensor(const struct judge *j,
                                  size_t i,
                                  uint64_t seed_offset,
                                  struct wf_dataset_tensor *ret,
                                  void **ret_data,
                                  struct wf_error *err)
{
    const struct wf_tensor *t = wf_case_tensor(j->c, i);
    void *data = wf_calloc((size_t)t->bytes, 1);
    if (!data) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %s", t->name);
    }
    *ret_data = data;
    *ret = (struct wf_dataset_tensor){ .name = t->name,
                                       .dtype = t->dtype,
                                       .ndim = 1,
                                       .dim = { (int64_t)t->elements },
                                       .data = data,
                                       .bytes = t->bytes };
    if (is_dense(t)) {
        ret->ndim = t->ndim;
        memcpy(ret->dim, t->dim, (size_t)t->ndim * sizeof(t->dim[0]));
    }
    return wf_case_fill(j->c, i, seed_offset, 0, t->elements, data, err);
}

static enum wf_status write_file(struct process_task *p,
                                 const struct wf_dataset_tensor *tensors,
                                 size_t count,
                                 const struct wf_json *metadata,
                                 struct wf_error *err)
{
    struct wf_buf image = WF_BUF_INIT;
    (void)snprintf(p->input_path, sizeof(p->input_path), "%s/inputs-%u.safetensors",
                   p->folder, ++p->reads);
    enum wf_status st = wf_dataset_write(tensors, count, metadata, &image, err);
    if (st == WF_OK) {
        st = wf_file_write_atomic(p->input_path, image.data, image.len, err);
    }
    wf_buf_free(&image);
    return st;
}

enum wf_status process_write_inputs(struct process_task *p,
                                    uint64_t seed_offset,
                                    struct wf_error *err)
{
    struct judge *j = p->j;
    size_t count = 0;
    struct wf_json *metadata = wf_json_object();
    struct wf_dataset_tensor *tensors =
        wf_calloc(j->tensor_count + 1, sizeof(*tensors));
    void **data = wf_calloc(j->tensor_count + 1, sizeof(*data));
    enum wf_status st = metadata && tensors && data
                            ? WF_OK
                            : wf_errorf(err, WF_ENOMEM, "no memory for inputs");
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        const struct wf_tensor *t = wf_case_tensor(j->c, i);
        if (t->bytes == 0) {
            continue;
        }
        st = is_dense(t) ? WF_OK : add_strides(metadata, t, err);
        if (st == WF_OK && t->role != WF_ROLE_OUTPUT) {
            st = make_tensor(j, i, seed_offset, &tensors[count], &data[count], err);
            count++;
        }
    }
    if (st == WF_OK) {
        st = write_file(p, tensors, count, metadata, err);
    }
    for (size_t i = 0; data && i < j->tensor_count; i++) {
        free(data[i]);
    }
    free(data);
    free(tensors);
    wf_json_free(metadata);
    return st;
}

/* --- outputs --- */

void process_next_output(struct process_task *p, char *ret_nonce, size_t n)
{
    uint64_t random = 0;
    (void)wf_random_bytes(&random, sizeof(random), NULL);
    (void)snprintf(ret_nonce, n, "%016" PRIx64, random);
    (void)snprintf(p->output_path, sizeof(p->output_path), "%s/outputs-%u.safetensors",
                   p->folder, ++p->reads);
}

static bool is_written(const struct judge *j, size_t i)
{
    enum wf_role role = wf_case_tensor(j->c, i)->role;
    return j->tensor[i].bytes && (role == WF_ROLE_OUTPUT || role == WF_ROLE_INOUT);
}

static bool outputs_complete(struct process_task *p, const struct wf_dataset *ds)
{
    struct judge *j = p->j;
    for (size_t i = 0; i < j->tensor_count; i++) {
        const struct wf_dataset_tensor *got = wf_dataset_find(ds, j->tensor[i].name);
        if (!is_written(j, i)) {
            continue;
        }
        if (!got) {
            result_answer(j->result, WF_ANSWER_UNWRITTEN, "the answer has no tensor %s",
                          j->tensor[i].name);
            return false;
        }
        if (got->dtype != j->tensor[i].dtype || got->bytes != j->tensor[i].bytes) {
            result_answer(j->result, WF_ANSWER_MISMATCH,
                          "tensor %s of the answer is %s, %" PRIu64
                          " bytes, not %s, %" PRIu64 " bytes",
                          j->tensor[i].name, wf_dtype_name(got->dtype), got->bytes,
                          wf_dtype_name(j->tensor[i].dtype), j->tensor[i].bytes);
            return false;
        }
    }
    return true;
}

enum wf_status process_take_outputs(struct process_task *p,
                                    const char *nonce,
                                    struct wf_error *err)
{
    struct judge *j = p->j;
    struct wf_dataset *ds = NULL;
    struct wf_error why = { 0 };
    enum wf_status st = wf_dataset_read_file(p->output_path, &ds, &why);
    (void)unlink(p->output_path);
    if (st == WF_ENOMEM) {
        return wf_errorf(err, st, "%s", why.text);
    }
    if (st != WF_OK) {
        result_answer(j->result, WF_ANSWER_UNWRITTEN, "the command's answer file: %s",
                      why.text);
        j->done = true;
        return WF_OK;
    }
    const char *said = wf_dataset_metadata(ds, "nonce");
    if (!said || strcmp(said, nonce) != 0) {
        result_answer(j->result, WF_ANSWER_UNWRITTEN,
                      "the answer file does not carry this request's nonce");
        j->done = true;
    } else {
        j->done = !outputs_complete(p, ds);
    }
    wf_dataset_free(p->outputs);
    p->outputs = ds;
    return WF_OK;
}

enum wf_status process_read_output(void *ctx,
                                   size_t tensor,
                                   uint64_t offset,
                                   uint64_t n,
                                   void *dst,
                                   struct wf_error *err)
{
    struct process_task *p = ctx;
    const struct wf_dataset_tensor *t =
        wf_dataset_find(p->outputs, p->j->tensor[tensor].name);
    if (!t || offset > t->bytes || n > t->bytes - offset) {
        return wf_errorf(err, WF_EINTERNAL, "the check reads outside tensor %zu",
                         tensor);
    }
    memcpy(dst, (const unsigned char *)t->data + offset, (size_t)n);
    return WF_OK;
}

uint64_t process_output_digest(const struct process_task *p)
{
    struct digest digest;
    digest_start(&digest);
    for (size_t i = 0; i < p->j->tensor_count; i++) {
        const struct wf_dataset_tensor *t =
            is_written(p->j, i) ? wf_dataset_find(p->outputs, p->j->tensor[i].name)
                                : NULL;
        if (t) {
            digest_add(&digest, t->data, (size_t)t->bytes);
        }
    }
    return digest_value(&digest);
}
