/* fix --bench: what the repairs are worth, timed by the worker (graphglue_worker/bench.py).  Loop thread only. */
#include <math.h>
#include <stdio.h>

#include "server/cli/overlay.h"

enum { DEADLINES = 5 }; /* of an entry, for one figure: it compiles for real */

json_t *gg_cli_bench(gg_cli_run *run, const gg_fix *fix, const gg_cli_file *file, const gg_cli_args *args,
                     const gg_cli_overlay *packages, char **failure) {
    size_t count = 0;
    while (gg_fix_file_at(fix, count)) count++;
    gg_overlay_file *before = gg_calloc(count, sizeof(gg_overlay_file)),
                    *after = gg_calloc(count, sizeof(gg_overlay_file));
    for (size_t i = 0; i < count; i++) {
        const gg_fix_file *f = gg_fix_file_at(fix, i);
        before[i] = (gg_overlay_file){f->path, gg_text_bytes(f->original)};
        after[i] = (gg_overlay_file){f->path, gg_text_bytes(f->text)};
    }
    gg_verify_request request = {.file = gg_str_from(file->absolute),
                                 .original = before,
                                 .original_count = count,
                                 .edited = after,
                                 .edited_count = count,
                                 .train = args->train,
                                 .deadline_ms = file->options->timeout_ms * DEADLINES};
    request.packages = gg_cli_overlay_folders(packages, &request.package_count);
    json_t *values = NULL, *done = gg_cli_job(run, gg_bench_request_encode(&request), "bench", "bench", &values);
    *failure = gg_cli_failure(done);
    json_decref(done);
    gg_free(before);
    gg_free(after);
    return values;
}

static const char *text_of(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static double number_of(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void print_figures(const json_t *entry, const char *key, const char *words) {
    const double kib = 1 << 10, mib = 1 << 20;
    const json_t *f = json_object_get(entry, key);
    const char *error = json_string_value(json_object_get(f, "error"));
    double median = number_of(f, "median_ms"), peak = number_of(f, "peak_bytes"), graphs = number_of(f, "graphs");
    printf("  %-16s", words);
    if (error) {
        printf(" %s\n", error);
        return;
    }
    if (isnan(median)) {
        printf(" not measured\n");
        return;
    }
    printf(" %8.3g ms ± %.2g", median, number_of(f, "spread_ms") / 2);
    if (!isnan(peak))
        printf(", %.1f %s in tensors at most", peak / (peak < mib ? kib : mib), peak < mib ? "KiB" : "MiB");
    if (!isnan(graphs)) printf(", %d graph%s", (int)graphs, graphs == 1 ? "" : "s");
    putchar('\n');
}

void gg_cli_print_bench(const json_t *bench) {
    size_t index;
    json_t *entry;
    json_array_foreach(bench, index, entry) {
        const char *backend = text_of(entry, "backend"), *note = text_of(entry, "note");
        printf("%s: %s on %s%s%s\n", text_of(entry, "name"), *backend ? backend : "no compiler",
               *text_of(entry, "device") ? text_of(entry, "device") : "no device", *note ? "; " : "", note);
        print_figures(entry, "eager", "eager");
        print_figures(entry, "before", "compiled before");
        print_figures(entry, "after", "compiled after");
        double before = number_of(json_object_get(entry, "before"), "median_ms"),
               after = number_of(json_object_get(entry, "after"), "median_ms");
        if (before > 0 && after > 0) printf("  %-16s %8.3g of the time before\n", "", after / before);
    }
    if (json_array_size(bench)) putchar('\n');
}
