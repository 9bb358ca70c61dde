/* help, man and completion: three renderings of the command table. */
#include "cli/commands.h"
#include "cli/exit_code.h"

#include <stdio.h>
#include <string.h>

static void print_option(const struct wf_opt *o)
{
    char left[64];
    snprintf(left, sizeof(left), "--%s%s%s", o->name, o->metavar != NULL ? " " : "",
             o->metavar != NULL ? o->metavar : "");
    printf("  %-26s %s", left, o->help);
    if (o->env != NULL) {
        printf(" [$%s]", o->env);
    }
    if (o->fallback != NULL) {
        printf(" (default %s)", o->fallback);
    }
    printf("\n");
}

static void print_command(const struct wf_command *c)
{
    printf("usage: wavefarm %s%s%s%s\n\n%s.\n", c->name,
           c->opt_count > 0 ? " [options]" : "", c->synopsis[0] != '\0' ? " " : "",
           c->synopsis, c->summary);
    if (c->details != NULL) {
        printf("\n%s\n", c->details);
    }
    if (c->opt_count > 0) {
        printf("\noptions:\n");
    }
    for (size_t i = 0; i < c->opt_count; i++) {
        print_option(&c->opt[i]);
    }
}

static void print_overview(void)
{
    printf(
        "wavefarm %s: runs GPU kernels, proves their answers, measures their time\n\n"
        "usage: wavefarm COMMAND [options] [arguments]\n\n",
        WF_VERSION);
    for (size_t i = 0; i < wf_command_count(); i++) {
        const struct wf_command *c = wf_command_at(i);
        printf("  %-24s %s\n", c->name, c->summary);
    }
    printf(
        "\n'wavefarm help COMMAND' shows a command's options. Exit status: 0 good, 1 a\n"
        "wrong answer, 2 usage or bad input, 3 refused or infrastructure, 4 no verdict\n"
        "(incomplete), 130 interrupted.\n");
}

/* Commands that begin with these words ("pack" shows all of them). */
static int print_matching(const struct wf_args *args)
{
    size_t shown = 0;
    char prefix[128] = "";
    for (size_t i = 0; i < wf_args_count(args); i++) {
        size_t used = strlen(prefix);
        snprintf(prefix + used, sizeof(prefix) - used, "%s%s", used > 0 ? " " : "",
                 wf_args_at(args, i));
    }
    for (size_t i = 0; i < wf_command_count(); i++) {
        const struct wf_command *c = wf_command_at(i);
        size_t n = strlen(prefix);
        if (strncmp(c->name, prefix, n) == 0 &&
            (c->name[n] == '\0' || c->name[n] == ' ')) {
            printf("%s", shown > 0 ? "\n" : "");
            print_command(c);
            shown++;
        }
    }
    if (shown == 0) {
        struct wf_error err = { 0 };
        (void)wf_errorf(&err, WF_EINVAL, "no command '%s'; 'wavefarm help' lists them",
                        prefix);
        return wf_exit_error(&err);
    }
    return WF_EXIT_GOOD;
}

static int run_help(const struct wf_args *args)
{
    if (wf_args_count(args) == 0) {
        print_overview();
        return WF_EXIT_GOOD;
    }
    return print_matching(args);
}

const struct wf_command wf_command_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "Show the commands, or one command's options",
    .max_args = -1,
    .run = run_help,
};

/* A dot or quote that begins a line would be a request. */
static void man_escape(const char *s)
{
    bool begins = true;
    for (; *s != '\0'; s++) {
        if (begins && (*s == '.' || *s == '\'')) {
            printf("\\&");
        }
        begins = *s == '\n';
        if (*s == '-') {
            printf("\\-");
        } else if (*s == '\\') {
            printf("\\e");
        } else {
            putchar(*s);
        }
    }
}

static void man_command(const struct wf_command *c)
{
    printf(".SS wavefarm %s ", c->name);
    man_escape(c->synopsis);
    printf("\n");
    man_escape(c->summary);
    printf(".\n");
    if (c->details != NULL) {
        printf(".PP\n");
        man_escape(c->details);
        printf("\n");
    }
    for (size_t i = 0; i < c->opt_count; i++) {
        const struct wf_opt *o = &c->opt[i];
        printf(".TP\n.B \\-\\-%s", o->name);
        printf(" %s\n", o->metavar != NULL ? o->metavar : "");
        man_escape(o->help);
        if (o->env != NULL) {
            printf(" [$%s]", o->env);
        }
        if (o->fallback != NULL) {
            printf(" (default ");
            man_escape(o->fallback);
            printf(")");
        }
        printf("\n");
    }
}

