/* graphglue-lsp explain GBxxxx|GGxxx: what a break is, what a repair rule does.  Torch's registry is found without importing torch. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cli/cli.h"

typedef struct output {
    gg_buf text;
    int open_handles;
    uv_timer_t timer;
    uv_process_t process;
    uv_pipe_t pipe;
    char block[4096];
} output;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    output *o = handle->data;
    (void)suggested;
    *buf = uv_buf_init(o->block, sizeof(o->block));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    output *o = stream->data;
    if (count < 0)
        uv_close((uv_handle_t *)stream, NULL);
    else if (count > 0)
        gg_buf_append(&o->text, (gg_str){buf->base, (size_t)count});
}

static void on_process_end(uv_process_t *process, int64_t status, int signal_number) {
    output *o = process->data;
    (void)status, (void)signal_number;
    uv_close((uv_handle_t *)process, NULL);
    uv_close((uv_handle_t *)&o->timer, NULL);
}

static void on_timeout(uv_timer_t *timer) {
    output *o = timer->data;
    uv_process_kill(&o->process, SIGKILL);
}

/* Path of graph_break_registry.json of the torch this interpreter would import; empty when there is none. */
static void find_registry(const char *python, char *out, size_t size) {
    static const char script[] =
        "import importlib.util as u, os\n"
        "s = u.find_spec('torch')\n"
        "p = os.path.join(s.submodule_search_locations[0], '_dynamo', 'graph_break_registry.json') if s else ''\n"
        "print(p if os.path.exists(p) else '', end='')\n";
    char *args[] = {(char *)(uintptr_t)python, (char *)"-c", (char *)(uintptr_t)script, NULL};
    output o = {0};
    uv_loop_t loop;
    uv_loop_init(&loop);
    gg_buf_init(&o.text, PATH_MAX);
    uv_timer_init(&loop, &o.timer);
    uv_pipe_init(&loop, &o.pipe, 0);
    o.timer.data = o.process.data = o.pipe.data = &o;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE}, {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE}, {.flags = UV_IGNORE}};
    stdio[1].data.stream = (uv_stream_t *)&o.pipe;
    uv_process_options_t options = {
        .file = python, .args = args, .stdio = stdio, .stdio_count = 3, .exit_cb = on_process_end};
    if (uv_spawn(&loop, &o.process, &options) == 0) {
        uv_read_start((uv_stream_t *)&o.pipe, on_alloc, on_read);
        uv_timer_start(&o.timer, on_timeout, 20000, 0);
    } else {
        uv_close((uv_handle_t *)&o.process, NULL);
        uv_close((uv_handle_t *)&o.timer, NULL);
        uv_close((uv_handle_t *)&o.pipe, NULL);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    snprintf(out, size, "%s", o.text.ptr ? o.text.ptr : "");
    gg_buf_clear(&o.text);
}

/* A line of Markdown as plain text: without the marks of headings and of emphasis. */
static void print_prose(gg_str line) {
    bool whole = line.len > 2 && line.ptr[0] == '*' && line.ptr[1] != '*';
    if (gg_str_starts_with(line, GG_STR("# "))) line = gg_str_slice(line, 2, line.len);
    if (whole) line = gg_str_slice(line, 1, line.len - 1);
    for (size_t i = 0; i < line.len; i++) {
        bool strong = line.ptr[i] == '*' && i + 1 < line.len && line.ptr[i + 1] == '*';
        if (!strong) putchar(line.ptr[i]);
        i += strong;
    }
    putchar('\n');
}

