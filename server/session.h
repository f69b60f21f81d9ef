/* The session: everything the loop owns.  Private to server/.  Loop thread only; worker threads see only what a job was given. */
#ifndef GG_SESSION_H
#define GG_SESSION_H

#include <uv.h>

#include "protocol/gg_protocol.h"
#include "repair/gg_repair.h"
#include "server/gg_server.h"
#include "server/python.h"
#include "server/worker.h"

typedef struct gg_session gg_session;
typedef struct gg_call gg_call;

/* ---- client capabilities: bit ↔ JSON path (caps.def) ----------------------------------------------------------------- */
enum gg_cap_ordinal {
#define CAP(name, path, kind, value) GG__CAP_##name,
#include "server/caps.def"
#undef CAP
    GG__CAP_COUNT
};
#define GG_HAS(session, name) (((session)->caps >> GG__CAP_##name) & 1u)

/* ---- findings: what a capture said of one document --------------------------------------------------------------------- */
typedef struct gg_problem { /* an entry that could not be captured, or a file that could not be run */
    gg_span span;
    int severity; /* LSP's */
    const char *code;
    gg_str message;
} gg_problem;

/* Immutable once made; reference counted on the loop thread, read by jobs that hold a reference. */
typedef struct gg_findings {
    unsigned refs;
    gg_arena *arena;
    gg_text *text; /* captured */
    gg_tree *tree; /* of that text */
    gg_site_list sites;
    gg_span *site_spans; /* in text: the site's own, or its entry's when it lies elsewhere */
    bool *local;         /* the site lies in this document */
    gg_problem *problems;
    size_t problem_count;
    gg_entry *entries;
    size_t entry_count;
} gg_findings;

gg_findings *gg_findings_ref(gg_findings *findings);
void gg_findings_unref(gg_findings **findings);

/* ---- documents ------------------------------------------------------------------------------------------------------------- */
typedef struct gg_mark {
    gg_span span;
    bool faded;
} gg_mark; /* where a finding is now; faded: its line was edited */

typedef struct gg_document {
    gg_session *session;
    char *uri, *path; /* path NULL for documents that are no files */
    int64_t version;
    bool python;
    gg_text *text;
    gg_tree *tree;                   /* of an older or the same text */
    GG_LIST(gg_change) tree_changes; /* since tree */
    gg_findings *findings;
    gg_mark *marks;      /* sites, then problems */
    uint64_t generation; /* of findings and marks together: names a pull result, dates a code action */
    uint64_t findings_generation;
    bool dirty; /* must be published */
    bool closed;
    struct gg_capture *capture;
    bool capture_again; /* when the one that runs, or the question for settings, is done */
} gg_document;

gg_document *gg_document_find(gg_session *session, gg_str uri);
gg_document *gg_document_open(gg_session *session, gg_str uri, gg_str language, int64_t version, gg_str text,
                              gg_error *err);
void gg_document_close(gg_document *document);
/* One change, in the negotiated encoding; range NULL replaces all. */
int gg_document_change(gg_document *document, const gg_lsp_range *range, gg_str text, gg_error *err) GG_MUST_USE;
void gg_document_set_findings(gg_document *document, gg_findings *findings, const gg_change *since,
                              size_t count); /* takes the ref */
void gg_document_dirty(gg_document *document);

/* ---- workspaces: one worker each ------------------------------------------------------------------------------------------- */
typedef struct gg_workspace {
    gg_session *session;
    char *folder;
    gg_worker *worker; /* NULL until something must run */
    gg_registry *registry;
    char *error; /* why no worker can be had; NULL when one can */
    bool removed;
} gg_workspace;

gg_workspace *gg_workspace_of(gg_session *session, const char *path);
/* Starts the worker's process if need be; NULL with words in workspace->error. */
gg_worker *gg_workspace_worker(gg_workspace *workspace);
void gg_workspaces_restart(gg_session *session); /* settings changed */
void gg_workspace_change(gg_session *session, const char *folder, bool added);
void gg_workspace_free(gg_workspace *workspace);

