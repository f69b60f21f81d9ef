/* See session_agent.h.  The lessons' file is read anew before it is written: what others learnt meanwhile stays. */
#include "server/llm/session_agent.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/llm/explanations.h"
#include "server/llm/limits.h"
#include "server/state_folder.h"

enum { MAX_LESSONS_BYTES = 32 << 20 }; /* as many as are kept, each as long as one may be */

static bool path_of(const char *root, char *out, size_t size) {
    return snprintf(out, size, "%s/.graphglue/lessons.jsonl", root) < (int)size;
}

/* The folder may be of a cloned repository: a link could lead to our own input, or to what never ends. */
static FILE *open_plain(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    FILE *file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "rb") : NULL;
    if (file == NULL && fd >= 0) close(fd);
    return file;
}

static void load(gg_lessons *lessons, const char *root) {
    char path[PATH_MAX];
    gg_buf bytes;
    FILE *file = path_of(root, path, sizeof(path)) ? open_plain(path) : NULL;
    if (file == NULL) return;
    gg_buf_init(&bytes, MAX_LESSONS_BYTES);
    char block[8192];
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        if (gg_buf_append(&bytes, (gg_str){block, n}) != 0) break;
    fclose(file);
    gg_lessons_load(lessons, gg_buf_str(&bytes));
    gg_buf_clear(&bytes);
}

static void save(const gg_session_agent *a) {
    char path[PATH_MAX];
    gg_lessons *all = gg_lessons_new();
    gg_buf mine, bytes;
    gg_buf_init(&mine, MAX_LESSONS_BYTES);
    gg_buf_init(&bytes, MAX_LESSONS_BYTES);
    load(all, a->root);
    gg_lessons_render(a->lessons, &mine);
    gg_lessons_load(all, gg_buf_str(&mine));
    gg_lessons_render(all, &bytes);
    if (bytes.overflow || !gg_state_folder_make(a->root, "") || !path_of(a->root, path, sizeof(path)) ||
        gg_state_file_replace(path, gg_buf_str(&bytes), 0600, false) != 0)
        gg_log(GG_LOG_WARNING, "what was learnt could not be kept in %s/.graphglue", a->root);
    gg_buf_clear(&mine);
    gg_buf_clear(&bytes);
    gg_lessons_free(all);
}

static size_t bytes_of(const gg_lessons *lessons) {
    gg_buf bytes;
    gg_buf_init(&bytes, MAX_LESSONS_BYTES);
    gg_lessons_render(lessons, &bytes);
    size_t len = bytes.len;
    gg_buf_clear(&bytes);
    return len;
}

static bool explained(void *data, gg_str *out, const gg_tree *tree, const gg_site *site, gg_arena *arena) {
    const gg_session_agent *a = data;
    const gg_explained_by by = {a->root, a->model, a->torch};
    return gg_explanation_find(out, &by, tree, site, arena);
}

void gg_session_agent_open(gg_session_agent *out, const gg_options *options, double input_price, double output_price,
                           const char *root, const char *model, const char *torch) {
    gg_llm_limits limits = gg_limits_of(options, input_price, output_price);
    *out = (gg_session_agent){.lessons = gg_lessons_new(), .root = root ? gg_str_dup(gg_str_from(root)) : NULL};
    if (root) load(out->lessons, root);
    out->known = bytes_of(out->lessons);
    out->agent = gg_agent_new(&limits, out->lessons);
    out->model = gg_str_dup(gg_str_from(model));
    out->torch = gg_str_dup(gg_str_from(torch));
    if (root) gg_agent_explain(out->agent, explained, out);
}

void gg_session_agent_close(gg_session_agent *a, bool keep) {
    if (a->agent == NULL) return;
    if (keep && a->root && bytes_of(a->lessons) != a->known) save(a);
    gg_agent_free(a->agent);
    gg_lessons_free(a->lessons);
    gg_free(a->root);
    gg_free(a->model);
    gg_free(a->torch);
    *a = (gg_session_agent){0};
}

unsigned gg_session_agent_round(const gg_session_agent *a) {
    const gg_srs *srs = gg_agent_srs(a->agent);
    size_t count = 0;
    if (srs) gg_srs_rounds(srs, &count);
    return count ? (unsigned)count - 1 : 0;
}

void gg_request_show(const gg_llm_request *request, gg_buf *out) {
    gg_buf_printf(out, "At most %u tokens, temperature %.2g, top-p %.2g.\n", request->max_tokens, request->temperature,
                  request->top_p);
    if (request->system.len) gg_buf_printf(out, "\n=== system ===\n%.*s\n", GG_STR_ARG(request->system));
    for (size_t i = 0; i < request->message_count; i++)
        gg_buf_printf(out, "\n=== %s ===\n%.*s\n", request->messages[i].role == GG_LLM_USER ? "user" : "model",
                      GG_STR_ARG(request->messages[i].content));
}
