/* Arguments of the subcommands, by one table.  Any thread. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/cli/cli.h"

enum { CHECK = 1, FIX = 2, EXPLAIN = 4, DOCTOR = 8, RECORD = 16, RUN = 32, GRAPH = 64, MAX_JOBS = 64 };

static const struct option {
    const char *name, *value, *help; /* value: NULL for a switch */
    unsigned commands;
} options[] = {
    {"--json", NULL, "print JSON (docs/json.md)", CHECK | FIX | GRAPH | EXPLAIN | DOCTOR},
    {"--sarif", NULL, "print SARIF 2.1.0, for code scanning (docs/sarif.md)", CHECK},
    {"--python", "PATH", "the interpreter that has torch and your packages", CHECK | FIX | GRAPH | EXPLAIN | DOCTOR},
    {"--worker-command", "WORDS", "run the worker elsewhere: ssh HOST, srun, docker exec -i NAME (docs/remote.md)",
     CHECK | FIX | GRAPH | DOCTOR},
    {"--worker-program", "PATH", "graphglue-worker there (default: on the PATH there)", CHECK | FIX | GRAPH | DOCTOR},
    {"--worker-map", "HERE=THERE", "a folder here and the same one there (repeatable)", CHECK | FIX | GRAPH | DOCTOR},
    {"--worker-start", "SECONDS", "how long --worker-command may take to answer (default 60)",
     CHECK | FIX | GRAPH | DOCTOR},
    {"--entry", "NAME", "show this entry only", GRAPH},
    {"--svg", NULL, "print a picture of where the graph splits, of one entry", GRAPH},
    {"--static", NULL, "run nothing: say what the text alone tells", CHECK},
    {"--diff", NULL, "show the proved edits as a unified diff (the default)", FIX},
    {"--apply", NULL, "write the proved edits to the files", FIX},
    {"--max-safety", "CLASS", "weakest edits allowed: exact (default), effects, numeric, config, opaque", FIX},
    {"--package", "NAME", "mend this installed package too, in an overlay (repeatable; docs/overlay.md)", FIX},
    {"--bench", NULL, "time every entry without the compiler, compiled as it was, and compiled as mended", FIX},
    {"--llm", NULL, "ask the language model that is configured for what no rule mends (docs/model.md)", FIX},
    {"--llm", NULL, "have breaks explained by the language model that is configured (docs/model.md)", CHECK},
    {"--show-prompt", NULL, "with --llm: print what would be sent, and send nothing", FIX},
    {"--repair-log", "PATH", "with --llm: write what was asked, answered and judged", FIX},
    {"--train", NULL, "run every entry in training mode with gradients", CHECK | FIX | GRAPH},
    {"--timeout", "SECONDS", "deadline of one entry (default 60)", CHECK | FIX | GRAPH},
    {"--no-cache", NULL, "run every file, also those whose stored result still holds", CHECK},
    {"-j", "N", "worker processes, of --static threads (default: as many as there are processors and memory for)",
     CHECK},
    {"--exclude", "PATTERN", "skip paths that match (shell pattern; repeatable)", CHECK | FIX},
    {"--select", "IDS", "only these break ids and rules (comma-separated)", CHECK | FIX},
    {"--ignore", "IDS", "all but these break ids and rules (comma-separated)", CHECK | FIX},
    {"--stdin-filename", "PATH", "read this file's text from standard input", CHECK},
    {"-o", "DIR", "where to keep inputs (default: .graphglue/inputs of the project; check reads GRAPHGLUE_INPUTS=DIR)",
     RECORD},
    {"--values", "small|all|none", "whose elements are kept: small tensors' (default), all tensors', none", RECORD},
    {"--overlay", "DIR", "the patched packages (default: .graphglue/overlay of the project)", RUN},
    {"--strict", NULL, "end with exit code 2 where a patch does not fit what is installed (default: run the original)",
     RUN},
    {"--model", NULL, "ask the language model that is configured something small (docs/model.md); exit code 0 or 2",
     DOCTOR},
    {"--fail-on", "breaks|never", "whether breaks make the exit code 1 (default breaks)", CHECK | FIX},
    {"--log-level", "LEVEL", "error, warning (default), info, debug",
     CHECK | FIX | GRAPH | EXPLAIN | DOCTOR | RECORD | RUN},
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
     "fix [options] PATH...\n\nMends graph breaks with edits proved on the files' own inputs. Your files are "
     "written only with --apply.\nExit code: 0 no break is left, 1 breaks are, 2 something could not be run."},
    {"graph", GRAPH,
     "graph [options] PATH\n\nShows the graphs that the file's entries are captured as: the FX code of each, and which "
     "break ends it.\n"
     "Exit code: 0 no break, 1 breaks, 2 something could not be run."},
    {"explain", EXPLAIN,
     "explain GBxxxx|GGxxx\n\nSays what a graph break is, why it happens and what to do; of a repair rule, what it "
     "does."},
    {"record", RECORD,
     "record [options] -- PROGRAM [ARGUMENT...]\n\nRuns a program, such as `python train.py` or `pytest`, and keeps "
     "example inputs of\n"
     "every module and compiled function that it calls. Exit code: the program's."},
    {"run", RUN,
     "run [options] -- PROGRAM [ARGUMENT...]\n\nRuns a program, such as `python script.py`, with the patched packages "
     "that `fix --package` made\n"
     "in place of the installed ones (docs/overlay.md). Exit code: the program's."},
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