static void explain_rule(const gg_cli_args *args, const gg_rule *rule) {
    gg_str page = gg_rule_page(rule);
    if (args->json) {
        gg_cli_print_json(json_pack("{s:i, s:s, s:n, s:s%}", "version", 1, "id", rule->code, "category", "markdown",
                                    page.ptr ? page.ptr : "", page.len));
        return;
    }
    bool in_code = false, after_empty = false;
    for (size_t at = 0; at < page.len;) {
        size_t end = gg_str_find(page, GG_STR("\n"), at);
        gg_str line = gg_str_slice(page, at, end == SIZE_MAX ? page.len : end);
        at = end == SIZE_MAX ? page.len : end + 1;
        if (gg_str_starts_with(line, GG_STR("```"))) {
            in_code = !in_code;
            if (!after_empty) putchar('\n');
            after_empty = true;
            continue;
        }
        if (after_empty && line.len == 0) continue;
        after_empty = line.len == 0;
        if (in_code)
            printf("%s%.*s\n", line.len ? "    " : "", GG_STR_ARG(line));
        else
            print_prose(line);
    }
}

static int explain(const gg_cli_args *args, const char *given, gg_error *err) {
    char normal[16], path[PATH_MAX] = "", folder[PATH_MAX];
    bool named = gg_is_rule(gg_str_from(given)); /* what is no break has a rule's name for its id */
    const char *id = named ? given : normal;
    if (!named && !gg_cli_normalize_id(normal, sizeof(normal), given))
        return gg_fail(err, GG_ENOTFOUND, "no graph break or repair rule is called %.64s", given);
    gg_registry *registry = NULL;
    gg_python_choice python;
    gg_error ignored = {0};
    if (getcwd(folder, sizeof(folder)) &&
        gg_python_choose(&python, args->python, folder, args->python ? err : &ignored) == 0)
        find_registry(python.path, path, sizeof(path));
    else if (args->python)
        return err->code;
    if (path[0] && gg_registry_load(&registry, path, &ignored) != 0) gg_log(GG_LOG_WARNING, "%s", ignored.message);
    gg_buf text;
    gg_buf_init(&text, 1024 * 1024);
    int error = gg_explain_id(&text, gg_str_from(id), registry, args->json, err);
    if (error == 0 && args->json) {
        gg_cli_print_json(json_pack("{s:i, s:s, s:s, s:s}", "version", 1, "id", id, "category",
                                    gg_break_category(gg_str_from(id), GG_STR_NULL), "markdown", text.ptr));
    } else if (error == 0) {
        fputs(text.ptr, stdout);
        if (text.len && text.ptr[text.len - 1] != '\n') putchar('\n');
    }
    gg_buf_clear(&text);
    gg_registry_free(registry);
    return error;
}

/* GG002, gg002 or its name; NULL: it is none. */
static const gg_rule *rule_called(const char *given) {
    char code[8];
    size_t n = 0;
    for (; given[n] && n + 1 < sizeof(code); n++)
        code[n] = given[n] >= 'a' && given[n] <= 'z' ? (char)(given[n] - 'a' + 'A') : given[n];
    code[n] = '\0';
    const gg_rule *rule = gg_rule_find(gg_str_from(code));
    return rule ? rule : gg_rule_find(gg_str_from(given));
}

int gg_cli_explain(int argc, char **argv) {
    gg_cli_args args;
    gg_error err = {0};
    bool help;
    int status = GG_CLI_FAILED;
    if (gg_cli_parse(&args, argc, argv, &help, &err) != 0) {
        gg_cli_usage_error("explain", &err);
    } else if (help) {
        status = gg_cli_help("explain");
    } else if (args.paths.len != 1) {
        gg_fail(&err, GG_EPARAMS, "name one break id, such as GB0170, or one repair rule, such as GG002");
        gg_cli_usage_error("explain", &err);
    } else if (rule_called(args.paths.items[0])) {
        explain_rule(&args, rule_called(args.paths.items[0]));
        status = GG_CLI_CLEAN;
    } else {
        gg_cli_settle(&args);
        status = explain(&args, args.paths.items[0], &err) == 0 ? GG_CLI_CLEAN : gg_cli_usage_error("explain", &err);
    }
    gg_cli_args_clear(&args);
    return status;
}