static int run_man(const struct wf_args *args)
{
    (void)args;
    printf(
        ".TH WAVEFARM 1 \"\" \"wavefarm %s\"\n.SH NAME\nwavefarm \\- runs GPU kernels, "
        "proves their answers, measures their time\n.SH SYNOPSIS\n.B wavefarm\n.I "
        "COMMAND\n[options] [arguments]\n.SH COMMANDS\n",
        WF_VERSION);
    for (size_t i = 0; i < wf_command_count(); i++) {
        man_command(wf_command_at(i));
    }
    printf(
        ".SH EXIT STATUS\n0 good, 1 a wrong answer, 2 usage or bad input, 3 refused or "
        "infrastructure, 4 no verdict, 130 interrupted.\n");
    return WF_EXIT_GOOD;
}

const struct wf_command wf_command_man = {
    .name = "man",
    .synopsis = "",
    .summary = "Print the man page (troff)",
    .details = "wavefarm man > wavefarm.1",
    .run = run_man,
};

static void print_words(const struct wf_command *c)
{
    for (size_t i = 0; i < c->opt_count; i++) {
        printf("%s--%s", i > 0 ? " " : "", c->opt[i].name);
    }
}

static void bash_completion(void)
{
    printf(
        "_wavefarm() {\n"
        "    local line=\"${COMP_WORDS[*]:1:$((COMP_CWORD - 1))}\" cur=\"${COMP_WORDS[COMP_CWORD]}\"\n"
        "    local words=\n"
        "    case \"$line \" in\n");
    for (size_t i = wf_command_count(); i > 0; i--) {
        const struct wf_command *c = wf_command_at(i - 1);
        printf("    \"%s \"*) words=\"", c->name);
        print_words(c);
        printf("\" ;;\n");
    }
    printf("    *) words=$(printf '%%s\\n'");
    for (size_t i = 0; i < wf_command_count(); i++) {
        printf(" '%s'", wf_command_at(i)->name);
    }
    printf(" | sed -n \"s/^${line:+$line }//p\" | cut -d' ' -f1) ;;\n"
           "    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "}\n"
           "complete -o filenames -F _wavefarm wavefarm\n");
}

/* Inside single quotes. */
static void fish_text(const char *s)
{
    for (; *s != '\0'; s++) {
        printf("%s%c", *s == '\'' || *s == '\\' ? "\\" : "", *s);
    }
}

static void fish_completion(void)
{
    for (size_t i = 0; i < wf_command_count(); i++) {
        const struct wf_command *c = wf_command_at(i);
        if (strchr(c->name, ' ') == NULL) {
            printf("complete -c wavefarm -n __fish_use_subcommand -a %s -d '", c->name);
            fish_text(c->summary);
            printf("'\n");
        }
        for (size_t k = 0; k < c->opt_count; k++) {
            printf("complete -c wavefarm -n '__fish_seen_subcommand_from %s' -l %s\n",
                   c->name, c->opt[k].name);
        }
    }
}

static int run_completion(const struct wf_args *args)
{
    const char *shell = wf_args_at(args, 0);
    if (strcmp(shell, "bash") == 0) {
        bash_completion();
    } else if (strcmp(shell, "zsh") == 0) {
        printf("#compdef wavefarm\nautoload -U +X bashcompinit && bashcompinit\n");
        bash_completion();
        /* Loaded from a site-functions folder, this very call is to complete. */
        printf("[ \"${funcstack[1]}\" != _wavefarm ] || "
               "_bash_complete -o filenames -F _wavefarm\n");
    } else if (strcmp(shell, "fish") == 0) {
        fish_completion();
    } else {
        struct wf_error err = { 0 };
        (void)wf_errorf(&err, WF_EINVAL,
                        "no completion for '%s'; there is bash, zsh and fish", shell);
        return wf_exit_error(&err);
    }
    return WF_EXIT_GOOD;
}

const struct wf_command wf_command_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "Print a shell's completion script",
    .details = "source <(wavefarm completion bash)",
    .min_args = 1,
    .max_args = 1,
    .run = run_completion,
};
