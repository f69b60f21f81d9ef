/* The session: everything the loop owns.  Private to server/.  Loop thread only; worker threads see only what a job was given. */
#ifndef GG_SESSION_H
#define GG_SESSION_H

#include <uv.h>

#include "server/documents.h"
#include "server/gg_server.h"
#include "server/options.h"
#include "server/predictions.h"
#include "server/python.h"
#include "server/registry_source.h"
#include "server/worker.h"

typedef struct gg_call gg_call;
typedef GG_LIST(gg_str) gg_parts; /* of a text, one behind another */

/* ---- client capabilities: bit ↔ JSON path (caps.def) ----------------------------------------------------------------- */
enum gg_cap_ordinal {
#define CAP(name, path, kind, value) GG__CAP_##name,
#include "server/caps.def"
#undef CAP
    GG__CAP_COUNT
};
#define GG_HAS(session, name) (((session)->caps >> GG__CAP_##name) & 1u)

/* ---- workspaces: one worker each ------------------------------------------------------------------------------------------- */
typedef struct gg_workspace {
    gg_session *session;
    char *folder;
    gg_worker *worker; /* NULL until something must run */
    gg_registry_source
        *registry; /* of the torch that its worker has, or that a stored result was found with; NULL: not known */
    char *python;  /* what the worker runs; NULL without one */
    char *setting; /* of the interpreter, when one was last chosen; NULL: none, or never chosen */
    bool chosen;
    char *error; /* why no worker can be had; NULL when one can */
    bool opened; /* by the client, not made up for a file that lies in none */
    bool removed;
} gg_workspace;

gg_workspace *gg_workspace_of(gg_session *session, const char *path);
const gg_workspace *gg_workspace_around(const gg_session *session, const char *path); /* NULL: it lies in none */
/* Starts the worker's process if need be; NULL with words in workspace->error. */
gg_worker *gg_workspace_worker(gg_workspace *workspace);
/* From now on the registry at `path`, or `text` itself; neither: nothing changes. */
void gg_workspace_use_registry(gg_workspace *workspace, const char *path, const char *text, const char *torch);
void gg_workspaces_restart(gg_session *session); /* settings changed */
void gg_workspaces_choose_python(
    gg_session *session); /* settings may have changed: restarted where they name another */
void gg_workspace_change(gg_session *session, const char *path, bool added);
void gg_workspace_free(gg_workspace *workspace);

typedef struct gg_settings { /* the client's */
    json_t *values;          /* as gg_settings_read reads them */
    gg_options *options;     /* of these alone */
    gg_remote remote;        /* read from `worker`, the object of that name (NULL: none was given) */
    json_t *worker;
    bool trusted;     /* said once, in initialize */
    char *trust_help; /* how a person allows it, in the words of the client */
} gg_settings;

