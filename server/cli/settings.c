/* Settings of files on the command line: what was said there goes before the nearest pyproject.toml.  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "server/cli/cli.h"

typedef struct gg_cli_folder {
    char *path;
    gg_options *options;
    bool shared; /* they are those of the folder above */
} gg_cli_folder;

struct gg_cli_settings {
    GG_LIST(gg_cli_folder) folders;
    gg_words told;
};

void gg_cli_settings_free(gg_cli_settings *settings) {
    if (settings == NULL) return;
    for (size_t i = 0; i < settings->folders.len; i++) {
        gg_free(settings->folders.items[i].path);
        if (!settings->folders.items[i].shared) gg_options_free(settings->folders.items[i].options);
    }
    gg_list_clear(&settings->folders);
    gg_words_clear(&settings->told);
    gg_free(settings);
}

gg_cli_settings *gg_cli_settings_new(void) {
    return gg_calloc(1, sizeof(gg_cli_settings));
}

static void tell_once(const gg_cli_args *args, const char *problem) {
    gg_words *told = &args->settings->told;
    for (size_t i = 0; i < told->len; i++)
        if (strcmp(told->items[i], problem) == 0) return;
    gg_list_push(told, gg_str_dup(gg_str_from(problem)));
    fprintf(stderr, "graphglue-lsp %s: %s\n", args->command, problem);
}

static gg_options *read_options(const gg_cli_args *args, const char *folder) {
    gg_project project;
    gg_project_read(&project, folder);
    for (size_t i = 0; i < project.problems.len; i++) tell_once(args, project.problems.items[i]);
    gg_options *out = gg_options_new(args->given, project.values, project.folder);
    gg_project_clear(&project);
    return out;
}

const gg_options *gg_cli_options_at(const gg_cli_args *args, const char *folder) {
    gg_cli_settings *s = args->settings;
    for (size_t i = 0; i < s->folders.len; i++)
        if (strcmp(s->folders.items[i].path, folder) == 0) return s->folders.items[i].options;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/pyproject.toml", folder);
    gg_cli_folder out = {.path = gg_str_dup(gg_str_from(folder)), .shared = access(path, F_OK) != 0};
    char *slash = strrchr(path, '/');
    *slash = '\0';
    slash = strrchr(path, '/');
    if (slash) slash[slash == path] = '\0';
    out.shared = out.shared && slash && strcmp(path, folder) != 0;
    out.options = out.shared ? (gg_options *)(uintptr_t)gg_cli_options_at(args, path) : read_options(args, folder);
    gg_list_push(&s->folders, out);
    return out.options;
}

const gg_options *gg_cli_options_for(const gg_cli_args *args, const char *file) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", file);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    return gg_cli_options_at(args, slash ? folder : "/");
}

gg_level gg_cli_level_of(const gg_options *options, const gg_site *site) {
    return site->ignored ? GG_LEVEL_OFF : gg_options_level(options, site->id, site->rule);
}

gg_safety gg_cli_max_safety(const gg_options *options) {
    return options->safety_given ? options->max_safety : GG_SAFETY_EXACT;
}

bool gg_cli_fails(gg_level level) {
    return level <= GG_LEVEL_WARNING;
}

void gg_cli_settle(gg_cli_args *args) {
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof(folder)) == NULL) return;
    const gg_options *options = gg_cli_options_at(args, folder);
    if (args->python == NULL) args->python = options->python;
}
