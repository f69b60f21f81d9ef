/* Settings of files on the command line: what was said there goes before the nearest pyproject.toml.  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "server/cli/cli.h"

struct gg_cli_settings {
    gg_option_cache *cache; /* NULL: nothing was asked for */
    size_t told;            /* of its problems */
};

void gg_cli_settings_free(gg_cli_settings *settings) {
    if (settings == NULL) return;
    gg_option_cache_free(settings->cache);
    gg_free(settings);
}

gg_cli_settings *gg_cli_settings_new(void) {
    return gg_calloc(1, sizeof(gg_cli_settings));
}

const gg_options *gg_cli_options_at(const gg_cli_args *args, const char *folder) {
    gg_cli_settings *s = args->settings;
    if (s->cache == NULL) s->cache = gg_option_cache_new(args->given, NULL);
    const gg_options *out = gg_option_cache_at(s->cache, folder);
    const gg_words *problems = gg_option_cache_problems(s->cache);
    for (; s->told < problems->len; s->told++)
        fprintf(stderr, "graphglue-lsp %s: %s\n", args->command, problems->items[s->told]);
    return out;
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