enum { GG_LEAVE_SIGNALS = 3 }; /* SIGTERM, SIGINT, SIGHUP */

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
    uint64_t paced_until_us; /* publications are paid for up to here, by uv_now's clock */
    uint64_t revisions;      /* counts texts and findings; none is named the same twice */
    GG_LIST(gg_workspace *) workspaces;
    GG_LIST(gg_call *) calls;  /* pending requests */
    GG_LIST(gg_call *) pulled; /* requests for the diagnostics of a text that is being looked at */
    GG_LIST(gg_call *) syncs;  /* gg/sync, answered when all is quiet */
    GG_LIST(struct gg_outgoing *) outgoing;
    GG_LIST(struct gg_progress *) progresses;
    GG_LIST(struct gg_asking *) askings;    /* of a language model: server/llm/model.h */
    char *repair_log;                       /* NULL: no model was asked yet */
    GG_LIST(struct gg_explained) explained; /* explain_model.c */
    struct gg_http *http;                   /* for these; NULL: none was needed yet */
    json_int_t next_id;
    GG_LIST(struct gg_job *) waiting_jobs;
    unsigned running_jobs;
    unsigned jobs, captures, glues, writings, closing_workers;
    bool warm; /* workers are to be started once settings are known */
    unsigned
        asking; /* settings are awaited, of the client or of a file: captures wait, they may name another interpreter */
    GG_LIST(struct gg_folder *) folders;
    bool reading_folders, read_folders_again;
    GG_LIST(struct gg_workspace_scan *) scans;
    GG_LIST(struct gg_scanned_file *) scanned_files;
    uint64_t scan_epoch; /* counts changes of files and settings */
    gg_words told;       /* what is wrong with a file of settings */
    uv_timer_t flush, parent_watch, leave;
    uv_prepare_t prepare;
    uv_signal_t signals[GG_LEAVE_SIGNALS];
    struct gg_transport *transport; /* NULL once the session ended */
    const char *last_method;
    uint64_t left_at_ms; /* uv_now's, of the exit */
    uint64_t turn_wall_ns, turn_idle_ns, turn_cpu_ns;
    long turn_switches;
    uint64_t stalls, longest_turn_us;
    gg_frame_reader *reader;
    gg_parts diagnostics, sent; /* gg_diagnostics_write; gg_send_with_take */
    char *found_json;           /* … all but predictions; json_dumps made it */
    gg_buf wires;               /* wires.c's: what the next predictions are written to */
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

/* A message as it came: what it says, or why it says nothing. */
typedef struct gg_incoming {
    gg_message message;
    int error;
    gg_error why;
    bool mended; /* a document's text that is no UTF-8, read for its name only */
} gg_incoming;
void gg_incoming_read(gg_incoming *out, gg_str body); /* any thread */
void gg_dispatch_take(gg_session *session, gg_incoming *incoming);
void gg_call_reply_take(gg_call *call, json_t *result_take);
void gg_call_reply_with_take(gg_call *call, json_t *result_take, const gg_parts *array); /* as gg_send_with_take */
void gg_call_fail(gg_call *call, int code, const char *format, ...) GG_PRINTF(3, 4);
/* The pending call, or NULL once it was canceled: a job keeps the id of its call, not the call. */
gg_method *gg_method_find(gg_str name);
gg_method *gg_methods(size_t *out_count);
json_t *gg_methods_capabilities(const gg_session *session);

/* ---- outgoing ---------------------------------------------------------------------------------------------------------------- */
void gg_send_take(gg_session *session, json_t *message_take);
void gg_notify_take(gg_session *session, const char *method, json_t *params_take);
/* … whose last value is an empty array, in whose place `array` goes out, JSON already; NULL: the message as it is */
void gg_send_with_take(gg_session *session, json_t *message_take, const gg_parts *array);
void gg_notify_with_take(gg_session *session, const char *method, json_t *params_take, const gg_parts *array);
typedef void (*gg_on_response)(void *data, const json_t *result, const json_t *error);
/* done (may be NULL) is called once, from a later turn; never when the session was shut down already. */
void gg_request_take(gg_session *session, const char *method, json_t *params_take, gg_on_response done, void *data);
/* The same with another deadline.  Its id, for a cancel, after which nothing is told any more; 0: done is never called. */
json_int_t gg_request_until_take(gg_session *session, const char *method, json_t *params_take, uint64_t deadline_ms,
                                 gg_on_response done, void *data);
void gg_request_cancel(gg_session *session, json_int_t id);
void gg_outgoing_answer(gg_session *session, const gg_message *message);
void gg_outgoing_end(gg_session *session); /* every wait ends with an error */
void gg_show_message(gg_session *session, int type, const char *format, ...) GG_PRINTF(3, 4);