typedef enum gg_run { GG_RUN_ON_SAVE, GG_RUN_ON_TYPE, GG_RUN_MANUAL } gg_run;

typedef struct gg_settings {
    char *python;
    bool trusted; /* said once, in initialize */
    gg_run run;
    uint32_t timeout_ms;
    gg_safety max_safety;
} gg_settings;

struct gg_session {
    uv_loop_t loop;
    const gg_server_settings *options;
    enum { GG_STATE_NEW, GG_STATE_INITIALIZED, GG_STATE_SHUTDOWN, GG_STATE_EXITING } state;
    int exit_status;
    pid_t parent_pid, client_pid; /* when either ends, so does the server; client_pid 0: not known */
    uint32_t caps;
    gg_encoding encoding;
    bool pulls; /* diagnostics are asked for, not pushed */
    gg_settings settings;
    GG_LIST(gg_document *) documents;
    GG_LIST(gg_workspace *) workspaces;
    GG_LIST(gg_call *) calls; /* pending requests */
    GG_LIST(gg_call *) syncs; /* gg/sync, answered when all is quiet */
    GG_LIST(struct gg_outgoing *) outgoing;
    GG_LIST(struct gg_progress *) progresses;
    json_int_t next_id;
    unsigned jobs, captures, glues, closing_workers;
    unsigned asking; /* workspace/configuration is awaited: captures wait for it, it may name another interpreter */
    uv_timer_t flush, parent_watch, leave;
    uv_prepare_t prepare;
    struct gg_transport *transport;
    const char *last_method;
    uint64_t turn_wall_ns, turn_idle_ns, turn_cpu_ns;
    long turn_switches;
    uint64_t stalls, longest_turn_us;
    gg_frame_reader *reader;
};

/* ---- dispatch -------------------------------------------------------------------------------------------------------------- */
typedef enum gg_method_kind { GG_REQUEST, GG_NOTIFICATION } gg_method_kind;
typedef enum gg_method_when { GG_FIRST, GG_RUNNING, GG_ALWAYS } gg_method_when;

typedef struct gg_method {
    const char *name;
    gg_method_kind kind;
    gg_method_when when;
    const gg_type *params; /* NULL: none are read */
    void (*handler)(gg_session *session, gg_call *call, const void *params);
    const char *capability; /* what the server announces because of this row, as JSON; NULL: nothing */
    bool test_only;
    uint64_t calls, errors, canceled, total_us, max_us; /* populated at run time */
} gg_method;

/* The duty to answer one request.  Consumed by gg_call_reply_take or gg_call_fail. For a notification, call is NULL. */
struct gg_call {
    gg_session *session;
    gg_method *method;
    gg_message message; /* params borrow from it */
    gg_arena *arena;
    void (*on_cancel)(
        gg_call *call); /* the client gave up: stop the work; the call is answered and freed by dispatch afterwards */
    void *work;
};

void gg_dispatch(gg_session *session, gg_str body);
void gg_call_reply_take(gg_call *call, json_t *result_take);
void gg_call_fail(gg_call *call, int code, const char *format, ...) GG_PRINTF(3, 4);
/* The pending call, or NULL once it was canceled: a job keeps the id of its call, not the call. */
gg_method *gg_method_find(gg_str name);
gg_method *gg_methods(size_t *out_count);
json_t *gg_methods_capabilities(const gg_session *session);

/* ---- outgoing ---------------------------------------------------------------------------------------------------------------- */
void gg_send_take(gg_session *session, json_t *message_take);
void gg_notify_take(gg_session *session, const char *method, json_t *params_take);
typedef void (*gg_on_response)(void *data, const json_t *result, const json_t *error);
void gg_request_take(gg_session *session, const char *method, json_t *params_take, gg_on_response done, void *data);
void gg_outgoing_answer(gg_session *session, const gg_message *message);
void gg_outgoing_end(gg_session *session); /* every wait ends with an error */
void gg_show_message(gg_session *session, int type, const char *format, ...) GG_PRINTF(3, 4);

