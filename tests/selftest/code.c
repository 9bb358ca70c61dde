#include "code.h"

#include "core/buf.h"
#include "emulator/isa/print.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct line {
    uint32_t word[2];
    const char *text;
};

static const struct line lines[] = {
#define X(name, first, second, text) { { first, second }, text },
    CODE_LIST(X)
#undef X
};

/* Words of the line, and how many. */
static unsigned words_of(enum code_line line, uint32_t ret[2])
{
    struct em_inst in;
    char text[128];
    memcpy(ret, lines[line].word, sizeof(lines[line].word));
    cr_assert_eq(em_decode(ret, 2, &in), EM_DECODED, "%s", lines[line].text);
    (void)em_print(&in, text, sizeof(text));
    cr_assert_str_eq(text, lines[line].text);
    return in.bytes / 4U;
}

struct program *program_of(const enum code_line *line, size_t count)
{
    struct program *p = wf_calloc(1, sizeof(*p));
    cr_assert_not_null(p);
    struct wf_error err = { .text = "" };
    uint32_t words[64];
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        p->at[i] = n;
        n += words_of(line[i], words + n);
    }
    struct gen_launch launch = {
        .block_x = 64, .kernarg = 0, .workgroup = 8, .whole_waves = true
    };
    cr_assert_eq(em_code_create(words, n, 0x1000, &p->code, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(gen_flow_create(p->code, 0, &p->flow, &err), WF_OK, "%s", err.text);
    cr_assert_eq(gen_waits_create(&p->flow, &p->waits, &err), WF_OK);
    cr_assert_eq(gen_values_create(&p->flow, &launch, &p->values, &err), WF_OK);
    return p;
}

void program_free(struct program *p)
{
    gen_values_destroy(p->values);
    gen_waits_destroy(p->waits);
    gen_flow_free(&p->flow);
    em_code_destroy(p->code);
    free(p);
}

enum gen_reason program_prove(struct program *p,
                              size_t n,
                              enum gen_kind kind,
                              enum code_line with)
{
    struct gen_change c = { .at = p->at[n],
                            .kind = (uint8_t)kind,
                            .word = { 0xbf800000, 0xbf800000, 0, 0 },
                            .words = em_code_at(p->code, p->at[n])->in.bytes / 4 };
    if (with < CODE_LINES) {
        uint32_t words[2];
        unsigned count = words_of(with, words);
        memcpy(c.word, words, count * sizeof(words[0]));
    }
    return gen_prove(&p->flow, p->waits, p->values, &c);
}
