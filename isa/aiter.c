/* AITER's kernel names: words joined by '_', in any order behind the family's. */
#include "isa/knobs_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct entry {
    const char *word, *key, *value, *meaning;
};

static const struct entry families[] = {
#define AITER_FAMILY(word, value, meaning) { word, "Family", value, meaning },
#include "isa/aiter.def"
};
static const struct entry words[] = {
#define AITER_WORD(word, key, value, meaning) { word, key, value, meaning },
#include "isa/aiter.def"
};
static const struct entry numbers[] = {
#define AITER_NUMBER(letters, key, meaning) { letters, key, NULL, meaning },
#include "isa/aiter.def"
};
static const struct entry counts[] = {
#define AITER_COUNT(letters, key, meaning) { letters, key, NULL, meaning },
#include "isa/aiter.def"
};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool all_digits(const char *text, size_t n)
{
    return n > 0 && strspn(text, "0123456789") >= n;
}

/* The last part of "_ZN5aiter39bf16gemm_...E" or the name itself; without ".co". */
static void plain_name(const char *name, char *plain, size_t bytes)
{
    const char *at = name;
    size_t n = strlen(at);
    while (strncmp(name, "_ZN", 3) == 0) {
        const char *p = at == name ? name + 3 : at + n;
        size_t length = 0;
        while (isdigit((unsigned char)*p) != 0 && length < 4096) {
            length = 10 * length + (size_t)(*p++ - '0');
        }
        if (length == 0 || length > strlen(p)) {
            break;
        }
        at = p;
        n = length;
    }
    (void)snprintf(plain, bytes, "%.*s", (int)(n < 4096 ? n : 4096), at);
    char *end = strstr(plain, ".co");
    if (end != NULL && end[3] == '\0') {
        *end = '\0';
    }
}

static const struct entry *find_word(const struct entry *list,
                                     size_t count,
                                     const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(list[i].word, word) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

bool isa_is_aiter_name(const char *name)
{
    char plain[1024], word[ISA_WORD_BYTES];
    plain_name(name, plain, sizeof(plain));
    struct isa_words w = { plain };
    return isa_next_word(&w, word) &&
           find_word(families, COUNT(families), word) != NULL;
}

/* "hd128" or "4w". */
static const struct entry *find_number(const char *word,
                                       const char **ret_number,
                                       int *n)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const size_t letters = strlen(numbers[i].word);
        if (strncasecmp(word, numbers[i].word, letters) == 0 &&
            all_digits(word + letters, length - letters)) {
            *ret_number = word + letters;
            *n = (int)(length - letters);
            return &numbers[i];
        }
    }
    for (size_t i = 0; i < COUNT(counts); i++) {
        const size_t letters = strlen(counts[i].word);
        if (length > letters && all_digits(word, length - letters) &&
            strcasecmp(word + length - letters, counts[i].word) == 0) {
            *ret_number = word;
            *n = (int)(length - letters);
            return &counts[i];
        }
    }
    return NULL;
}

/* "128x64", "16x16x32". */
static bool is_dimensions(const char *word)
{
    return strchr(word, 'x') != NULL && isdigit((unsigned char)word[0]) != 0 &&
           strspn(word, "0123456789x") == strlen(word);
}

/* "m16x4": 16 rows, four times. */
static bool is_side(const char *word)
{
    return (word[0] == 'm' || word[0] == 'n') && is_dimensions(word + 1);
}

static enum wf_status decode_word(const char *word,
                                  int *dimensions,
                                  struct wf_isa_knobs *k,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "Tile", "WaveGroup", "MI", "Dimensions" };
    static const char *const why[] = { "tile of a workgroup", "waves along M, N, K",
                                       "matrix instruction", NULL };
    char number[ISA_WORD_BYTES];
    const char *digits;
    int n;
    const struct entry *e = find_word(words, COUNT(words), word);
    if (e != NULL) {
        return wf_isa_knobs_add(k, e->key, e->value, e->meaning, err);
    }
    e = find_number(word, &digits, &n);
    if (e != NULL) {
        (void)snprintf(number, sizeof(number), "%.*s", n, digits);
        return wf_isa_knobs_add(k, e->key, number, e->meaning, err);
    }
    if (is_dimensions(word)) {
        const int i = *dimensions < 3 ? (*dimensions)++ : 3;
        return wf_isa_knobs_add(k, keys[i], word, why[i], err);
    }
    if (is_side(word)) {
        return word[0] == 'm'
                   ? wf_isa_knobs_add(k, "TileM", word + 1, "rows x waves", err)
                   : wf_isa_knobs_add(k, "TileN", word + 1, "columns x waves", err);
    }
    return wf_isa_knobs_add(k, word, "", NULL, err);
}

enum wf_status isa_aiter_decode(const char *name,
                                struct wf_isa_knobs *k,
                                struct wf_error *err)
{
    char plain[1024], word[ISA_WORD_BYTES];
    int dimensions = 0;
    plain_name(name, plain, sizeof(plain));
    struct isa_words w = { plain };
    (void)isa_next_word(&w, word);
    const struct entry *e = find_word(families, COUNT(families), word);
    enum wf_status st =
        e != NULL ? wf_isa_knobs_add(k, e->key, e->value, e->meaning, err) : WF_OK;
    while (st == WF_OK && isa_next_word(&w, word)) {
        st = decode_word(word, &dimensions, k, err);
    }
    return st;
}
