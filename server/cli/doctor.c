/* graphglue-lsp doctor: what a capture would run with, and what is missing. */
#include <stdio.h>

#include "server/cli/cli.h"

static void line(const char *name, const char *format, ...) GG_PRINTF(2, 3);
static void line(const char *name, const char *format, ...) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    printf("%s%-14s%s", style->bold, name, style->reset);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void show_cuda(const json_t *cuda) {
    const char *runtime = json_string_value(json_object_get(cuda, "runtime"));
    const json_t *devices = json_object_get(cuda, "devices");
    size_t index;
    json_t *device;
    if (json_array_size(devices) == 0)
        line("CUDA", "%s%s", "no CUDA device", runtime ? " (a CUDA runtime is installed)" : "");
    json_array_foreach(devices, index, device) {
        double total = (double)json_integer_value(json_object_get(device, "total_bytes")) / (1 << 30);
        double free_gib = (double)json_integer_value(json_object_get(device, "free_bytes")) / (1 << 30);
        line("CUDA", "%s, %.1f GiB (%.1f free), runtime %s", json_string_value(json_object_get(device, "name")), total,
             free_gib, runtime);
    }
}

static bool show(gg_cli_run *run, double seconds) {
    const gg_worker_info *info = gg_cli_run_info(run);
    const gg_python_choice *python = gg_cli_run_python(run);
    line("interpreter", "%s (%s)", python->path, python->why);
    if (info->python_version)
        line("Python", "%s, %s", info->python_version,
             info->mode && strcmp(info->mode, "embedded") == 0 ? "embedded (shared libpython)" : "executed");
    if (info->torch)
        line("torch", "%s, ready in %.1f s", info->torch, seconds);
    else
        line("torch", "missing: %s",
             info->torch_error ? info->torch_error
             : info->error     ? info->error
                               : "the worker did not start");
    if (info->registry_path) line("break registry", "%s", info->registry_path);
    if (info->cuda) show_cuda(info->cuda);
    line("result", "%s", info->torch ? "captures can run" : "captures cannot run; see above");
    return info->torch != NULL;
}

static json_t *as_json(gg_cli_run *run, double seconds) {
    const gg_worker_info *info = gg_cli_run_info(run);
    json_t *out = gg_cli_head_json(run);
    json_object_set_new(out, "why", json_string(gg_cli_run_python(run)->why));
    json_object_set_new(out, "mode", info->mode ? json_string(info->mode) : json_null());
    json_object_set_new(out, "torch_error",
                        info->torch_error ? json_string(info->torch_error)
                        : info->torch     ? json_null()
                                          : json_string(info->error ? info->error : ""));
    json_object_set_new(out, "registry", info->registry_path ? json_string(info->registry_path) : json_null());
    json_object_set_new(out, "cuda", info->cuda ? json_deep_copy(info->cuda) : json_null());
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
    if (gg_cli_run_new(&run, &args, &err) != 0) {
        gg_cli_usage_error("doctor", &err);
        status = GG_CLI_BREAKS;
        goto cleanup;
    }
    uint64_t start = uv_hrtime();
    json_t *values = NULL;
    gg_capture_request nothing = {.file = GG_STR("/nonexistent/graphglue-doctor.py"), .deadline_ms = 1000};
    json_t *done = gg_cli_job(run, gg_capture_request_encode(&nothing), NULL, NULL,
                              &values); /* answered once the worker is ready */
    double seconds = (double)(uv_hrtime() - start) / 1e9;
    json_decref(done);
    json_decref(values);
    gg_cli_progress(run, "%s", "");
    bool ok = gg_cli_run_info(run)->torch != NULL;
    if (args.json)
        gg_cli_print_json(as_json(run, seconds));
    else
        show(run, seconds);
    status = ok ? GG_CLI_CLEAN : GG_CLI_BREAKS;

cleanup:
    gg_cli_run_free(run);
    gg_cli_args_clear(&args);
    return status;
}