/* ---- jobs: CPU-bound work off the loop ---------------------------------------------------------------------------------- */
void gg_job_start(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data);
/* For what the client's next message waits on: comes before those that wait, and one thread is always left for it. */
void gg_job_start_first(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data);
/* Brings a document's tree up to its text: `tree_out` is a new reference.  Any thread. */
typedef struct gg_parse_input {
    gg_text *text;
    gg_tree *old;
    gg_change *changes;
    size_t change_count;
    const atomic_bool *cancel; /* borrowed; NULL: it is not canceled */
} gg_parse_input;
gg_parse_input gg_parse_input_of(gg_document *document, const atomic_bool *cancel);
int gg_parse_input_run(const gg_parse_input *input, gg_tree **tree_out, gg_error *err);
void gg_parse_input_clear(gg_session *session, gg_parse_input *input);
void gg_document_offer_tree(gg_document *document, const gg_tree *tree); /* kept when it is the text's */
void gg_document_give_back_memory(
    gg_document *document); /* what the first look at a large text took for a while, in a job */
void gg_tree_drop(gg_session *session, gg_tree **tree); /* gg_tree_unref, of a large one in a job */

/* ---- progress ------------------------------------------------------------------------------------------------------------------ */
typedef struct gg_progress gg_progress;
/* Shown only when the client can and the work takes over 300 ms.  on_cancel may be NULL. */
gg_progress *gg_progress_start(gg_session *session, const char *title, void (*on_cancel)(void *data), void *data);
void gg_progress_say(gg_progress *progress, const char *message);
void gg_progress_hear(gg_progress *progress, const char *op, const json_t *frame); /* how far a verification is */
void gg_progress_end(gg_progress *progress);
void gg_progress_cancel(gg_session *session, gg_token token);
void gg_progress_close_all(gg_session *session);

/* ---- captures, glue, publishing ------------------------------------------------------------------------------------------------ */
void gg_capture_start(gg_document *document); /* now: a person waits for it */
void gg_capture_cancel(gg_document *document);
void gg_capture_queue(gg_document *document); /* when those are done that run: what was opened */
void gg_captures_next(gg_session *session);   /* starts what waits and may run now */
/* Files are other ones on disk, {path: true}: what was captured with them is captured again. */
void gg_captures_outdated(gg_session *session, json_t *changed);
/* captures.c, for capture_queue.c */
void gg__capture_start_queued(gg_document *document);
bool gg__capture_gives_way(const struct gg_capture *capture); /* it is queued, and looks for a stored result */
const gg_workspace *gg__capture_workspace(const struct gg_capture *capture);
/* Another capture runs in its worker, or will in a moment. */
bool gg__workspace_is_captured(const gg_session *session, const gg_workspace *workspace, const struct gg_capture *but);

typedef struct gg_glue_result {
    int error;           /* 0, or GG_ESTALE / GG_ECANCELED / GG_EFAILED / … */
    const char *message; /* when error */
    gg_document *document;
    const gg_edits *edits; /* when no error; spans in the document's text */
    gg_str summary;
    gg_str shown;        /* of gg_prompt_start: the question; borrowed */
    const json_t *bench; /* of gg_bench_start: docs/json.md's `bench`; borrowed */
} gg_glue_result;
typedef void (*gg_glue_done)(void *data, const gg_glue_result *result);
typedef struct gg_glue gg_glue;
/* Verifies a rule's edits for a site; done is called once, from a later turn. NULL with err when it cannot begin. */
gg_glue *gg_glue_start(gg_document *document, size_t site, const gg_rule *rule, gg_glue_done done, void *data,
                       gg_error *err);
/* As above, from a code action's data, as gg_glue_offer made it. */
gg_glue *gg_glue_start_from(gg_session *session, const json_t *action, gg_glue_done done, void *data, gg_error *err);
json_t *gg_glue_offer(const gg_document *document, size_t site, const gg_rule *rule);
void gg_glue_cancel(gg_glue *glue);                /* its done follows */
bool gg_edits_move_unknown(const gg_edits *edits); /* U+FFFD, which may stand for what no editor can send */

/* ---- glue_all.c: all sites of a document, callees first, as one edit; no edits when nothing was proved ---- */
typedef struct gg_glue_all gg_glue_all;
/* Of a command's argument: a URI, or what gg_fix_all_offer made.  Of the latter, nothing deliberate is undone, and repairs are exact unless a
 * setting says more: editors do it unasked, on save. */
gg_glue_all *gg_glue_all_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data,
                               gg_error *err);
