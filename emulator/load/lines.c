/* Source lines through elfutils' libdw; the only file that includes it.
 *
 * The debug information may be anybody's and is most of a file, so nothing of it is
 * read before a fault asks for a line. A table of all rows is made then: compile units
 * without .debug_aranges (clang leaves it out) would be searched one by one otherwise.
 */
#include "emulator/load/lines.h"

#include "core/buf.h"

#include <elfutils/libdw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct em_lines {
    pthread_mutex_t lock;
    const uint8_t *elf;
    size_t bytes;
    bool opened;
    uint8_t *copy; /* libelf wants memory that it may write to */
    Elf *file;
    Dwarf *dwarf;
};

struct em_lines *em_lines_create(const uint8_t *elf, size_t bytes)
{
    struct em_lines *l = wf_calloc(1, sizeof(*l));
    if (l == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&l->lock, NULL) != 0) {
        free(l);
        return NULL;
    }
    l->elf = elf;
    l->bytes = bytes;
    return l;
}

void em_lines_destroy(struct em_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    if (lines->dwarf != NULL) {
        (void)dwarf_end(lines->dwarf);
    }
    if (lines->file != NULL) {
        (void)elf_end(lines->file);
    }
    (void)pthread_mutex_destroy(&lines->lock);
    free(lines->copy);
    free(lines);
}

static void open_file(struct em_lines *l)
{
    l->opened = true;
    l->copy = wf_calloc(l->bytes, 1);
    if (l->copy == NULL || elf_version(EV_CURRENT) == EV_NONE) {
        return;
    }
    memcpy(l->copy, l->elf, l->bytes);
    l->file = elf_memory((char *)l->copy, l->bytes);
    if (l->file != NULL) {
        l->dwarf = dwarf_begin_elf(l->file, DWARF_C_READ, NULL);
    }
}

/* The row that holds the address, in one unit's rows (which are sorted): the last one
 * at or before it, unless that ends a sequence. */
static Dwarf_Line *find_in_unit(Dwarf_Die *unit, uint64_t address)
{
    Dwarf_Lines *rows = NULL;
    size_t count = 0;
    if (dwarf_getsrclines(unit, &rows, &count) != 0) {
        return NULL;
    }
    Dwarf_Line *best = NULL;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *row = dwarf_onesrcline(rows, i);
        Dwarf_Addr start = 0;
        if (row == NULL || dwarf_lineaddr(row, &start) != 0 || start > address) {
            break;
        }
        best = row;
    }
    bool end = true;
    if (best == NULL || dwarf_lineendsequence(best, &end) != 0 || end) {
        return NULL;
    }
    return best;
}

static Dwarf_Line *find(Dwarf *dwarf, uint64_t address)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    Dwarf_Line *found = NULL;
    while (found == NULL &&
           dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        found = find_in_unit(&die, address);
    }
    return found;
}

bool em_lines_find(struct em_lines *lines, uint64_t address, char *text, size_t bytes)
{
    bool found = false;
    (void)pthread_mutex_lock(&lines->lock);
    if (!lines->opened) {
        open_file(lines);
    }
    Dwarf_Line *row = lines->dwarf == NULL ? NULL : find(lines->dwarf, address);
    const char *file = row == NULL ? NULL : dwarf_linesrc(row, NULL, NULL);
    int number = 0;
    if (file != NULL && dwarf_lineno(row, &number) == 0 && number > 0) {
        const char *slash = strrchr(file, '/');
        (void)snprintf(text, bytes, "%s:%d", slash == NULL ? file : slash + 1, number);
        found = true;
    }
    (void)pthread_mutex_unlock(&lines->lock);
    return found;
}
