/* The two schemes of names (tensile.c, aiter.c). */
#ifndef WF_ISA_KNOBS_INTERNAL_H
#define WF_ISA_KNOBS_INTERNAL_H

#include "isa/knobs.h"

bool isa_is_tensile_name(const char *name);
enum wf_status isa_tensile_decode(const char *name,
                                  struct wf_isa_knobs *k,
                                  struct wf_error *err);
bool isa_is_aiter_name(const char *name);
enum wf_status isa_aiter_decode(const char *name,
                                struct wf_isa_knobs *k,
                                struct wf_error *err);

/* The next word of a name, up to '_' or the end; false at the end. */
#define ISA_WORD_BYTES 96
struct isa_words {
    const char *at;
};
bool isa_next_word(struct isa_words *w, char word[ISA_WORD_BYTES]);

#endif