/* The same, with the edits not to be applied but timed; of a URI. */
gg_glue_all *gg_bench_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data, gg_error *err);
json_t *gg_fix_all_offer(const gg_document *document);
void gg_glue_all_cancel(gg_glue_all *all); /* its done follows */
/* ---- glue_model.c: the breaks of one class or function, by rules and then by the language model that is configured ---- */
/* Of a command's argument, as gg_glue_model_offer made it. */
gg_glue_all *gg_glue_model_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data,
                                 gg_error *err);
/* The same, but nothing is sent: the result has the first question. */
gg_glue_all *gg_prompt_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data, gg_error *err);
json_t *gg_glue_model_offer(const gg_document *document, size_t site);
void gg_session_keep_log(gg_session *session,
                         gg_buf *log_take); /* "Show repair log": of the last time a model was asked */
/* ---- explain_model.c: breaks explained by the language model that is configured ---- */
/* Of a command's argument, as gg_glue_model_offer made it.  Replies {"text": Markdown}: what the model said, or our words where it gave no answer. */
void gg_explain_with_model(gg_session *session, gg_call *call, const json_t *argument);
/* What a model said of a site that reads as it did then, to stand above our own words; empty: nothing.  In the arena. */
gg_str gg_explained_words(const gg_document *document, size_t site, bool markdown, gg_arena *arena);
void gg_explained_clear(gg_session *session);
/* Fails the call, and tells the user why nothing was applied, unless the user gave it up. */
void gg_glue_refuse(gg_call *call, int error, const char *message);
/* {"documentChanges"|"changes": …}; new reference. */
json_t *gg_workspace_edit_json(const gg_session *session, const gg_document *document, const gg_edits *edits);
/* Whether a person is to look at an edit before it is made, where the client can show one: never what an editor does unasked, on save; always what a
 * model wrote; else as settings say. */
typedef enum gg_look { GG_LOOK_NEVER, GG_LOOK_AS_SET, GG_LOOK_ALWAYS } gg_look;
/* The edit of a result that has no error; the summary says why it may be made. */
json_t *gg_glue_edit_json(const gg_glue_result *result, const char *label, gg_look look);

/* Texts of all open Python files; the caller frees *out, whose entries borrow from the documents. */
size_t gg_overlay_of(const gg_session *session, gg_overlay_file **out);

/* ---- written inputs -------------------------------------------------------------------------------------------------------------- */
typedef struct gg_written_inputs {
    int error;           /* 0, or GG_ESTALE / GG_ECANCELED / GG_EFAILED */
    const char *message; /* when error */
    gg_document *document;
    const gg_edits *edits; /* when no error; spans in the document's text */
    gg_str words;          /* when no error: what could not be written; "" when all was */
} gg_written_inputs;
typedef void (*gg_written_inputs_done)(void *data, const gg_written_inputs *result);
typedef struct gg_writing gg_writing;
/* Example inputs for the document, as code; done is called once, from a later turn.  NULL with err when it cannot begin. */
gg_writing *gg_writing_start(gg_document *document, gg_written_inputs_done done, void *data, gg_error *err);
void gg_writing_cancel(gg_writing *writing); /* its done follows */
/* Of the worker's `inputs` frame: its edits, and what the user must be told.  The texts borrow from it. */
int gg_inputs_edits(gg_edits *out, const gg_text *text, const json_t *answer, gg_error *err) GG_MUST_USE;
gg_str gg_inputs_words(const json_t *answer, gg_arena *arena);

/* ---- graphs.c ---- */
/* Answers the call: what the entries of a document are captured as.  `argument`: a URI, or {uri, entry}. */
void gg_show_graphs(gg_session *session, gg_call *call, const json_t *argument);

