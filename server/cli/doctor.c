/* graphglue-lsp doctor: what a capture would run with, and what is missing. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/cli/cli.h"

void gg_cli_line(const char *name, const char *format, ...) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    printf("%s%-16s%s", style->bold, name, style->reset);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static double gib(json_int_t bytes) {
    return (double)bytes / (1 << 30);
}

static void show_cuda(const json_t *cuda) {
    const char *runtime = json_string_value(json_object_get(cuda, "runtime"));
    const char *error = json_string_value(json_object_get(cuda, "error"));
    const json_t *devices = json_object_get(cuda, "devices");
    size_t index;
    json_t *device;
    if (json_array_size(devices) == 0)
        gg_cli_line("CUDA", "no CUDA device%s%s%s", error ? " (" : "", error ? error : "", error ? ")" : "");
    json_array_foreach(devices, index, device) {
        const char *name = json_string_value(json_object_get(device, "name"));
        const char *failed = json_string_value(json_object_get(device, "error"));
        if (error || failed) {
            gg_cli_line("CUDA", "%s, cannot be used: %s", name, error ? error : failed);
            continue;
        }
        const json_t *free_bytes = json_object_get(device, "free_bytes");
        char free_words[32] = "";
        if (json_is_integer(free_bytes))
            snprintf(free_words, sizeof(free_words), " (%.1f free)", gib(json_integer_value(free_bytes)));
        gg_cli_line("CUDA", "%s, %.1f GiB%s, runtime %s", name,
                    gib(json_integer_value(json_object_get(device, "total_bytes"))), free_words, runtime);
    }
}

/* What keeps code that a model wrote from the user's things; without all four it is not run (docs/sandbox.md). */
static void show_sandbox(const json_t *sandbox) {
    static const struct {
        const char *key, *words;
    } needed[] = {{"network", "the network"},
                  {"writes", "writing files"},
                  {"programs", "starting programs"},
                  {"outside", "other processes"}};
    char text[256] = "";
    size_t length = 0, index;
    json_t *how;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!json_is_true(json_object_get(sandbox, needed[i].key)))
            length +=
                (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "", needed[i].words);
    if (length > 0) {
        gg_cli_line("sandbox", "model-written code is not run: nothing keeps it from %s", text);
        return;
    }
    json_array_foreach(json_object_get(sandbox, "how"), index, how) {
        const char *name = json_string_value(how);
        if (name && length + strlen(name) + 3 < sizeof(text))
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "", name);
    }
    gg_cli_line("sandbox", "%s%s", text,
                json_is_true(json_object_get(sandbox, "reads")) ? "" : "; does not keep it from reading files");
}

/* The other interpreters in reach, and whether torch lies beside them: often the wrong one was chosen. */
static void show_others(const gg_python_list *found, const gg_python_choice *chosen, bool has_torch) {
    const gg_python_choice *better = NULL;
    for (size_t i = 0; i < found->len; i++) {
        const gg_python_choice *p = &found->items[i];
        if (strcmp(p->path, chosen->path) == 0) continue;
        gg_cli_line("also found", "%s (%s)%s%s", p->path, p->why, p->torch[0] ? ", torch " : ", no torch", p->torch);
        if (!has_torch && p->torch[0] && better == NULL) better = p;
    }
    if (better)
        gg_cli_line("try", "graphglue-lsp doctor --python %s    (and the setting graphglue.python in the editor)",
                    better->path);
}

