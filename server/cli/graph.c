/* graphglue-lsp graph: the graphs that a file's entries are captured as, as Markdown, JSON or a picture. */
#include <stdio.h>

#include "server/cli/cli.h"

enum { MAX_TEXT = 16 << 20 };

typedef struct graphing {
    gg_cli_args args;
    gg_cli_run *run;
    json_t *entries;
    size_t shown;
    bool failed, breaks;
} graphing;

static void show(graphing *g, const gg_graphs *graphs, gg_arena *arena) {
    gg_buf text, picture;
    gg_buf_init(&text, MAX_TEXT);
    gg_buf_init(&picture, MAX_TEXT);
    if (g->args.svg || g->args.json) gg_graphs_svg(graphs, &picture);
    if (!g->args.svg || g->args.json) gg_graphs_markdown(graphs, &text);
    gg_str markdown = gg_buf_str(&text), svg = gg_buf_str(&picture), title = gg_graphs_summary(graphs, arena);
    if (g->args.json)
        json_array_append_new(g->entries, json_pack("{s:s%, s:s%, s:i, s:i, s:s%, s:s%}", "name",
                                                    graphs->name.ptr ? graphs->name.ptr : "", graphs->name.len, "title",
                                                    title.ptr, title.len, "graphs", (int)graphs->graph_count, "breaks",
                                                    (int)graphs->break_count, "text", markdown.ptr, markdown.len, "svg",
                                                    svg.ptr, svg.len));
    else if (g->args.svg)
        fwrite(svg.ptr, 1, svg.len, stdout);
    else
        printf("%s%.*s", g->shown ? "\n" : "", GG_STR_ARG(markdown));
    g->shown++;
    if (graphs->break_count) g->breaks = true;
    gg_buf_clear(&text);
    gg_buf_clear(&picture);
}

static void show_file(graphing *g, gg_cli_file *file) {
    gg_error err = {0};
    if (gg_text_read(&file->text, file->absolute, &err) != 0) {
        file->error = gg_str_dup(gg_str_from(err.message));
        return;
    }
    gg_str wanted = gg_str_from(g->args.entry ? g->args.entry : "");
    gg_capture_request request = {.file = gg_str_from(file->absolute),
                                  .entries = &wanted,
                                  .entry_count = g->args.entry ? 1 : 0,
                                  .train = g->args.train,
                                  .deadline_ms = file->options->timeout_ms};
    json_t *values = NULL, *value;
    gg_cli_progress(g->run, "capturing %s", file->path);
    json_t *done = gg_cli_job(g->run, gg_graphs_request_encode(&request), "graphs", "graphs", &values);
    gg_cli_progress(g->run, "%s", "");
    file->error = gg_cli_failure(done);
    gg_cli_locate(file, done);
    gg_sources *sources = gg_sources_new();
    gg_sources_put(sources, gg_str_from(file->absolute), file->text, NULL);
    size_t i, count = json_array_size(values);
    if (g->args.svg && count > 1 && file->error == NULL)
        file->error = gg_str_dup(GG_STR("it has several entries: choose one with --entry NAME"));
    json_array_foreach(values, i, value) {
        gg_arena *arena = gg_arena_new();
        gg_graphs graphs;
        if (file->error == NULL &&
            gg_graphs_decode(&graphs, value, sources, gg_cli_run_registry(g->run), arena, &err) == 0)
            show(g, &graphs, arena);
        gg_arena_free(arena);
    }
    if (count == 0 && file->error == NULL)
        file->error = gg_str_dup(g->args.entry ? GG_STR("it has no entry of that name") : GG_STR("it has no entry"));
    if (err.code && file->error == NULL) file->error = gg_str_dup(gg_str_from(err.message));
    gg_sources_free(sources);
    json_decref(done);
    json_decref(values);
}

int gg_cli_graph(int argc, char **argv) {
    graphing g = {0};
    gg_error err = {0};
    bool help = false;
    gg_cli_paths paths = {0};
    int status = GG_CLI_FAILED;
    if (gg_cli_parse(&g.args, argc, argv, &help, &err) == 0 && !help && g.args.paths.len != 1)
        gg_fail(&err, GG_EPARAMS, "name one file (see graphglue-lsp graph --help)");
    if (help) {
        status = gg_cli_help("graph");
        goto cleanup;
    }
    if (err.code) goto cleanup;
    gg_cli_settle(&g.args);
    if (gg_cli_run_new(&g.run, &g.args, &err) != 0) goto cleanup;
    g.entries = json_array();
    gg_cli_collect(&paths, &g.args);
    for (size_t i = 0; i < paths.len; i++) {
        gg_cli_file file;
        gg_cli_file_init(&file, &g.args, &paths.items[i]);
        show_file(&g, &file);
        if (file.error) {
            g.failed = true;
            gg_cli_print_error(stderr, &file);
        }
        gg_cli_file_clear(&file);
    }
    if (g.args.json) {
        json_t *out = gg_cli_head_json(g.run);
        json_object_set(out, "entries", g.entries);
        gg_cli_print_json(out);
    }
    status = g.failed ? GG_CLI_FAILED : g.breaks ? GG_CLI_BREAKS : GG_CLI_CLEAN;

cleanup:
    if (err.code) gg_cli_usage_error("graph", &err);
    gg_cli_paths_clear(&paths);
    json_decref(g.entries);
    gg_cli_run_free(g.run);
    gg_cli_args_clear(&g.args);
    return status;
}
