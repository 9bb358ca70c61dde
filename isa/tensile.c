/* Tensile's kernel names:
 *
 *   [Custom_]Cijk_A<order>_B<order>_<types and kinds of
 * problem>_MT<M>x<N>x<K>_MI<..>_SN_ <key><value>_<key><value>...
 *
 * The orders name the dimensions of the stored matrix, fastest first, column-major: A
 * is "ilk" (not turned) or "lik", B "ljk" or "jlk" (turned). What a word is depends on
 * where it stands: before MT it is of the problem, after it a knob. A word of digits
 * goes on with the knob before it ("WG32_8_1"). */
#include "isa/knobs_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Knobs that have several numbers, joined by '_' in a name. */
static const struct {
    const char *parameter;
    int numbers;
} lists[] = { { "WorkGroup", 3 },
              { "MIWaveTile", 2 },
              { "MIWaveGroup", 2 },
              { "ThreadTile", 2 } };

static const struct {
    const char *key, *parameter, *meaning;
} keys[] = {
#define TENSILE(key, parameter, meaning) { key, parameter, meaning },
#include "isa/tensile.def"
#undef TENSILE
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Words of the problem. PREFIX: what follows the letters is the value. */
static const struct {
    const char *word, *key, *meaning;
    bool prefix;
} problem_words[] = {
    { "UserArgs", "UserArgs", "arguments may come from device memory", false },
    { "GG", "GroupedGemm", "several GEMMs in one launch", false },
    { "GB", "GeneralBatch", "batches by an array of pointers", false },
    { "SABV", "ScaleAB", "scales of A and B, vectors", false },
    { "SAB", "ScaleAB", "scales of A and B, scalars", false },
    { "SCD", "ScaleCD", "scales of C and D", false },
    { "SAV", "ScaleAlphaVec", "alpha is a vector", false },
    { "AmaxD", "AmaxD", "the largest magnitude of D is written", false },
    { "SPA", "Sparse", "A is sparse", false },
    { "SPB", "Sparse", "B is sparse", false },
    { "BiasSrc", "BiasSrc", "where the bias gradient comes from", true },
    { "Bias", "Bias", "a bias, of these types", true },
    { "FD", "FactorDim", "dimension of the bias and the alpha vector", true },
    { "Grad", "Gradient", "gradient, its type", true },
    { "Aux", "Aux", "results before the activation, their type", true },
    { "HA", "Activation", "hipBLASLt's activations, computed in this type", true },
    { "MX", "F32Math", "f32 by xf32", false },
    { "A", "Activation", "all activations, computed in this type", true },
};

bool isa_next_word(struct isa_words *w, char word[ISA_WORD_BYTES])
{
    while (*w->at == '_') {
        w->at++;
    }
    const size_t n = strcspn(w->at, "_");
    const size_t kept = n < ISA_WORD_BYTES ? n : ISA_WORD_BYTES - 1;
    memcpy(word, w->at, kept);
    word[kept] = '\0';
    w->at += kept; /* a word that is too long comes in pieces */
    return n > 0;
}

/* Behind "Custom_" or "CustomGSUs_". */
static const char *after_prefix(const char *name)
{
    const char *cijk = strncmp(name, "Custom", 6) == 0 ? strstr(name, "_Cij") : NULL;
    return cijk != NULL ? cijk + 1 : name;
}

bool isa_is_tensile_name(const char *name)
{
    const char *at = after_prefix(name);
    return strncmp(at, "Cijk_A", 6) == 0 || strncmp(at, "Cij_A", 5) == 0;
}

const char *wf_isa_tensile_key(const char *parameter, const char **ret_meaning)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].parameter, parameter) == 0) {
            *ret_meaning = keys[i].meaning;
            return keys[i].key;
        }
    }
    return NULL;
}

/* --- types --- */

/* Longest first. */
static const struct {
    const char *letters, *type;
} types[] = {
    { "F8B8", "f8,bf8" },  { "B8F8", "bf8,f8" }, { "F8N", "f8 fnuz" },
    { "B8N", "bf8 fnuz" }, { "F8", "f8" },       { "B8", "bf8" },
    { "I8", "i8" },        { "H", "f16" },       { "B", "bf16" },
    { "S", "f32" },        { "D", "f64" },       { "X", "xf32" },
    { "I", "i32" },        { "C", "c32" },       { "Z", "c64" },
};

struct type_run {
    const char *type[3];
    int count;
    const char *rest; /* the letters behind the last type that was taken */
};

