/* wf-packgen: compiles kernel entries and makes a pack of them, at build time.
 *
 *   wf-packgen device --name N --arch A --format co|cubin|ptx --clang C [--nvcc C]
 *              --root TREE --out FOLDER [--depfile F] [--jobs N] [--cache FOLDER|none]
 *              [--cache-mib N] [--timeout-s N] ENTRY...
 *   wf-packgen library --name N --root TREE --out FOLDER --file SO... --compiler C
 *              --compiler-version V [--flag F]... [--depfile F] ENTRY...
 *
 * Entries are paths relative to the tree. Exit status 1 and one line on standard error
 * when something is wrong; the old pack is left as it was. */
#include "packs/build.h"
#include "packs/kernel_cache.h"

#include "core/buf.h"
#include "core/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 512

static const char usage[] =
    "usage: wf-packgen device --name N --arch A --format co|cubin|ptx --clang C\n"
    "                  [--nvcc C] --root TREE --out FOLDER [--depfile F] [--jobs N]\n"
    "                  [--cache FOLDER|none] [--cache-mib N] [--timeout-s N] ENTRY...\n"
    "       wf-packgen library --name N --root TREE --out FOLDER --file SO...\n"
    "                  --compiler C --compiler-version V [--flag F]... [--depfile F]\n"
    "                  ENTRY...\n";

/* Words of the command line, borrowed. */
struct words {
    const char *item[MAX_WORDS];
    size_t count;
};

struct options {
    bool library;
    struct wf_build_options device;
    const char *compiler, *compiler_version, *cache;
    int64_t jobs, cache_mib, timeout_s;
    struct words files, flags, entries;
};

static bool append(struct words *list, const char *word)
{
    if (list->count + 1 >= MAX_WORDS) {
        return false;
    }
    list->item[list->count++] = word;
    return true;
}

static bool set_number(struct options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        int64_t *to;
        int64_t max;
    } numbers[] = {
        { "--jobs", &o->jobs, 256 },
        { "--cache-mib", &o->cache_mib, 1 << 20 },
        { "--timeout-s", &o->timeout_s, 86400 },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            return wf_parse_i64(value, name, 0, numbers[i].max, numbers[i].to, NULL) ==
                   WF_OK;
        }
    }
    return false;
}

static bool set_option(struct options *o, const char *name, const char *value)
{
    struct wf_build_options *d = &o->device;
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        { "--name", &d->name },
        { "--arch", &d->arch },
        { "--format", &d->format },
        { "--clang", &d->clang },
        { "--nvcc", &d->nvcc },
        { "--root", &d->root },
        { "--out", &d->out },
        { "--depfile", &d->depfile },
        { "--cache", &o->cache },
        { "--compiler", &o->compiler },
        { "--compiler-version", &o->compiler_version },
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
    if (strcmp(name, "--flag") == 0) {
        return append(&o->flags, value);
    }
    return set_number(o, name, value);
}

static bool parse(int argc, char **argv, struct options *o)
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
    return o->device.name != NULL && o->device.root != NULL && o->device.out != NULL &&
           o->entries.count > 0;
}

static bool is_complete(const struct options *o)
{
    const char *format = o->device.format;
    if (o->library) {
        return o->compiler != NULL && o->compiler_version != NULL;
    }
    if (o->device.arch == NULL || format == NULL) {
        return false;
    }
    if (strcmp(format, "cubin") == 0) {
        return o->device.nvcc != NULL;
    }
    return o->device.clang != NULL &&
           (strcmp(format, "co") == 0 || strcmp(format, "ptx") == 0);
}

static enum wf_status make_library(const struct options *o, struct wf_error *err)
{
    const struct wf_build_library l = {
        .name = o->device.name,
        .root = o->device.root,
        .out = o->device.out,
        .depfile = o->device.depfile,
        .compiler = o->compiler,
        .compiler_version = o->compiler_version,
        .flag = o->flags.item,
        .flag_count = o->flags.count,
        .file = o->files.item,
        .file_count = o->files.count,
        .entry = o->entries.item,
        .entry_count = o->entries.count,
    };
    return wf_build_library_pack(&l, err);
}

/* A cache that cannot be opened is no reason not to compile. */
static struct wf_kernel_cache *open_cache(const struct options *o)
{
    struct wf_kernel_cache *cache = NULL;
    struct wf_error err;
    if (wf_kernel_cache_open(o->cache, o->cache_mib << 20, &cache, &err) != WF_OK) {
        (void)fprintf(stderr, "wf-packgen: warning: compiling without a cache: %s\n",
                      err.text);
        return NULL;
    }
    return cache;
}

static enum wf_status make_device(struct options *o, struct wf_error *err)
{
    static struct wf_build_kernel kernels[MAX_WORDS];
    for (size_t i = 0; i < o->entries.count; i++) {
        kernels[i] = (struct wf_build_kernel){ .entry = o->entries.item[i] };
    }
    o->device.jobs = (int)o->jobs;
    o->device.timeout_ms = (int)o->timeout_s * 1000;
    o->device.cache = open_cache(o);
    enum wf_status st = wf_build_pack(&o->device, kernels, o->entries.count, NULL, err);
    wf_kernel_cache_close(o->device.cache);
    return st;
}

int main(int argc, char **argv)
{
    static struct options o = { .timeout_s = 600 };
    struct wf_error err = { .text = "" };
    if (!parse(argc, argv, &o) || !is_complete(&o)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    if ((o.library ? make_library(&o, &err) : make_device(&o, &err)) != WF_OK) {
        (void)fprintf(stderr, "wf-packgen: %s\n", err.text);
        return 1;
    }
    return 0;
}
