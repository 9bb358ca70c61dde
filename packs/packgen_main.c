/* wf-packgen: compiles kernel entries and makes a pack of them, at build time.
 *
 *   wf-packgen device --name N --arch A --format co|cubin|ptx --clang C [--nvcc C]
 *              --root TREE --out FOLDER [--depfile F] ENTRY...
 *   wf-packgen library --name N --root TREE --out FOLDER --file SO... --compiler C
 *              --compiler-version V [--flag F]... [--depfile F] ENTRY...
 *
 * Entries are paths relative to the tree. Exit status 1 and one line on standard error
 * when something is wrong; the old pack is left as it was. */
#include "packs/packgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: wf-packgen device --name N --arch A --format co|cubin|ptx --clang C\n"
    "                  [--nvcc C] --root TREE --out FOLDER [--depfile F] ENTRY...\n"
    "       wf-packgen library --name N --root TREE --out FOLDER --file SO...\n"
    "                  --compiler C --compiler-version V [--flag F]... [--depfile F]\n"
    "                  ENTRY...\n";

static bool append(struct packgen_list *list, const char *word)
{
    if (list->count + 1 >= PACKGEN_MAX_WORDS) {
        return false;
    }
    list->item[list->count++] = word;
    return true;
}

static bool set_option(struct packgen_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        { "--name", &o->name },         { "--arch", &o->arch },
        { "--format", &o->format },     { "--clang", &o->clang },
        { "--nvcc", &o->nvcc },         { "--root", &o->root },
        { "--out", &o->out },           { "--depfile", &o->depfile },
        { "--compiler", &o->compiler }, { "--compiler-version", &o->compiler_version },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return true;
        }
    }
    if (strcmp(name, "--file") == 0) {
        return append(&o->files, value);
    }
    return strcmp(name, "--flag") == 0 && append(&o->flags, value);
}

static bool parse(int argc, char **argv, struct packgen_options *o)
{
    if (argc < 2) {
        return false;
    }
    o->library = strcmp(argv[1], "library") == 0;
    if (!o->library && strcmp(argv[1], "device") != 0) {
        return false;
    }
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (!append(&o->entries, argv[i])) {
                return false;
            }
        } else if (i + 1 == argc || !set_option(o, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    return o->name != NULL && o->root != NULL && o->out != NULL && o->entries.count > 0;
}

static bool is_complete(const struct packgen_options *o)
{
    if (o->library) {
        return o->compiler != NULL && o->compiler_version != NULL;
    }
    if (o->arch == NULL || o->format == NULL) {
        return false;
    }
    if (strcmp(o->format, "cubin") == 0) {
        return o->nvcc != NULL;
    }
    return o->clang != NULL &&
           (strcmp(o->format, "co") == 0 || strcmp(o->format, "ptx") == 0);
}

int main(int argc, char **argv)
{
    static struct packgen_options o;
    struct wf_error err = { .text = "" };
    if (!parse(argc, argv, &o) || !is_complete(&o)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    if (packgen_make(&o, &err) != WF_OK) {
        (void)fprintf(stderr, "wf-packgen: %s\n", err.text);
        return 1;
    }
    return 0;
}