/* ---- entry_states.c ---- */
typedef struct gg_entry_state {
    gg_span span; /* the line of a class or function */
    gg_str said;  /* what the last capture found of what begins there; lives in the arena */
    bool broken;  /* the text as it is now has breaks: `breaks`, between `graphs` */
    uint32_t graphs, breaks;
    gg_str name, took; /* to be said in front of these, and behind; may be empty */
    bool unwritten;    /* the last of its line: some of its inputs nobody wrote */
} gg_entry_state;
typedef GG_LIST(gg_entry_state) gg_entry_states;
gg_entry_states gg_entry_states_of(const gg_document *document,
                                   gg_arena *arena); /* the list is the caller's; NULL: empty */

/* How long the next publication is to wait: not at all, unless there were many just now. */
uint64_t gg_publish_delay_ms(const gg_session *session);
void gg_publish_soon(gg_session *session);
void gg_publish_dirty(gg_session *session);
/* Those whose text is looked at by now, or was awaited for long enough.  In how many ms to ask again at the latest; UINT64_MAX: never. */
uint64_t gg_pulls_answer(gg_session *session);
void gg_ask_to_pull(gg_session *session); /* what a client that pulls has is out of date */
json_t *gg_diagnostics_json(const gg_document *document);
/* As text, most of which was written before; until the next call. */
const gg_parts *gg_diagnostics_write(const gg_document *document);
json_t *gg_diagnostic_of_site(const gg_document *document, size_t index);
json_t *gg_diagnostic_of_prediction(const gg_document *document, size_t index);
/* Any thread. */
json_t *gg_prediction_json(const gg_session *session, const gg_text *text, const gg_prediction *prediction,
                           gg_span span, gg_level level);

/* ---- levels (levels.c) --------------------------------------------------------------------------------------------------------- */
gg_level gg_level_of_site(const gg_document *document, size_t index); /* never GG_LEVEL_DEFAULT */
gg_level gg_level_of_prediction(const gg_document *document, size_t index);
gg_level gg_prediction_level(const gg_options *options, const gg_prediction *prediction); /* any thread */

/* ---- settings of folders (folders.c) --------------------------------------------------------------------------------------------- */
const gg_options *gg_options_of(const gg_document *document); /* borrowed until settings change */
const gg_options *gg_options_at(const gg_session *session, const char *folder);
bool gg_options_known(const gg_document *document); /* its pyproject.toml was looked for */
bool gg_document_is_excluded(const gg_document *document);
void gg_folders_update(gg_session *session);  /* reads pyproject.toml of every folder, off the loop */
void gg_folders_rebuild(gg_session *session); /* the client's settings changed */
void gg_folders_free(gg_session *session);

/* ---- conversion ------------------------------------------------------------------------------------------------------------------ */
json_t *gg_range_json(const gg_session *session, const gg_text *text, gg_span span);
gg_span gg_span_of(const gg_session *session, const gg_text *text, const gg_lsp_range *range);
char *gg_uri_to_path(gg_str uri); /* NULL when it is no file: URI; the caller frees */
char *gg_path_to_uri(const char *path);

/* ---- session ------------------------------------------------------------------------------------------------------------------------ */
void gg_session_restart_workers(gg_session *session);
void gg_settings_came(gg_session *session);        /* some that were awaited: goes on when none are any more */
void gg_session_ask_settings(gg_session *session); /* when the client can be asked; captures wait for the answer */
void gg_session_settings(gg_session *session, const json_t *settings); /* reads what is there, keeps the rest */
/* 0, or GG_EFAILED with words that say how to allow it. */
int gg_session_check_trust(const gg_session *session, gg_error *err);
void gg_session_read_caps(gg_session *session, const json_t *capabilities);
void gg__capture_note_change(struct gg_capture *capture, gg_noted noted);
void gg_session_exit(gg_session *session, int status);
bool gg_session_quiet(const gg_session *session);
void gg_watchdog_turn(gg_session *session);

struct gg_transport *gg_transport_new(gg_session *session);
/* Never fails and never ends the session itself: that follows in a turn of its own. */
void gg_transport_write(struct gg_transport *transport, const gg_parts *parts); /* copied if need be */
/* What waits is still written, for a bounded time. */
void gg_transport_close(struct gg_transport *transport);

#endif
