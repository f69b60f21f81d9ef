/* Settings of folders: the client's before those of the nearest pyproject.toml, which is read in a job.  Loop thread only.
 *
 * A document of a folder that has not been read yet is neither published nor predicted nor captured: it may be one to say nothing about.  All
 * folders are read again when a document is opened or saved and when a pyproject.toml is said to have changed; files that are as they were change nothing. */
#include <limits.h>
#include <stdio.h>

#include "server/session.h"
#include "server/workspace_scan.h"

typedef struct gg_folder {
    char *path;
    gg_project project;
    gg_options *options;
} gg_folder;

typedef struct reading {
    gg_session *session;
    GG_LIST(char *) paths;
    gg_project *projects; /* one for each path */
} reading;

/* ---- looked up --------------------------------------------------------------------------------------------------------------- */

static gg_folder *find(const gg_session *session, gg_str path) {
    for (size_t i = 0; i < session->folders.len; i++)
        if (gg_str_is(path, session->folders.items[i]->path)) return session->folders.items[i];
    return NULL;
}

static gg_str folder_of(const char *file) {
    const char *slash = strrchr(file, '/');
    return (gg_str){file, slash && slash != file ? (size_t)(slash - file) : 1};
}

const gg_options *gg_options_at(const gg_session *session, const char *folder) {
    const gg_folder *found = find(session, gg_str_from(folder));
    return found ? found->options : session->settings.options;
}

const gg_options *gg_options_of(const gg_document *document) {
    const gg_folder *found = document->path ? find(document->session, folder_of(document->path)) : NULL;
    return found ? found->options : document->session->settings.options;
}

bool gg_options_known(const gg_document *document) {
    return document->path == NULL || find(document->session, folder_of(document->path)) != NULL;
}

bool gg_document_is_excluded(const gg_document *document) {
    return document->path && gg_options_exclude(gg_options_of(document), document->path);
}

/* ---- changed ----------------------------------------------------------------------------------------------------------------- */

static void build(const gg_session *session, gg_folder *folder) {
    gg_options_free(folder->options);
    const gg_workspace *workspace = gg_workspace_around(session, folder->path);
    const char *base = folder->project.folder ? folder->project.folder : workspace ? workspace->folder : NULL;
    folder->options = gg_options_new(session->settings.values, folder->project.values, base);
}

/* What depends on settings is brought up to date. */
static void apply(gg_session *session) {
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document_dirty(session->documents.items[i]);
        gg_predictions_wanted(session->documents.items[i]);
    }
    if (session->documents.len) gg_publish_soon(session); /* a pull that waits may have set the timer for much later */
    gg_workspaces_choose_python(session);
    gg_workspace_scan_changed(session);
}

void gg_folders_rebuild(gg_session *session) {
    gg_options_free(session->settings.options);
    session->settings.options = gg_options_new(session->settings.values, NULL, NULL);
    for (size_t i = 0; i < session->folders.len; i++) build(session, session->folders.items[i]);
    apply(session);
    if (session->documents.len) gg_ask_to_pull(session);
}

/* ---- read -------------------------------------------------------------------------------------------------------------------- */

static void read_all(void *data) {
    reading *r = data;
    for (size_t i = 0; i < r->paths.len; i++) gg_project_read(&r->projects[i], r->paths.items[i]);
}

static void tell_once(gg_session *session, const char *problem) {
    for (size_t i = 0; i < session->told.len; i++)
        if (strcmp(session->told.items[i], problem) == 0) return;
    gg_list_push(&session->told, gg_str_dup(gg_str_from(problem)));
    gg_show_message(session, 2, "graphglue: %s", problem);
}

static bool same(const gg_project *a, const gg_project *b) {
    bool both = a->folder && b->folder;
    return both ? strcmp(a->folder, b->folder) == 0 && json_equal(a->values, b->values) : a->folder == b->folder;
}

/* True when other settings come of it. */
static bool take(gg_session *session, gg_str path, gg_project *project) {
    gg_folder *folder = find(session, path);
    bool news = folder == NULL || !same(&folder->project, project);
    for (size_t i = 0; i < project->problems.len; i++) tell_once(session, project->problems.items[i]);
    if (folder == NULL) {
        folder = gg_calloc(1, sizeof(gg_folder));
        folder->path = gg_str_dup(path);
        gg_list_push(&session->folders, folder);
    }
    bool said_something = folder->project.values || project->values;
    gg_project_clear(&folder->project);
    folder->project = *project;
    *project = (gg_project){0};
    if (news) build(session, folder);
    return news && said_something;
}

static void on_read(void *data) {
    reading *r = data;
    gg_session *session = r->session;
    bool news = false, again = session->read_folders_again, alive = session->state == GG_STATE_INITIALIZED;
    size_t known = session->folders.len;
    session->reading_folders = session->read_folders_again = false;
    for (size_t i = 0; i < r->paths.len; i++) {
        if (alive) news = take(session, gg_str_from(r->paths.items[i]), &r->projects[i]) || news;
        gg_project_clear(&r->projects[i]);
        gg_free(r->paths.items[i]);
    }
    gg_list_clear(&r->paths);
    gg_free(r->projects);
    gg_free(r);
    session->asking--;
    if (!alive) return;
    if (news || session->folders.len != known) apply(session);
    if (news) gg_ask_to_pull(session);
    if (again) gg_folders_update(session);
    gg_settings_came(session);
}

static void add(reading *r, gg_str path) {
    for (size_t i = 0; i < r->paths.len; i++)
        if (gg_str_is(path, r->paths.items[i])) return;
    gg_list_push(&r->paths, gg_str_dup(path));
}

void gg_folders_update(gg_session *session) {
    session->read_folders_again = session->reading_folders;
    if (session->reading_folders || session->state != GG_STATE_INITIALIZED) return;
    reading *r = gg_calloc(1, sizeof(reading));
    r->session = session;
    for (size_t i = 0; i < session->documents.len; i++)
        if (session->documents.items[i]->path) add(r, folder_of(session->documents.items[i]->path));
    for (size_t i = 0; i < session->workspaces.len; i++)
        if (!session->workspaces.items[i]->removed) add(r, gg_str_from(session->workspaces.items[i]->folder));
    r->projects = gg_calloc(r->paths.len, sizeof(gg_project));
    session->reading_folders = true;
    session->asking++;
    gg_job_start_first(session, read_all, on_read, r);
}

void gg_folders_free(gg_session *session) {
    for (size_t i = 0; i < session->folders.len; i++) {
        gg_folder *folder = session->folders.items[i];
        gg_project_clear(&folder->project);
        gg_options_free(folder->options);
        gg_free(folder->path);
        gg_free(folder);
    }
    gg_list_clear(&session->folders);
    gg_words_clear(&session->told);
}
