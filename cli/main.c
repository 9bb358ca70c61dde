/* `wavefarm`: finds the command, parses its line, runs it. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "core/log.h"
#include "core/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int wf_interrupted = 0;

static const struct wf_command *const commands[] = {
#define COMMAND(id) &wf_command_##id,
#include "cli/commands.def"
#undef COMMAND
};

size_t wf_command_count(void)
{
    return sizeof(commands) / sizeof(commands[0]);
}

const struct wf_command *wf_command_at(size_t i)
{
    return i < wf_command_count() ? commands[i] : NULL;
}

/* Number of words of `name` when argv begins with them, else 0. */
static int match_words(const char *name, int argc, char **argv)
{
    int words = 0;
    while (*name != '\0') {
        size_t len = strcspn(name, " ");
        if (words >= argc || strlen(argv[words]) != len ||
            strncmp(argv[words], name, len) != 0) {
            return 0;
        }
        words++;
        name += len;
        name += *name == ' ';
    }
    return words;
}

const struct wf_command *wf_command_find(int argc, char **argv, int *ret_words)
{
    const struct wf_command *best = NULL;
    *ret_words = 0;
    for (size_t i = 0; i < wf_command_count(); i++) {
        int words = match_words(commands[i]->name, argc, argv);
        if (words > *ret_words) {
            best = commands[i];
            *ret_words = words;
        }
    }
    return best;
}

static void on_signal(int number)
{
    (void)number;
    wf_interrupted++;
}

static void catch_signals(void)
{
    struct sigaction a;
    memset(&a, 0, sizeof(a));
    a.sa_handler = on_signal;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    a.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &a, NULL);
}

/* A closed standard descriptor would be given to the next file that is opened, and
 * messages would go into that file. What stands in its place refuses, so that a lost
 * output is still told. */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

static int run_help(char **words, int count)
{
    struct wf_args *args = NULL;
    struct wf_error err = { 0 };
    if (wf_args_parse(&wf_command_help, count, words, &args, &err) != WF_OK) {
        return wf_exit_error(&err);
    }
    int code = wf_command_help.run(args);
    wf_args_free(args);
    return code;
}

static int run_command(int argc, char **argv)
{
    int words = 0;
    struct wf_args *args = NULL;
    struct wf_error err = { 0 };
    if (argc < 2) {
        run_help(NULL, 0);
        return WF_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("wavefarm %s\n", wf_version);
        return WF_EXIT_GOOD;
    }
    const struct wf_command *c = wf_command_find(argc - 1, argv + 1, &words);
    if (asks_help(argc - 1, argv + 1)) {
        return run_help(argv + 1, words);
    }
    if (c == NULL) {
        (void)wf_errorf(&err, WF_EINVAL, "unknown command '%s'; see 'wavefarm help'",
                        argv[1]);
        return wf_exit_error(&err);
    }
    if (wf_args_parse(c, argc - 1 - words, argv + 1 + words, &args, &err) != WF_OK) {
        return wf_exit_error(&err);
    }
    int code = c->run(args);
    wf_args_free(args);
    return code;
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    wf_log_init("wavefarm", WF_LOG_INFO);
    catch_signals();
    int code = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "wavefarm: cannot write the output\n");
        return code != WF_EXIT_GOOD ? code : WF_EXIT_INFRA;
    }
    return code;
}