/* ---- jobs: CPU-bound work off the loop ---------------------------------------------------------------------------------- */
void gg_job_start(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data);
/* Brings a document's tree up to its text: `tree_out` is a new reference.  Any thread. */
typedef struct gg_parse_input {
    gg_text *text;
    gg_tree *old;
    gg_change *changes;
    size_t change_count;
} gg_parse_input;
gg_parse_input gg_parse_input_of(const gg_document *document);
int gg_parse_input_run(const gg_parse_input *input, gg_tree **tree_out, gg_error *err);
void gg_parse_input_clear(gg_parse_input *input);
void gg_document_offer_tree(gg_document *document, const gg_tree *tree); /* kept when it is the text's */

/* ---- progress ------------------------------------------------------------------------------------------------------------------ */
typedef struct gg_progress gg_progress;
/* Shown only when the client can and the work takes over 300 ms.  on_cancel may be NULL. */
gg_progress *gg_progress_start(gg_session *session, const char *title, void (*on_cancel)(void *data), void *data);
void gg_progress_say(gg_progress *progress, const char *message);
void gg_progress_end(gg_progress *progress);
void gg_progress_cancel(gg_session *session, gg_token token);
void gg_progress_close_all(gg_session *session);

/* ---- captures, glue, publishing ------------------------------------------------------------------------------------------------ */
void gg_capture_start(gg_document *document);
void gg_capture_cancel(gg_document *document);
void gg_captures_wanted(gg_session *session); /* starts those that waited */

typedef struct gg_glue_result {
    int error;           /* 0, or GG_ESTALE / GG_ECANCELED / GG_EFAILED / … */
    const char *message; /* when error */
    gg_document *document;
    const gg_edits *edits; /* when no error; spans in the document's text */
    gg_str summary;
} gg_glue_result;
typedef struct gg_glue gg_glue;
/* Verifies a rule's edits for a site; done is called once, from a later turn. NULL with err when it cannot begin. */
gg_glue *gg_glue_start(gg_document *document, size_t site, const gg_rule *rule,
                       void (*done)(void *data, const gg_glue_result *result), void *data, gg_error *err);
/* As above, from a code action's data {uri, version, generation, site, rule}. */
gg_glue *gg_glue_start_from(gg_session *session, const json_t *action,
                            void (*done)(void *data, const gg_glue_result *result), void *data, gg_error *err);
void gg_glue_cancel(gg_glue *glue); /* its done follows */
/* {"documentChanges"|"changes": …}; new reference. */
json_t *gg_workspace_edit_json(const gg_session *session, const gg_document *document, const gg_edits *edits);

void gg_publish_dirty(gg_session *session);
json_t *gg_diagnostics_json(const gg_document *document);
json_t *gg_diagnostic_of_site(const gg_document *document, size_t index);

/* ---- conversion ------------------------------------------------------------------------------------------------------------------ */
json_t *gg_range_json(const gg_session *session, const gg_text *text, gg_span span);
gg_span gg_span_of(const gg_session *session, const gg_text *text, const gg_lsp_range *range);
char *gg_uri_to_path(gg_str uri); /* NULL when it is no file: URI; the caller frees */
char *gg_path_to_uri(const char *path);

/* ---- session ------------------------------------------------------------------------------------------------------------------------ */
void gg_session_warm(gg_session *session);         /* starts the workers, so that torch is imported when it is needed */
void gg_session_ask_settings(gg_session *session); /* when the client can be asked; captures wait for the answer */
void gg_session_settings(gg_session *session, const json_t *settings); /* reads what is there, keeps the rest */
void gg_session_read_caps(gg_session *session, const json_t *capabilities);
void gg__capture_note_change(struct gg_capture *capture, gg_change change);
void gg_session_exit(gg_session *session, int status);
bool gg_session_quiet(const gg_session *session);
void gg_watchdog_turn(gg_session *session);

struct gg_transport *gg_transport_new(gg_session *session);
void gg_transport_write(struct gg_transport *transport, gg_str bytes);
void gg_transport_close(struct gg_transport *transport);

#endif