/* At most `most` types from the front of a word. */
static struct type_run read_types(const char *word, int most)
{
    struct type_run r = { .count = 0, .rest = word };
    while (r.count < most) {
        size_t i = 0;
        while (i < sizeof(types) / sizeof(types[0]) &&
               strncmp(r.rest, types[i].letters, strlen(types[i].letters)) != 0) {
            i++;
        }
        if (i == sizeof(types) / sizeof(types[0])) {
            break;
        }
        r.type[r.count++] = types[i].type;
        r.rest += strlen(types[i].letters);
    }
    return r;
}

/* Operands, result, sums: Tensile's HPATypes. "I8BH" is none: int8 and the flags BH. */
static bool is_triple(const char *word)
{
    const struct type_run r = read_types(word, 3);
    return r.count == 3 && *r.rest == '\0' &&
           (strcmp(r.type[2], "f32") == 0 || strcmp(r.type[2], "i32") == 0);
}

struct decoder {
    struct isa_words words;
    char word[ISA_WORD_BYTES];
    struct wf_isa_knobs *k;
    struct wf_error *err;
    enum wf_status st;
};

static void add(struct decoder *d, const char *key, const char *value, const char *why)
{
    if (d->st == WF_OK) {
        d->st = wf_isa_knobs_add(d->k, key, value, why, d->err);
    }
}

static bool next(struct decoder *d)
{
    return d->st == WF_OK && isa_next_word(&d->words, d->word);
}

/* "BH": use of beta, sums of a wider type, initial strides. */
static void add_flags(struct decoder *d, const char *letters)
{
    if (*letters == '\0') {
        return;
    }
    if (strspn(letters, "BHIc") == strlen(letters)) {
        add(d, "Problem", letters, "B: beta is used, H: sums of a wider type");
    } else {
        add(d, letters, "", NULL);
    }
}

/* "HHS", "F8HS", "HF8_HHS", "SB", "I8BH". */
static void decode_types(struct decoder *d)
{
    char first[ISA_WORD_BYTES];
    memcpy(first, d->word, sizeof(first));
    struct isa_words ahead = d->words;
    char second[ISA_WORD_BYTES] = "";
    (void)isa_next_word(&ahead, second);
    const struct type_run pair = read_types(first, 2);
    if (*pair.rest == '\0' && pair.count > 0 && is_triple(second)) {
        add(d, pair.count == 2 ? "TypeA" : "TypesAB", pair.type[0], "type of A");
        if (pair.count == 2) {
            add(d, "TypeB", pair.type[1], "type of B");
        }
        (void)next(d);
    }
    if (is_triple(d->word)) {
        const struct type_run r = read_types(d->word, 3);
        add(d, "Type", r.type[0], "type of the matrix instruction's operands");
        add(d, "TypeD", r.type[1], "type of C and D");
        add(d, "TypeCompute", r.type[2], "type of alpha, beta and the sums");
        return;
    }
    const struct type_run one = read_types(d->word, 1);
    if (one.count == 1) {
        add(d, "Type", one.type[0], "type of the matrix instruction's operands");
    }
    add_flags(d, one.rest);
}

/* --- the problem --- */

static void decode_order(struct decoder *d, const char *key, const char *plain)
{
    const char *order = d->word + 1;
    const bool conjugate = strchr(order, 'C') != NULL;
    const bool turned = strncmp(order, plain, 2) != 0;
    add(d, key,
        conjugate ? "C"
        : turned  ? "T"
                  : "N",
        key[5] == 'A' ? "A is transposed, column-major"
                      : "B is transposed, column-major");
}

static void decode_problem_word(struct decoder *d)
{
    for (size_t i = 0; i < sizeof(problem_words) / sizeof(problem_words[0]); i++) {
        const size_t n = strlen(problem_words[i].word);
        /* "A" in front of anything would swallow what is not known */
        const size_t rest = strlen(d->word) < n ? 0 : strlen(d->word) - n;
        const size_t most = !problem_words[i].prefix ? 0 : n > 2 ? ISA_WORD_BYTES : 2;
        if (strncmp(d->word, problem_words[i].word, n) == 0 && rest <= most) {
            const char *value = d->word + n;
            add(d, problem_words[i].key,
                problem_words[i].prefix && *value ? value : d->word,
                problem_words[i].meaning);
            return;
        }
    }
    add_flags(d, d->word);
}

/* --- knobs --- */

static bool is_value(const char *text)
{
    return *text != '\0' && (isdigit((unsigned char)*text) != 0 || *text == 'n' ||
                             isupper((unsigned char)*text) != 0);
}

/* Index of the longest key in front of the word whose rest is a value; KEYS: none. */
static size_t longest_key(const char *word)
{
    size_t best = KEYS;
    for (size_t i = 0; i < KEYS; i++) {
        const size_t n = strlen(keys[i].key);
        if (strncmp(word, keys[i].key, n) == 0 && is_value(word + n) &&
            (best == KEYS || n > strlen(keys[best].key))) {
            best = i;
        }
    }
    return best;
}

