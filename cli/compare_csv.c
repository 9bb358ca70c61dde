/* The comparison as CSV (RFC 4180): a row a task, fields quoted, quotes doubled, lines
 * ended by CR LF. */
#include "cli/compare_view.h"

#include "core/parse.h"

#include <math.h>
#include <stdio.h>

static void put_text(const char *s, char end)
{
    putchar('"');
    for (; *s != '\0'; s++) {
        if (*s == '"') {
            putchar('"');
        }
        putchar(*s);
    }
    putchar('"');
    putchar(end);
}

/* Empty where it is not known. */
static void put_number(double v, char end)
{
    char text[32];
    printf("%s%c", isfinite(v) ? wf_format_f64(v, text, sizeof(text)) : "", end);
}

static void put_side(const struct wf_unpaired_side *s)
{
    put_text(s->count > 0 ? wf_answer_name(s->answer) : "", ',');
    put_number(s->count > 0 ? s->median : NAN, ',');
    put_number(s->count > 0 ? s->lo : NAN, ',');
    put_number(s->count > 0 ? s->hi : NAN, ',');
}

static void put_notes(const struct wf_json *list)
{
    putchar('"');
    for (const struct wf_json *n = wf_json_first(list); n != NULL;
         n = wf_json_next(n)) {
        for (const char *s = wf_json_string(n); *s != '\0'; s++) {
            printf("%s%c", *s == '"' ? "\"" : "", *s);
        }
        printf("%s", wf_json_next(n) != NULL ? "; " : "");
    }
    printf("\"\r\n");
}

void wf_print_compare_csv(const struct wf_compare *c)
{
    printf("verdict,case,kernel,model,a_answer,a_median_ns,a_low_ns,a_high_ns,b_answer,"
           "b_median_ns,b_low_ns,b_high_ns,ratio,low,high,notes\r\n");
    for (size_t i = 0; i < c->result->count; i++) {
        const struct wf_unpaired_row *r = &c->result->row[i];
        put_text(wf_unpaired_status_name(r->status), ',');
        put_text(wf_unpaired_case(r), ',');
        put_text(wf_unpaired_kernel(r), ',');
        put_text(wf_unpaired_model(r), ',');
        put_side(&r->a);
        put_side(&r->b);
        put_number(r->ratio, ',');
        put_number(r->low, ',');
        put_number(r->high, ',');
        put_notes(r->note);
    }
}