static void show(gg_cli_run *run, const gg_python_list *found, double seconds) {
    const gg_worker_info *info = gg_cli_run_info(run);
    const gg_python_choice *python = gg_cli_run_python(run);
    gg_cli_line("interpreter", "%s", python->path);
    gg_cli_line("chosen by", "%s", python->why);
    if (info->python_version)
        gg_cli_line("Python", "%s, %s", info->python_version,
                    info->mode && strcmp(info->mode, "embedded") == 0 ? "embedded (shared libpython)" : "executed");
    if (info->torch)
        gg_cli_line("torch", "%s, ready in %.1f s", info->torch, seconds);
    else
        gg_cli_line("torch", "missing: %s",
                    info->torch_error ? info->torch_error
                    : info->error     ? info->error
                                      : "the worker did not start");
    if (info->registry_path) gg_cli_line("break registry", "%s", info->registry_path);
    if (info->cuda) show_cuda(info->cuda);
    if (info->sandbox) show_sandbox(info->sandbox);
    show_others(found, python, info->torch != NULL);
    gg_cli_line("result", "%s", info->torch ? "captures can run" : "captures cannot run; see above");
}

static json_t *as_json(gg_cli_run *run, const gg_python_list *found, double seconds) {
    const gg_worker_info *info = gg_cli_run_info(run);
    json_t *out = gg_cli_head_json(run);
    json_t *others = json_array();
    for (size_t i = 0; i < found->len; i++) {
        const gg_python_choice *p = &found->items[i];
        json_array_append_new(others, json_pack("{s:s, s:s, s:o}", "interpreter", p->path, "why", p->why, "torch",
                                                p->torch[0] ? json_string(p->torch) : json_null()));
    }
    json_object_set_new(out, "why", json_string(gg_cli_run_python(run)->why));
    json_object_set_new(out, "found", others);
    json_object_set_new(out, "mode", info->mode ? json_string(info->mode) : json_null());
    json_object_set_new(out, "torch_error",
                        info->torch_error ? json_string(info->torch_error)
                        : info->torch     ? json_null()
                                          : json_string(info->error ? info->error : ""));
    json_object_set_new(out, "registry", info->registry_path ? json_string(info->registry_path) : json_null());
    json_object_set_new(out, "cuda", info->cuda ? json_deep_copy(info->cuda) : json_null());
    json_object_set_new(out, "sandbox", info->sandbox ? json_deep_copy(info->sandbox) : json_null());
    json_object_set_new(out, "ready_seconds", json_real(seconds));
    json_object_set_new(out, "ok", json_boolean(info->torch != NULL));
    return out;
}

int gg_cli_doctor(int argc, char **argv) {
    gg_cli_args args;
    gg_cli_run *run = NULL;
    gg_error err = {0};
    bool help;
    int status = GG_CLI_BREAKS;
    if (gg_cli_parse(&args, argc, argv, &help, &err) != 0) {
        status = gg_cli_usage_error("doctor", &err);
        goto cleanup;
    }
    if (help) {
        status = gg_cli_help("doctor");
        goto cleanup;
    }
    if (args.model) {
        status = gg_cli_doctor_model(&args);
        goto cleanup;
    }
    gg_cli_settle(&args);
    if (gg_cli_run_new(&run, &args, &err) != 0) {
        gg_cli_usage_error("doctor", &err);
        status = GG_CLI_BREAKS;
        goto cleanup;
    }
    setenv("GRAPHGLUE_CUDA_MEMORY", "1", 1); /* the worker looks at what is free, too */
    uint64_t start = uv_hrtime();
    gg_cli_run_start(run);
    double seconds = (double)(uv_hrtime() - start) / 1e9;
    gg_cli_progress(run, "%s", "");
    bool ok = gg_cli_run_info(run)->torch != NULL;
    gg_python_list found = {0};
    char folder[PATH_MAX];
    if (args.remote.command.len == 0 && getcwd(folder, sizeof(folder))) gg_python_find_all(&found, folder);
    if (args.json)
        gg_cli_print_json(as_json(run, &found, seconds));
    else
        show(run, &found, seconds);
    gg_list_clear(&found);
    status = ok ? GG_CLI_CLEAN : GG_CLI_BREAKS;

cleanup:
    gg_cli_run_free(run);
    gg_cli_args_clear(&args);
    return status;
}
