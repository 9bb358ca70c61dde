/* Text of others (names in a suite, a results file, a server's answer) before it goes
 * to a terminal or into a line of a log. */
#ifndef WF_CORE_PRINTABLE_H
#define WF_CORE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* True when text is well-formed UTF-8 without control characters (C0, DEL, C1), line
 * and paragraph separators and marks that turn the direction of what follows. */
bool wf_is_printable(const char *text);

/* In place: a control character becomes a blank, any other thing that is not printable
 * a question mark. The text never grows. */
void wf_make_printable(char *text);

#endif
