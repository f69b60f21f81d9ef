/* Workspace folders, each with a worker of its own once something must run.  Loop thread only. */
#include <limits.h>
#include <stdio.h>

#include "server/session.h"

void gg_workspace_use_registry(gg_workspace *workspace, const char *path, const char *text, const char *torch) {
    gg_registry_source *source = gg_registry_source_new(path, text);
    if (source && torch) gg_registry_source_tell(source, torch);
    if (source == NULL || (gg_registry_source_is(workspace->registry, path, text) &&
                           strcmp(gg_registry_source_torch(workspace->registry), torch ? torch : "") == 0)) {
        gg_registry_source_unref(&source);
        return;
    }
    gg_registry_source_unref(&workspace->registry);
    workspace->registry = source;
}

static void on_state(void *data, gg_worker *worker) {
    const gg_worker_info *info = gg_worker_get_info(worker);
    gg_workspace_use_registry(data, info->registry_path, info->registry_text, info->torch);
}

static bool lies_below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static gg_workspace *add(gg_session *session, const char *folder) {
    gg_workspace *workspace = gg_calloc(1, sizeof(gg_workspace));
    workspace->session = session;
    workspace->folder = gg_str_dup(gg_str_from(folder));
    gg_list_push(&session->workspaces, workspace);
    return workspace;
}

static gg_workspace *around(const gg_session *session, const char *path) {
    gg_workspace *best = NULL;
    for (size_t i = 0; i < session->workspaces.len; i++) {
        gg_workspace *w = session->workspaces.items[i];
        if (!w->removed && lies_below(path, w->folder) && (best == NULL || strlen(w->folder) > strlen(best->folder)))
            best = w;
    }
    return best;
}

const gg_workspace *gg_workspace_around(const gg_session *session, const char *path) {
    return around(session, path);
}

gg_workspace *gg_workspace_of(gg_session *session, const char *path) {
    gg_workspace *best = around(session, path);
    if (best) return best;
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) *slash = '\0';
    return add(session, folder);
}

gg_worker *gg_workspace_worker(gg_workspace *workspace) {
    if (workspace->worker) return workspace->worker;
    const gg_settings *settings = &workspace->session->settings;
    gg_python_choice python;
    gg_error err = {0};
    const char *setting = gg_options_at(workspace->session, workspace->folder)->python;
    gg_free(workspace->error);
    gg_free(workspace->setting);
    workspace->error = NULL;
    workspace->setting = setting ? gg_str_dup(gg_str_from(setting)) : NULL;
    workspace->chosen = true;
    if (settings->remote.command.len) {
        gg_remote_python(&python, setting);
    } else if (gg_python_choose(&python, setting, workspace->folder, &err) != 0) {
        workspace->error = gg_str_dup(gg_str_from(err.message));
        return NULL;
    }
    gg_free(workspace->python);
    workspace->python = gg_str_dup(gg_str_from(python.path));
    const char *folders[] = {workspace->folder};
    gg_worker_options options = {.python = python.path,
                                 .workspaces = folders,
                                 .workspace_count = 1,
                                 .on_state = on_state,
                                 .data = workspace,
                                 .remote = &settings->remote};
    workspace->worker = gg_worker_new(&workspace->session->loop, &options);
    return workspace->worker;
}

static void on_closed(void *data) {
    gg_session *session = data;
    session->closing_workers--;
}

void gg_workspaces_restart(gg_session *session) {
    for (size_t i = 0; i < session->workspaces.len; i++) {
        gg_workspace *w = session->workspaces.items[i];
        if (w->worker == NULL) continue;
        gg_worker *old = w->worker;
        w->worker = NULL;
        session->closing_workers++;
        gg_worker_close(old, on_closed, session);
    }
}

void gg_workspaces_choose_python(gg_session *session) {
    bool other = false;
    for (size_t i = 0; i < session->workspaces.len; i++) {
        gg_workspace *w = session->workspaces.items[i];
        const char *setting = gg_options_at(session, w->folder)->python;
        bool same = setting && w->setting ? strcmp(setting, w->setting) == 0 : setting == w->setting;
        other = other || (w->chosen && !same);
    }
    if (other) gg_session_restart_workers(session);
}

void gg_workspace_free(gg_workspace *w) {
    gg_free(w->setting);
    gg_registry_source_unref(&w->registry);
    gg_free(w->error);
    gg_free(w->python);
    gg_free(w->folder);
    gg_free(w);
}

/* A removed folder stays in memory until the session ends: captures under way know it. */
void gg_workspace_change(gg_session *session, const char *path, bool added) {
    char folder[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof(folder)) return;
    while (len > 1 && path[len - 1] == '/') len--; /* Emacs ends them so */
    snprintf(folder, sizeof(folder), "%.*s", (int)len, path);
    for (size_t i = 0; i < session->workspaces.len; i++) {
        gg_workspace *w = session->workspaces.items[i];
        if (strcmp(w->folder, folder) != 0) continue;
        w->removed = !added;
        w->opened = w->opened || added;
        if (w->worker && !added) {
            session->closing_workers++;
            gg_worker *old = w->worker;
            w->worker = NULL;
            gg_worker_close(old, on_closed, session);
        }
        return;
    }
    if (added) add(session, folder)->opened = true;
}