/* Levenshtein's distance, one row at a time. */
bool gg_cli_is_near(const char *typed, const char *name) {
    enum { MAX_WORD = 32, MAX_MISTAKES = 2 };
    size_t row[MAX_WORD + 1], n = strlen(typed), m = strlen(name);
    if (n > MAX_WORD || m > MAX_WORD || m <= MAX_MISTAKES) return false;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 0; i < n; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < m; j++) {
            size_t best = diagonal + (typed[i] != name[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[m] <= MAX_MISTAKES;
}

static int parse_number(const char *value, const char *name, unsigned long max, unsigned long *out, gg_error *err) {
    char *end = NULL;
    errno = 0;
    *out = strtoul(value, &end, 10);
    if (errno || end == value || *end || *out == 0 || *out > max || value[0] == '-')
        return gg_fail(err, GG_EPARAMS, "%s wants a number from 1 to %lu, not '%s'", name, max, value);
    return 0;
}

bool gg_cli_normalize_id(char *out, size_t size, const char *given) {
    enum { DIGITS = 4 };
    if ((given[0] == 'g' || given[0] == 'G') && (given[1] == 'b' || given[1] == 'B')) given += 2;
    size_t n = strspn(given, "0123456789");
    if (n == 0 || n > DIGITS || given[n]) return false;
    snprintf(out, size, "GB%.*s%s", (int)(DIGITS - n), "0000", given);
    return true;
}

/* Adds to a list of the settings: ids and rules separated by commas, or one pattern. */
static void give(gg_cli_args *args, const char *key, json_t *value_take) {
    json_t *list = json_object_get(args->given, key);
    if (list == NULL) json_object_set_new(args->given, key, list = json_array());
    json_array_append_new(list, value_take);
}

static int split_names(gg_cli_args *args, const char *key, const char *name, const char *value, gg_error *err) {
    char *copy = gg_str_dup(gg_str_from(value)), *rest = NULL, id[16];
    gg_list_push(&args->owned, copy);
    for (char *given = strtok_r(copy, ", ", &rest); given; given = strtok_r(NULL, ", ", &rest)) {
        if (gg_rule_find(gg_str_from(given)))
            return gg_fail(err, GG_EPARAMS, "%s wants break ids such as GB0170; '%s' is a repair rule", name, given);
        bool is_rule = gg_is_rule(gg_str_from(given));
        if (!is_rule && !gg_cli_normalize_id(id, sizeof(id), given))
            return gg_fail(err, GG_EPARAMS, "%s wants break ids such as GB0170, or rules, not '%s'", name, given);
        give(args, key, json_string(is_rule ? given : id));
    }
    return 0;
}

/* 1 when the option is none of these. */
static int take_remote(gg_remote *remote, const char *name, const char *value, gg_error *err) {
    unsigned long number = 0;
    int error = 0;
    if (strcmp(name, "--worker-command") == 0) return gg_remote_set_command(remote, value, err);
    if (strcmp(name, "--worker-map") == 0) return gg_remote_add_map(remote, value, err);
    if (strcmp(name, "--worker-program") == 0) {
        gg_free(remote->program);
        remote->program = gg_str_dup(gg_str_from(value));
    } else if (strcmp(name, "--worker-start") == 0) {
        error = parse_number(value, name, 86400, &number, err);
        remote->start_ms = (uint32_t)number * 1000;
    } else {
        return 1;
    }
    return error;
}

static const struct {
    const char *name;
    size_t at; /* of its bool in gg_cli_args */
} switches[] = {
    {"--json", offsetof(gg_cli_args, json)},
    {"--sarif", offsetof(gg_cli_args, sarif)},
    {"--static", offsetof(gg_cli_args, is_static)},
    {"--no-cache", offsetof(gg_cli_args, fresh)},
    {"--train", offsetof(gg_cli_args, train)},
    {"--diff", offsetof(gg_cli_args, diff)},
    {"--apply", offsetof(gg_cli_args, apply)},
    {"--bench", offsetof(gg_cli_args, bench)},
    {"--strict", offsetof(gg_cli_args, strict)},
    {"--model", offsetof(gg_cli_args, model)},
    {"--svg", offsetof(gg_cli_args, svg)},
    {"--llm", offsetof(gg_cli_args, llm)},
    {"--show-prompt", offsetof(gg_cli_args, show_prompt)},
};

static int take(gg_cli_args *a, const char *name, const char *value, gg_error *err) {
    unsigned long number = 0;
    gg_safety safety;
    for (size_t i = 0; i < GG_COUNT(switches); i++) {
        if (strcmp(name, switches[i].name) != 0) continue;
        *(bool *)((char *)a + switches[i].at) = true;
        return 0;
    }
    int error = take_remote(&a->remote, name, value, err);
    if (error != 1) return error;
    error = 0;
    if (strcmp(name, "--python") == 0)
        a->python = value;
    else if (strcmp(name, "--overlay") == 0)
        a->overlay = value;
    else if (strcmp(name, "--package") == 0)
        gg_list_push(&a->packages, (char *)(uintptr_t)value);
    else if (strcmp(name, "--repair-log") == 0)
        a->repair_log = value;
    else if (strcmp(name, "--entry") == 0)
        a->entry = value;
    else if (strcmp(name, "--stdin-filename") == 0)
        a->stdin_filename = value;
    else if (strcmp(name, "-o") == 0)
        a->out = value;
    else if (strcmp(name, "--exclude") == 0)
        give(a, "exclude", json_string(value));
    else if (strcmp(name, "--select") == 0)
        error = split_names(a, "select", name, value, err);
    else if (strcmp(name, "--ignore") == 0)
        error = split_names(a, "ignore", name, value, err);
    else if (strcmp(name, "-j") == 0) {
        error = parse_number(value, name, MAX_JOBS, &number, err);
        a->jobs = (unsigned)number;
    } else if (strcmp(name, "--timeout") == 0) {
        error = parse_number(value, name, 86400, &number, err);
        if (error == 0) json_object_set_new(a->given, "capture.timeout", json_integer((json_int_t)number));
    } else if (strcmp(name, "--values") == 0) {
        a->values = value;
        if (strcmp(value, "small") != 0 && strcmp(value, "all") != 0 && strcmp(value, "none") != 0)
            error = gg_fail(err, GG_EPARAMS, "--values wants small, all or none, not '%s'", value);
    } else if (strcmp(name, "--log-level") == 0) {
        gg_log_level level;
        if (gg_log_parse_level(value, &level))
            gg_log_set_level(level);
        else
            error = gg_fail(err, GG_EPARAMS, "--log-level wants error, warning, info or debug, not '%s'", value);
    } else if (strcmp(name, "--fail-on") == 0) {
        a->never_fail = strcmp(value, "never") == 0;
        if (!a->never_fail && strcmp(value, "breaks") != 0)
            error = gg_fail(err, GG_EPARAMS, "--fail-on wants breaks or never, not '%s'", value);
    } else if (gg_safety_parse(value, &safety)) {
        json_object_set_new(a->given, "maxSafety", json_string(value));
    } else {
        error =
            gg_fail(err, GG_EPARAMS, "--max-safety wants exact, effects, numeric, config or opaque, not '%s'", value);
    }
    return error;
}

/* The value in the same word as its option; NULL when there is none. */
static const char *value_inside(const char *arg) {
    if (arg[1] != '-') return arg[1] && arg[2] ? arg + 2 + (arg[2] == '=') : NULL;
    const char *equals = strchr(arg, '=');
    return equals ? equals + 1 : NULL;
}

static int unknown_option(const char *arg, const char *name, unsigned bit, const char *command, gg_error *err) {
    for (size_t i = 0; i < GG_COUNT(commands); i++)
        if (find_option(name, commands[i].bit))
            return gg_fail(err, GG_EPARAMS,
                           "unknown option %s (it is one of graphglue-lsp %s; see graphglue-lsp %s --help)", arg,
                           commands[i].name, command);
    for (size_t i = 0; i < GG_COUNT(options); i++)
        if ((options[i].commands & bit) && gg_cli_is_near(name, options[i].name))
            return gg_fail(err, GG_EPARAMS, "unknown option %s: did you mean %s?", arg, options[i].name);
    return gg_fail(err, GG_EPARAMS, "unknown option %s (see graphglue-lsp %s --help)", arg, command);
}

int gg_cli_parse(gg_cli_args *out, int argc, char **argv, bool *help, gg_error *err) {
    *out = (gg_cli_args){.command = argv[0], .given = json_object(), .settings = gg_cli_settings_new()};
    *help = false;
    unsigned bit = command_bit(argv[0]);
    bool only_paths = false;
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        if (only_paths || arg[0] != '-' || strcmp(arg, "-") == 0) {
            gg_list_push(&out->paths, arg);
            only_paths = only_paths || (bit & (RECORD | RUN)); /* what follows is the program's */
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
        const char *inside = value_inside(arg); /* --name=value, -jN */
        size_t length = inside ? (size_t)(inside - arg) - (inside[-1] == '=' ? 1 : 0) : strlen(arg);
        char *name = gg_str_dup((gg_str){arg, length});
        gg_list_push(&out->owned, name);
        const struct option *option = find_option(name, bit);
        if (option == NULL) return unknown_option(arg, name, bit, argv[0], err);
        const char *value = NULL;
        if (option->value) {
            value = inside ? inside : i + 1 < argc ? argv[++i] : NULL;
            if (value == NULL) return gg_fail(err, GG_EPARAMS, "%s wants %s", name, option->value);
        } else if (inside) {
            return gg_fail(err, GG_EPARAMS, "%s takes no value", name);
        }
        int error = take(out, name, value, err);
        if (error) return error;
    }
    if (out->diff && out->apply) return gg_fail(err, GG_EPARAMS, "--diff and --apply exclude each other");
    if ((out->show_prompt || out->repair_log) && !out->llm)
        return gg_fail(err, GG_EPARAMS, "%s wants --llm too", out->show_prompt ? "--show-prompt" : "--repair-log");
    if (out->bench && out->llm)
        return gg_fail(
            err, GG_EPARAMS,
            "--bench and --llm exclude each other: what a model wrote runs in the sandbox only, where nothing is "
            "compiled for real");
    if (out->show_prompt && out->json) return gg_fail(err, GG_EPARAMS, "--show-prompt and --json exclude each other");
    if (out->llm && (out->is_static || out->sarif))
        return gg_fail(err, GG_EPARAMS, "--llm and %s exclude each other", out->is_static ? "--static" : "--sarif");
    if (out->json && out->svg) return gg_fail(err, GG_EPARAMS, "--json and --svg exclude each other");
    if (out->json && out->sarif) return gg_fail(err, GG_EPARAMS, "--json and --sarif exclude each other");
    return 0;
}

void gg_cli_args_clear(gg_cli_args *args) {
    for (size_t i = 0; i < args->owned.len; i++) gg_free(args->owned.items[i]);
    gg_list_clear(&args->owned);
    gg_remote_clear(&args->remote);
    gg_list_clear(&args->paths);
    gg_list_clear(&args->packages);
    json_decref(args->given);
    gg_cli_settings_free(args->settings);
}
