/* Arguments of the subcommands, by one table.  Any thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/cli/cli.h"

enum { CHECK = 1, FIX = 2, EXPLAIN = 4, DOCTOR = 8, MAX_JOBS = 64, DEFAULT_TIMEOUT_S = 60 };

static const struct option {
    const char *name, *value, *help; /* value: NULL for a switch */
    unsigned commands;
} options[] = {
    {"--json", NULL, "print JSON (docs/json.md)", CHECK | FIX | EXPLAIN | DOCTOR},
    {"--python", "PATH", "the interpreter that has torch and your packages", CHECK | FIX | EXPLAIN | DOCTOR},
    {"--static", NULL, "run nothing: read the files only", CHECK},
    {"--diff", NULL, "show the proved edits as a unified diff (the default)", FIX},
    {"--apply", NULL, "write the proved edits to the files", FIX},
    {"--max-safety", "CLASS", "weakest edits allowed: exact (default), effects, numeric, config", FIX},
    {"--train", NULL, "run every entry in training mode with gradients", CHECK | FIX},
    {"--timeout", "SECONDS", "deadline of one entry (default 60)", CHECK | FIX},
    {"-j", "N", "worker processes (default 1)", CHECK},
    {"--exclude", "PATTERN", "skip paths that match (shell pattern; repeatable)", CHECK | FIX},
    {"--select", "IDS", "only these break ids (comma-separated)", CHECK | FIX},
    {"--ignore", "IDS", "all but these break ids (comma-separated)", CHECK | FIX},
    {"--stdin-filename", "PATH", "read this file's text from standard input", CHECK},
    {"--fail-on", "breaks|never", "whether breaks make the exit code 1 (default breaks)", CHECK | FIX},
};

static const struct {
    const char *name;
    unsigned bit;
    const char *usage;
} commands[] = {
    {"check", CHECK,
     "check [options] PATH...\n\nRuns the files' entries under TorchDynamo and shows every graph break.\n"
     "Exit code: 0 no break, 1 breaks, 2 something could not be run."},
    {"fix", FIX,
     "fix [options] PATH...\n\nMends graph breaks with edits proved on the files' own inputs. Writes only with "
     "--apply."},
    {"explain", EXPLAIN, "explain GBxxxx\n\nSays what a graph break is, why it happens and what to do."},
    {"doctor", DOCTOR, "doctor [options]\n\nSays which Python, torch and CUDA are used, and what is missing."},
};

static unsigned command_bit(const char *command) {
    for (size_t i = 0; i < GG_COUNT(commands); i++)
        if (strcmp(command, commands[i].name) == 0) return commands[i].bit;
    return 0;
}

int gg_cli_help(const char *command) {
    unsigned bit = command_bit(command);
    for (size_t i = 0; i < GG_COUNT(commands); i++)
        if (commands[i].bit == bit) printf("usage: graphglue-lsp %s\n\noptions:\n", commands[i].usage);
    for (size_t i = 0; i < GG_COUNT(options); i++) {
        if (!(options[i].commands & bit)) continue;
        char head[64];
        snprintf(head, sizeof(head), "%s %s", options[i].name, options[i].value ? options[i].value : "");
        printf("  %-24s %s\n", head, options[i].help);
    }
    return GG_CLI_CLEAN;
}

int gg_cli_usage_error(const char *command, const gg_error *err) {
    fprintf(stderr, "graphglue-lsp %s: %s\n", command, err->message);
    return GG_CLI_FAILED;
}

static const struct option *find_option(const char *name, unsigned bit) {
    for (size_t i = 0; i < GG_COUNT(options); i++)
        if (strcmp(options[i].name, name) == 0 && (options[i].commands & bit)) return &options[i];
    return NULL;
}

static int parse_number(const char *value, const char *name, unsigned long max, unsigned long *out, gg_error *err) {
    char *end = NULL;
    errno = 0;
    *out = strtoul(value, &end, 10);
    if (errno || end == value || *end || *out == 0 || *out > max || value[0] == '-')
        return gg_fail(err, GG_EPARAMS, "%s wants a number from 1 to %lu, not '%s'", name, max, value);
    return 0;
}

