/* Text of others: what a terminal would obey does not get through. */
#include "core/printable.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static void check(const char *from, const char *want)
{
    char text[128];

    (void)snprintf(text, sizeof text, "%s", from);
    wf_make_printable(text);
    cr_assert_str_eq(text, want, "\"%s\", not \"%s\"", text, want);
    cr_assert(wf_is_printable(text));
    cr_assert_eq(wf_is_printable(from), strcmp(from, want) == 0);
}

Test(printable, ordinary_text_of_any_script_stays)
{
    check("", "");
    check("2048x1280 NT, 50 % ~", "2048x1280 NT, 50 % ~");
    check("gr\xC3\xB6\xC3\x9F"
          "e \xE6\xBC\xA2 \xF0\x9F\x90\x8A \xC2\xA0",
          "gr\xC3\xB6\xC3\x9F"
          "e \xE6\xBC\xA2 \xF0\x9F\x90\x8A \xC2\xA0");
}

Test(printable, controls_become_blanks)
{
    check("\x1b[31mred\x07", " [31mred ");
    check("a\nPASS forged\r\t", "a PASS forged  ");
    check("\x7f", " ");
    check("\xC2\x9B"
          "31m \xC2\x80\xC2\x85",
          " 31m   "); /* CSI in one character */
}

Test(printable, marks_that_move_text_are_shown_as_such)
{
    check("a\xE2\x80\xAE"
          "b",
          "a?b");                                           /* U+202E */
    check("\xE2\x81\xA6x\xE2\x80\xA8\xEF\xBB\xBF", "?x??"); /* U+2066 U+2028 U+FEFF */
    check("\xE2\x80\x8B\xD8\x9C", "??");                    /* U+200B U+061C */
    check("\xE2\x80\x93\xE2\x80\x94", "\xE2\x80\x93\xE2\x80\x94"); /* dashes */
}

Test(printable, malformed_bytes_do_not_pass)
{
    check("a\x9b"
          "31m\xff",
          "a?31m?");
    check("\xC3", "?");
    check("\xE2\x80", "??");
    check("\xC0\x9B", "??");      /* overlong ESC-like */
    check("\xED\xA0\x80", "???"); /* surrogate */
}
