/* Two sets of results side by side, as text, JSON, Markdown and CSV. */
#ifndef WF_CLI_COMPARE_VIEW_H
#define WF_CLI_COMPARE_VIEW_H

#include "gate/unpaired.h"

#include <stdbool.h>
#include <stddef.h>

/* What was compared, and what was asked. */
struct wf_compare {
    const char *a, *b; /* names: files or runs */
    size_t count[2], expected[2];
    double threshold; /* NAN: none asked */
    bool all;         /* also rows that say nothing new */
    const struct wf_unpaired *result;
};

/* The row's interval lies wholly above A by more than the threshold. */
bool wf_compare_is_beyond(const struct wf_compare *c, const struct wf_unpaired_row *r);

void wf_print_compare_text(const struct wf_compare *c);
void wf_print_compare_markdown(const struct wf_compare *c);
void wf_print_compare_csv(const struct wf_compare *c); /* all rows */
enum wf_status wf_print_compare_json(const struct wf_compare *c, struct wf_error *err);

#endif