static void split_ids(gg_cli_args *args, gg_cli_names *out, const char *value) {
    char *copy = gg_str_dup(gg_str_from(value)), *rest = NULL;
    gg_list_push(&args->owned, copy);
    for (char *id = strtok_r(copy, ", ", &rest); id; id = strtok_r(NULL, ", ", &rest)) gg_list_push(out, id);
}

static int take(gg_cli_args *a, const char *name, const char *value, gg_error *err) {
    unsigned long number = 0;
    int error = 0;
    if (value == NULL) value = ""; /* a switch */
    if (strcmp(name, "--json") == 0)
        a->json = true;
    else if (strcmp(name, "--static") == 0)
        a->is_static = true;
    else if (strcmp(name, "--train") == 0)
        a->train = true;
    else if (strcmp(name, "--diff") == 0)
        a->diff = true;
    else if (strcmp(name, "--apply") == 0)
        a->apply = true;
    else if (strcmp(name, "--python") == 0)
        a->python = value;
    else if (strcmp(name, "--stdin-filename") == 0)
        a->stdin_filename = value;
    else if (strcmp(name, "--exclude") == 0)
        gg_list_push(&a->excludes, (char *)(uintptr_t)value);
    else if (strcmp(name, "--select") == 0)
        split_ids(a, &a->select, value);
    else if (strcmp(name, "--ignore") == 0)
        split_ids(a, &a->ignore, value);
    else if (strcmp(name, "-j") == 0) {
        error = parse_number(value, name, MAX_JOBS, &number, err);
        a->jobs = (unsigned)number;
    } else if (strcmp(name, "--timeout") == 0) {
        error = parse_number(value, name, 86400, &number, err);
        a->timeout_ms = (uint32_t)number * 1000;
    } else if (strcmp(name, "--fail-on") == 0) {
        a->never_fail = strcmp(value, "never") == 0;
        if (!a->never_fail && strcmp(value, "breaks") != 0)
            error = gg_fail(err, GG_EPARAMS, "--fail-on wants breaks or never, not '%s'", value);
    } else if (!gg_safety_parse(value, &a->max_safety) || a->max_safety == GG_SAFETY_OPAQUE) {
        error = gg_fail(err, GG_EPARAMS, "--max-safety wants exact, effects, numeric or config, not '%s'", value);
    }
    return error;
}

int gg_cli_parse(gg_cli_args *out, int argc, char **argv, bool *help, gg_error *err) {
    *out = (gg_cli_args){.command = argv[0], .jobs = 1, .timeout_ms = DEFAULT_TIMEOUT_S * 1000};
    *help = false;
    unsigned bit = command_bit(argv[0]);
    bool only_paths = false;
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        if (only_paths || arg[0] != '-' || strcmp(arg, "-") == 0) {
            gg_list_push(&out->paths, arg);
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_paths = true;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            *help = true;
            return 0;
        }
        char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
        char *name = equals ? gg_str_dup((gg_str){arg, (size_t)(equals - arg)}) : arg;
        if (equals) gg_list_push(&out->owned, name);
        const struct option *option = find_option(name, bit);
        if (option == NULL)
            return gg_fail(err, GG_EPARAMS, "unknown option %s (see graphglue-lsp %s --help)", arg, argv[0]);
        const char *value = NULL;
        if (option->value) {
            value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (value == NULL) return gg_fail(err, GG_EPARAMS, "%s wants %s", name, option->value);
        } else if (equals) {
            return gg_fail(err, GG_EPARAMS, "%s takes no value", name);
        }
        int error = take(out, name, value, err);
        if (error) return error;
    }
    if (out->diff && out->apply) return gg_fail(err, GG_EPARAMS, "--diff and --apply exclude each other");
    return 0;
}

void gg_cli_args_clear(gg_cli_args *args) {
    for (size_t i = 0; i < args->owned.len; i++) gg_free(args->owned.items[i]);
    gg_list_clear(&args->owned);
    gg_list_clear(&args->paths);
    gg_list_clear(&args->excludes);
    gg_list_clear(&args->select);
    gg_list_clear(&args->ignore);
}

bool gg_cli_wants_id(const gg_cli_args *args, gg_str id) {
    for (size_t i = 0; i < args->ignore.len; i++)
        if (gg_str_is(id, args->ignore.items[i])) return false;
    for (size_t i = 0; i < args->select.len; i++)
        if (gg_str_is(id, args->select.items[i])) return true;
    return args->select.len == 0;
}
