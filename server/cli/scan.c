/* check --static: what the text alone tells, with nothing run.  Files are read, parsed and predicted on libuv's threads; what is said of them
 * comes in their order. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "server/cli/cli.h"

typedef struct corpus corpus;

typedef struct scanned {
    uv_work_t work;
    corpus *corpus;
    gg_cli_file file;
    gg_arena *arena;
    gg_prediction_list found;
    gg_ignore_list ignores;
} scanned;

struct corpus {
    uv_loop_t loop;
    const gg_cli_args *args;
    scanned *files;
    size_t count, begun, told;
    json_t *out;         /* of --json, … */
    gg_cli_sarif *sarif; /* of --sarif; both NULL: text */
    size_t certain, conditional, ignored, failures;
    bool fails;
};

enum { AHEAD = 64 }; /* files in hand at a time: their texts stay until they are told */

/* ---- on a thread ------------------------------------------------------------------------------------------------------- */

/* Where the first error begins of a tree that has one. */
static uint32_t first_error(TSNode node) {
    while (!ts_node_is_error(node) && !ts_node_is_missing(node)) {
        uint32_t i = 0, count = ts_node_child_count(node);
        while (i < count && !ts_node_has_error(ts_node_child(node, i))) i++;
        if (i == count) break;
        node = ts_node_child(node, i);
    }
    return ts_node_start_byte(node);
}

static void on_work(uv_work_t *work) {
    scanned *s = work->data;
    gg_error err = {0};
    gg_tree *tree = NULL;
    int error = s->file.text ? 0 : gg_text_read(&s->file.text, s->file.absolute, &err);
    if (error == 0) error = gg_tree_parse(&tree, s->file.text, NULL, NULL, 0, NULL, &err);
    if (error == 0 && gg_tree_has_error(tree)) {
        gg_position at = gg_text_position(s->file.text, first_error(gg_tree_root(tree)), GG_UTF16);
        s->file.line = at.line + 1;
        s->file.column = at.character + 1;
        error = gg_fail(&err, GG_ESYNTAX, "the file has a syntax error");
    }
    s->arena = gg_arena_new();
    if (error == 0) s->found = gg_predict(tree, s->arena);
    if (error == 0) s->ignores = gg_ignores_of(tree, s->arena);
    if (error) s->file.error = gg_str_dup(gg_str_from(err.message));
    gg_tree_unref(&tree);
}

/* ---- told ---------------------------------------------------------------------------------------------------------------- */

static void tell(corpus *c, scanned *s) {
    json_t *findings = json_array();
    if (s->file.error) c->failures++;
    if (s->file.error && !c->out && !c->sarif) gg_cli_print_error(stdout, &s->file);
    if (c->sarif) gg_cli_sarif_problems(c->sarif, &s->file, NULL, 0);
    for (size_t i = 0; i < s->found.len; i++) {
        const gg_prediction *p = &s->found.items[i];
        gg_level level = gg_options_level(s->file.options, p->id, p->rule);
        if (level == GG_LEVEL_OFF) continue;
        bool ignored = gg_is_ignored(&s->ignores, p->span, p->id, p->rule);
        c->ignored += ignored;
        if (c->sarif) gg_cli_sarif_prediction(c->sarif, &s->file, p, ignored);
        if (ignored) continue;
        (p->certain ? c->certain++ : c->conditional++);
        c->fails = c->fails || (p->certain && gg_cli_fails(level));
        if (c->out)
            json_array_append_new(findings, gg_cli_finding_json(p, s->file.text));
        else if (c->sarif == NULL)
            gg_cli_print_prediction(stdout, p, s->file.text, gg_cli_shown(s->file.path));
    }
    if (c->out) {
        json_t *file = json_object();
        json_object_set_new(file, "path", json_string(s->file.path));
        json_object_set_new(file, "error", s->file.error ? json_string(s->file.error) : json_null());
        json_object_set_new(file, "entries", json_array());
        json_object_set(file, "findings", findings);
        json_array_append_new(c->out, file);
    } else {
        fflush(stdout);
    }
    json_decref(findings);
    gg_arena_free(s->arena);
    gg_cli_file_clear(&s->file);
}

static void begin_some(corpus *c);

static void on_done(uv_work_t *work, int status) {
    scanned *s = work->data;
    corpus *c = s->corpus;
    (void)status; /* none is ever canceled */
    s->file.done = true;
    while (c->told < c->begun && c->files[c->told].file.done) tell(c, &c->files[c->told++]);
    begin_some(c);
}

static void begin_some(corpus *c) {
    for (; c->begun < c->count && c->begun < c->told + AHEAD; c->begun++)
        uv_queue_work(&c->loop, &c->files[c->begun].work, on_work, on_done);
}

/* ---- all ------------------------------------------------------------------------------------------------------------------- */

static void add_files(corpus *c, const gg_cli_paths *paths) {
    c->count = paths->len;
    c->files = gg_calloc(paths->len, sizeof(scanned));
    for (size_t i = 0; i < paths->len; i++) {
        scanned *s = &c->files[i];
        s->corpus = c;
        s->work.data = s;
        gg_cli_file_init(&s->file, c->args, &paths->items[i]);
    }
}

static void show_summary(const corpus *c) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    printf("%s%zu file%s: %zu certain finding%s, %zu conditional", style->bold, c->count, c->count == 1 ? "" : "s",
           c->certain, c->certain == 1 ? "" : "s", c->conditional);
    if (c->ignored) printf(", %zu ignored", c->ignored);
    if (c->failures) printf(", %zu could not be read", c->failures);
    printf("%s\n%shelp:%s nothing was run (--static): a run finds what depends on values, and mends it\n", style->reset,
           style->green, style->reset);
}

int gg_cli_scan(gg_cli_args *args) {
    corpus c = {.args = args, .out = args->json ? json_array() : NULL};
    if (args->sarif) c.sarif = gg_cli_sarif_new();
    gg_cli_paths paths = {0};
    char threads[16];
    unsigned processors = uv_available_parallelism();
    snprintf(threads, sizeof(threads), "%u", args->jobs ? args->jobs : processors);
    setenv("UV_THREADPOOL_SIZE", threads, 1);
    uv_loop_init(&c.loop);
    gg_cli_collect(&paths, args);
    add_files(&c, &paths);
    gg_cli_paths_clear(&paths);
    gg_error err = {0};
    if (args->stdin_filename && c.count && gg_cli_read_stdin(&c.files[0].file.text, &err) != 0)
        c.files[0].file.error = gg_str_dup(gg_str_from(err.message));
    begin_some(&c);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    uv_loop_close(&c.loop);
    int status = c.failures ? GG_CLI_FAILED : c.fails && !args->never_fail ? GG_CLI_BREAKS : GG_CLI_CLEAN;
    if (args->json) {
        json_t *out = gg_cli_head_json(NULL);
        json_object_set_new(out, "files", c.out);
        gg_cli_print_json(out);
    } else if (c.sarif) {
        gg_cli_sarif_print(c.sarif, status);
    } else {
        show_summary(&c);
    }
    gg_cli_sarif_free(c.sarif);
    gg_free(c.files);
    return status;
}
