/* [tool.graphglue] of the nearest pyproject.toml that has one, as linters look for theirs.  Any thread. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "server/options.h"
#include "server/toml.h"

enum { MAX_BYTES = 1024 * 1024 };

static int read_file(gg_buf *out, const char *path, gg_error *err) {
    struct stat info;
    if (stat(path, &info) != 0) return gg_fail(err, GG_ENOTFOUND, "it is not there");
    if (!S_ISREG(info.st_mode)) return gg_fail(err, GG_EIO, "it is no file"); /* a pipe would be waited for */
    FILE *file = fopen(path, "re");
    if (file == NULL) return gg_fail(err, GG_EIO, "%s", strerror(errno));
    char block[16384];
    size_t n;
    int error = 0;
    while (error == 0 && (n = fread(block, 1, sizeof(block), file)) > 0) error = gg_buf_append(out, (gg_str){block, n});
    fclose(file);
    return error ? gg_fail(err, error, "it is over %d bytes", MAX_BYTES) : 0;
}

/* An interpreter that is named by a path lies beside the file that names it. */
static void place_python(json_t *values, const char *folder) {
    const char *python = json_string_value(json_object_get(values, "python"));
    if (python && strchr(python, '/') && python[0] != '/')
        json_object_set_new(values, "python", json_sprintf("%s/%s", folder, python));
}

/* True when the file is there and has our table. */
static bool read_one(gg_project *out, const char *folder, const char *path) {
    gg_buf text;
    gg_error err = {0};
    json_t *document = NULL;
    gg_buf_init(&text, MAX_BYTES);
    if (read_file(&text, path, &err) == 0) document = gg_toml_parse(gg_buf_str(&text), &err);
    gg_buf_clear(&text);
    if (document == NULL) {
        if (err.code == GG_ENOTFOUND) return false;
        char said[PATH_MAX + 600];
        snprintf(said, sizeof(said), "%s:%s%s; it is passed over", path, err.code == GG_ESYNTAX ? "" : " ",
                 err.message);
        gg_list_push(&out->problems, gg_str_dup(gg_str_from(said)));
        return false;
    }
    const json_t *ours = json_object_get(json_object_get(document, "tool"), "graphglue");
    bool found = json_is_object(ours);
    if (found) {
        gg_words problems = {0};
        out->folder = gg_str_dup(gg_str_from(folder));
        out->values = json_object();
        gg_settings_read(out->values, ours, true, &problems);
        place_python(out->values, folder);
        for (size_t i = 0; i < problems.len; i++) {
            char said[PATH_MAX + 600];
            snprintf(said, sizeof(said), "%s: [tool.graphglue] %s", path, problems.items[i]);
            gg_list_push(&out->problems, gg_str_dup(gg_str_from(said)));
        }
        gg_words_clear(&problems);
    }
    json_decref(document);
    return found;
}

void gg_project_read(gg_project *out, const char *folder) {
    char at[PATH_MAX], path[PATH_MAX + 32];
    *out = (gg_project){0};
    if (snprintf(at, sizeof(at), "%s", folder) >= (int)sizeof(at)) return;
    for (;;) {
        snprintf(path, sizeof(path), "%s/pyproject.toml", strcmp(at, "/") ? at : "");
        char *slash = strrchr(at, '/');
        if (read_one(out, at, path) || slash == NULL || at[1] == '\0') return;
        slash[slash == at] = '\0';
    }
}

void gg_project_clear(gg_project *project) {
    gg_free(project->folder);
    json_decref(project->values);
    gg_words_clear(&project->problems);
}
