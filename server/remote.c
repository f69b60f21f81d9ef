/* Settings of a worker elsewhere: see remote.h. */
#include "server/remote.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <wordexp.h>

enum { MAX_WORDS = 256, MAX_MAPS = 64, MAX_START_S = 86400 };

static void clear_words(gg_remote *remote) {
    for (size_t i = 0; i < remote->command.len; i++) gg_free(remote->command.items[i]);
    gg_list_clear(&remote->command);
}

static void clear_maps(gg_remote *remote) {
    for (size_t i = 0; i < remote->maps.len; i++) {
        gg_free(remote->maps.items[i].local);
        gg_free(remote->maps.items[i].remote);
        gg_free(remote->maps.items[i].real);
    }
    gg_list_clear(&remote->maps);
}

void gg_remote_clear(gg_remote *remote) {
    clear_words(remote);
    clear_maps(remote);
    gg_free(remote->program);
    *remote = (gg_remote){.program = NULL};
}

void gg_remote_copy(gg_remote *out, const gg_remote *remote) {
    *out = (gg_remote){.start_ms = remote->start_ms};
    if (remote->program) out->program = gg_str_dup(gg_str_from(remote->program));
    for (size_t i = 0; i < remote->command.len; i++)
        gg_list_push(&out->command, gg_str_dup(gg_str_from(remote->command.items[i])));
    for (size_t i = 0; i < remote->maps.len; i++) {
        const gg_path_map *m = &remote->maps.items[i];
        gg_path_map copy = {.local = gg_str_dup(gg_str_from(m->local)),
                            .remote = gg_str_dup(gg_str_from(m->remote)),
                            .real = gg_str_dup(gg_str_from(m->real)),
                            .by_real = m->by_real};
        gg_list_push(&out->maps, copy);
    }
}

static gg_str without_slash(gg_str path) {
    while (path.len && path.ptr[path.len - 1] == '/') path.len--;
    return path;
}

static void add_map(gg_remote *remote, gg_str local, gg_str there) {
    char resolved[PATH_MAX], *given = gg_str_dup(local);
    const char *real = realpath(given, resolved) ? resolved : given;
    gg_path_map map = {.local = gg_str_dup(without_slash(local)),
                       .remote = gg_str_dup(without_slash(there)),
                       .real = gg_str_dup(without_slash(gg_str_from(real)))};
    gg_free(given);
    gg_list_push(&remote->maps, map);
}

static bool is_absolute(gg_str path) {
    return gg_str_starts_with(path, GG_STR("/"));
}

int gg_remote_add_map(gg_remote *remote, const char *pair, gg_error *err) {
    gg_str whole = gg_str_from(pair);
    size_t equals = gg_str_find(whole, GG_STR("="), 0);
    gg_str local = gg_str_slice(whole, 0, equals), there = gg_str_slice(whole, equals + 1, whole.len);
    if (equals == SIZE_MAX || !is_absolute(local) || !is_absolute(there))
        return gg_fail(err, GG_EPARAMS, "--worker-map wants LOCAL=REMOTE, two absolute folders, not '%s'", pair);
    if (remote->maps.len >= MAX_MAPS) return gg_fail(err, GG_EPARAMS, "at most %d --worker-map are taken", MAX_MAPS);
    add_map(remote, local, there);
    return 0;
}

int gg_remote_set_command(gg_remote *remote, const char *words, gg_error *err) {
    wordexp_t split;
    int failed = wordexp(words, &split, WRDE_NOCMD);
    if (failed) {
        if (failed == WRDE_NOSPACE) wordfree(&split);
        return gg_fail(err, GG_EPARAMS, "--worker-command cannot be split into words: %s",
                       failed == WRDE_BADCHAR  ? "one of | & ; < > ( ) { } or a line break stands outside of quotes"
                       : failed == WRDE_CMDSUB ? "it holds a command"
                                               : "a quote is open");
    }
    clear_words(remote);
    for (size_t i = 0; i < split.we_wordc && i < MAX_WORDS; i++)
        gg_list_push(&remote->command, gg_str_dup(gg_str_from(split.we_wordv[i])));
    wordfree(&split);
    return 0;
}

static gg_str text_of(const json_t *value) {
    return (gg_str){json_string_value(value), json_string_length(value)};
}

static bool read_command(gg_remote *out, const json_t *command) {
    bool fits = json_is_array(command) && json_array_size(command) <= MAX_WORDS;
    for (size_t i = 0; fits && i < json_array_size(command); i++) {
        gg_str word = text_of(json_array_get(command, i));
        fits = word.ptr != NULL && (i > 0 || word.len > 0);
        if (fits) gg_list_push(&out->command, gg_str_dup(word));
    }
    return fits;
}

static bool read_maps(gg_remote *out, const json_t *maps) {
    bool fits = json_is_array(maps) && json_array_size(maps) <= MAX_MAPS;
    for (size_t i = 0; fits && i < json_array_size(maps); i++) {
        const json_t *map = json_array_get(maps, i);
        gg_str local = text_of(json_object_get(map, "local")), there = text_of(json_object_get(map, "remote"));
        fits = is_absolute(local) && is_absolute(there);
        if (fits) add_map(out, local, there);
    }
    return fits;
}

static bool given(const json_t *value) {
    return value != NULL && !json_is_null(value);
}

int gg_remote_read(gg_remote *out, const json_t *settings, gg_error *err) {
    const json_t *command = json_object_get(settings, "command"), *program = json_object_get(settings, "program");
    const json_t *maps = json_object_get(settings, "pathMap"), *start = json_object_get(settings, "startTimeout");
    const char *wrong = NULL;
    *out = (gg_remote){.program = NULL};
    if (!json_is_object(settings)) wrong = " wants an object";
    if (given(command) && !read_command(out, command)) wrong = ".command wants a list of words";
    if (given(maps) && !read_maps(out, maps)) wrong = ".pathMap wants a list of {local, remote}, two absolute folders";
    if (given(program)) {
        if (json_string_length(program))
            out->program = gg_str_dup(text_of(program));
        else
            wrong = ".program wants the name or path of graphglue-worker there";
    }
    if (given(start)) {
        if (json_number_value(start) >= 1 && json_number_value(start) <= MAX_START_S)
            out->start_ms = (uint32_t)(json_number_value(start) * 1000);
        else
            wrong = ".startTimeout wants seconds, from 1 to 86400";
    }
    if (wrong == NULL) return 0;
    gg_remote_clear(out);
    return gg_fail(err, GG_EPARAMS, "worker%s", wrong);
}

void gg_remote_python(gg_python_choice *out, const char *setting) {
    *out = (gg_python_choice){.why = "python3 on the PATH of the worker's machine"};
    snprintf(out->path, sizeof(out->path), "%s", setting && *setting ? setting : "python3");
    if (setting && *setting)
        snprintf(out->why, sizeof(out->why), "--python or the setting graphglue.python, on the worker's machine");
}
