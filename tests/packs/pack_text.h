/* A small valid pack.json as text, and changes to it: tests state only what they
 * change. */
#ifndef WF_TESTS_PACKS_PACK_TEXT_H
#define WF_TESTS_PACKS_PACK_TEXT_H

#include "core/buf.h"
#include "packs/pack.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char pack_text[] =
    "{\"schema\":\"wavefarm.pack/1\",\"name\":\"demo\",\"description\":\"a demo\","
    "\"files\":{\"a.co\":\"" HASH "\",\"b.co\":\"" HASH "\",\"lib.so\":\"" HASH "\","
    "\"run.py\":\"" HASH "\"},"
    "\"kernels\":["
    "{\"name\":\"k1\",\"op\":\"gemm\",\"summary\":\"first\",\"kind\":\"code-object\","
    "\"arch\":[\"gfx942\"],"
    "\"knobs\":{\"TILES\":\"ceil_div(M, BLOCK)\",\"BLOCK\":64,\"SCALE\":0.5},"
    "\"supports\":\"M > 0\",\"split\":2,"
    "\"accumulate\":\"f32\",\"source\":\"x.hip\","
    "\"code\":{\"main\":\"a.co\",\"tail\":\"b.co\"},"
    "\"buffers\":[{\"name\":\"ws\",\"bytes\":\"4 * M\","
    "\"init\":{\"byte\":7,\"when\":\"each\"}},"
    "{\"name\":\"Bt\",\"derive\":{\"from\":\"B\",\"transform\":\"transpose_2d\","
    "\"params\":{\"rows\":\"K\",\"cols\":\"N\"}}}],"
    "\"launches\":[{\"symbol\":\"go\",\"code\":\"main\",\"grid\":[\"TILES\",2],"
    "\"block\":[64],\"shared_bytes\":128,\"when\":\"M > 1\",\"args\":["
    "{\"pointer\":\"A\",\"offset_bytes\":4},{\"scalar\":\"i32\",\"value\":\"M\"},"
    "{\"struct\":{\"bytes\":16,\"align\":8,\"members\":["
    "{\"offset\":0,\"scalar\":\"i64\",\"value\":\"N\"},"
    "{\"offset\":8,\"pointer\":\"ws\"}]}},"
    "{\"pointers\":[\"A\",{\"pointer\":\"ws\"}]}]}]},"
    "{\"name\":\"k2\",\"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],"
    "\"library\":\"lib.so\"},"
    "{\"name\":\"k3\",\"op\":\"gemm\",\"kind\":\"process\",\"arch\":[\"x86-64\"],"
    "\"deterministic\":false,\"command\":[\"python3\",\"{pack}/run.py\"]}]}";

/* pack_text with the first `from` replaced (NULL: nothing). Caller frees. */
static inline char *changed_text(const char *from, const char *to)
{
    if (from == NULL) {
        return wf_strdup(pack_text);
    }
    const char *at = strstr(pack_text, from);
    cr_assert(at != NULL, "the text has no %s", from);
    return wf_asprintf("%.*s%s%s", (int)(at - pack_text), pack_text, to,
                       at + strlen(from));
}

static inline enum wf_status parse_text(const char *text,
                                        struct wf_pack **ret,
                                        struct wf_error *err)
{
    struct wf_json *json = NULL;
    enum wf_status st = wf_json_parse(text, strlen(text), "pack.json", &json, err);
    if (st == WF_OK) {
        st = wf_pack_parse(json, "pack.json", ret, err);
    }
    wf_json_free(json);
    return st;
}

#endif