/* "MT256x224x64" into MT0, MT1 and DU. */
static void add_tile(struct decoder *d, const char *dimensions)
{
    static const struct {
        const char *key, *meaning;
    } parts[] = {
        { "MT0", "rows of a workgroup's tile, column-major" },
        { "MT1", "columns of a workgroup's tile" },
        { "DU", "K of one iteration" },
        { "MT3", NULL },
    };
    size_t i = 0;
    for (const char *at = dimensions; *at != '\0'; i = i < 3 ? i + 1 : 3) {
        char part[24];
        const size_t n = strcspn(at, "x");
        (void)snprintf(part, sizeof(part), "%.*s", (int)(n < 20 ? n : 20), at);
        add(d, parts[i].key, part, parts[i].meaning);
        at += n + (at[n] == 'x');
    }
}

/* What no table knows: letters are its key, the rest its value. */
static void add_unknown(struct decoder *d)
{
    char key[ISA_WORD_BYTES];
    size_t n = strspn(d->word, "0123456789"); /* a number alone, or in front */
    while (d->word[n] != '\0' && isdigit((unsigned char)d->word[n]) == 0) {
        n++;
    }
    memcpy(key, d->word, n);
    key[n] = '\0';
    add(d, key, d->word + n, NULL);
}

static int numbers_of(const char *parameter)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (strcmp(lists[i].parameter, parameter) == 0) {
            return lists[i].numbers;
        }
    }
    return 1;
}

/* A knob and the words of digits that go on with it. */
static void decode_knob(struct decoder *d)
{
    char value[ISA_WORD_BYTES];
    const size_t i = longest_key(d->word);
    if (i == KEYS) {
        add_unknown(d);
        return;
    }
    size_t used =
        (size_t)snprintf(value, sizeof(value), "%s", d->word + strlen(keys[i].key));
    struct isa_words ahead = d->words;
    char word[ISA_WORD_BYTES];
    for (int n = numbers_of(keys[i].parameter);
         n > 1 && isa_next_word(&ahead, word) &&
         strspn(word, "0123456789") == strlen(word) &&
         used + strlen(word) + 2 < sizeof(value);
         n--) {
        used += (size_t)snprintf(value + used, sizeof(value) - used, "_%s", word);
        d->words = ahead;
    }
    const char *meaning =
        keys[i].meaning; /* one key a parameter, whatever its spelling */
    const char *key = wf_isa_tensile_key(keys[i].parameter, &meaning);
    add(d, key != NULL ? key : keys[i].key, value, meaning);
}

/* What may stand anywhere: "gfx942", "shortname3", a knob without a value ("DTVA"). */
static bool decode_anywhere(struct decoder *d)
{
    const char *word = d->word;
    if (strncmp(word, "gfx", 3) == 0) {
        add(d, "ISA", word + 3, "instruction set, 942 is gfx942");
        return true;
    }
    if (strncmp(word, "shortname", 9) == 0) {
        add(d, "Shortname", word + 9, "a number in place of the knobs");
        return true;
    }
    for (size_t i = 0; i < KEYS; i++) {
        if (strlen(word) > 2 && strcmp(keys[i].key, word) == 0) {
            add(d, word, "1", keys[i].meaning);
            return true;
        }
    }
    return false;
}

static void decode_word(struct decoder *d, bool *in_problem)
{
    const char *word = d->word;
    if (strncmp(word, "MT", 2) == 0 && isdigit((unsigned char)word[2]) != 0) {
        *in_problem = false;
        add_tile(d, word + 2);
    } else if (strcmp(word, "SN") == 0 || strcmp(word, "SE") == 0) {
        add(d, "Names", word, "kind of name");
    } else if (decode_anywhere(d)) {
        return;
    } else if (*in_problem) {
        decode_problem_word(d);
    } else {
        decode_knob(d);
    }
}

enum wf_status isa_tensile_decode(const char *name,
                                  struct wf_isa_knobs *k,
                                  struct wf_error *err)
{
    struct decoder d = { .words = { after_prefix(name) }, .k = k, .err = err };
    bool in_problem = true;
    if (after_prefix(name) != name) {
        add(&d, "Custom", "1", "written by hand");
    }
    (void)next(&d); /* Cijk */
    if (next(&d)) {
        decode_order(&d, "TransA", "il");
    }
    if (next(&d)) {
        decode_order(&d, "TransB", "lj");
    }
    if (next(&d)) {
        decode_types(&d);
    }
    while (next(&d)) {
        decode_word(&d, &in_problem);
    }
    return d.st;
}
