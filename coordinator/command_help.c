/* Help and man page: renderings of commands.def and config.def. */
#include "coordinator/command.h"

#include <stdio.h>
#include <string.h>

enum shown {
    NONE,
    DB,
    ALL
};

struct help {
    const char *name;
    enum shown settings;
    const char *summary, *usage, *details;
};

static const struct help commands[] = {
#define COMMAND(name, settings, summary, usage, details) \
    { #name, settings, summary, usage, details },
#include "coordinator/commands.def"
#undef COMMAND
};

struct setting {
    const char *name, *def, *help;
};

static const struct setting settings[WF_SETTING_COUNT] = {
#define SETTING(name, type, def, least, most, help) { #name, def, help },
#include "coordinator/config.def"
#undef SETTING
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static const struct help *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static void flag_name(const struct setting *s, char *ret, size_t n)
{
    size_t k = 0;
    for (const char *c = s->name; *c && k + 1 < n; c++) {
        ret[k++] = *c == '_' ? '-' : *c;
    }
    ret[k] = '\0';
}

static void print_settings(FILE *out, enum shown shown)
{
    if (shown == NONE) {
        return;
    }
    fputs("\nSettings (flag, WAVEFARM_* variable, or line of --config FILE):\n", out);
    for (size_t i = 0; i < WF_SETTING_COUNT; i++) {
        char flag[64];
        if (shown == DB && i != WF_SETTING_db) {
            continue;
        }
        flag_name(&settings[i], flag, sizeof flag);
        fprintf(out, "  --%-20s %s [%s]\n", flag, settings[i].help, settings[i].def);
    }
}

/* Each form on a line of its own. */
static void print_usage(FILE *out, const struct help *h)
{
    const char *lead = "usage:";
    for (const char *line = h->usage; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(out, "%s wavefarm-coordinator %.*s\n", lead, (int)n, line);
        lead = "      ";
        line += n + (line[n] == '\n');
    }
}

int wf_command_usage(const char *name)
{
    const struct help *h = find(name);
    if (h) {
        print_usage(stderr, h);
        fputs(h->details, stderr);
    }
    return WF_EXIT_USAGE;
}

void wf_command_overview(FILE *out)
{
    fputs("usage: wavefarm-coordinator COMMAND ...\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n'wavefarm-coordinator COMMAND --help' tells about one command.\n", out);
    print_settings(out, ALL);
}

bool wf_command_help(const char *name)
{
    const struct help *h = find(name);
    if (!h) {
        return false;
    }
    print_usage(stdout, h);
    printf("\n%s", h->details);
    print_settings(stdout, h->settings);
    return true;
}

/* A dot or quote that begins a line would be a request. */
static void man_text(const char *s)
{
    bool begins = true;
    for (; *s; s++) {
        if (begins && (*s == '.' || *s == '\'')) {
            fputs("\\&", stdout);
        }
        begins = *s == '\n';
        if (*s == '-' || *s == '\\') {
            fputs(*s == '-' ? "\\-" : "\\e", stdout);
        } else {
            putchar(*s);
        }
    }
}

static void man_command(const struct help *h)
{
    printf(".SS %s\n", h->name);
    man_text(h->summary);
    fputs(".\n.PP\n.nf\n", stdout);
    man_text(h->usage);
    fputs("\n.fi\n.PP\n.nf\n", stdout);
    man_text(h->details);
    fputs(".fi\n", stdout);
}

static void man_setting(const struct setting *s)
{
    char flag[64];
    flag_name(s, flag, sizeof flag);
    fputs(".TP\n.B ", stdout);
    man_text("--");
    man_text(flag);
    putchar('\n');
    man_text(s->help);
    if (*s->def) {
        fputs(" (default ", stdout);
        man_text(s->def);
        putchar(')');
    }
    putchar('\n');
}

int wf_command_man(int argc, char **argv)
{
    (void)argv;
    if (argc > 0) {
        return wf_command_usage("man");
    }
    fputs(
        ".TH WAVEFARM\\-COORDINATOR 1 \"\" \"wavefarm " WF_VERSION "\"\n"
        ".SH NAME\nwavefarm\\-coordinator \\- shards suites over runners, keeps their "
        "results\n.SH SYNOPSIS\n.B wavefarm\\-coordinator\n.I COMMAND\n[settings]\n"
        ".SH COMMANDS\n",
        stdout);
    for (size_t i = 0; i < COMMANDS; i++) {
        man_command(&commands[i]);
    }
    fputs(".SH SETTINGS\nA flag goes over the variable WAVEFARM_NAME, this over a line "
          "\"name = value\" of the file that\n.B \\-\\-config\nor "
          "WAVEFARM_COORDINATOR_CONFIG names, that over the default.\n",
          stdout);
    for (size_t i = 0; i < WF_SETTING_COUNT; i++) {
        man_setting(&settings[i]);
    }
    fputs(
        ".SH EXIT STATUS\n0 good, 2 usage (a bad flag, setting or value), 3 refused or "
        "infrastructure.\n.SH SEE ALSO\n.BR wavefarm (1)\n",
        stdout);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("wavefarm-coordinator: cannot write the output\n", stderr);
        return WF_EXIT_INFRA;
    }
    return 0;
}
