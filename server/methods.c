/* Every LSP method we speak, one row each, sorted by name (tests/unit/test_methods.c).  Handlers run on the loop and return within a few
 * milliseconds; what takes longer is a job or the worker's.  The server's capabilities are composed from the rows, so that advertising and
 * handling cannot disagree. */
#include "server/on/on.h"

#define REQUEST(name, when, params, handler, capability) \
    {name, GG_REQUEST, when, params, handler, capability, false, 0, 0, 0, 0, 0}
#define NOTICE(name, when, params, handler, capability) \
    {name, GG_NOTIFICATION, when, params, handler, capability, false, 0, 0, 0, 0, 0}
#define TEST(name, handler) {name, GG_REQUEST, GG_RUNNING, NULL, handler, NULL, true, 0, 0, 0, 0, 0}

static gg_method methods[] = {
    NOTICE("$/cancelRequest", GG_RUNNING, &gg_type_cancel_params, gg_on_cancel_request, NULL),
    NOTICE("$/setTrace", GG_RUNNING, &gg_type_set_trace_params, gg_on_set_trace, NULL),
    REQUEST("codeAction/resolve", GG_RUNNING, &gg_type_code_action, gg_on_code_action_resolve, NULL),
    NOTICE("exit", GG_ALWAYS, NULL, gg_on_exit, NULL),
    TEST("gg/model", gg_on_model),
    TEST("gg/status", gg_on_status),
    TEST("gg/sync", gg_on_sync),
    TEST("gg/text", gg_on_text),
    REQUEST("initialize", GG_FIRST, &gg_type_initialize_params, gg_on_initialize, NULL),
    NOTICE("initialized", GG_RUNNING, NULL, gg_on_initialized, NULL),
    REQUEST("shutdown", GG_RUNNING, NULL, gg_on_shutdown, NULL),
    REQUEST("textDocument/codeAction", GG_RUNNING, &gg_type_code_action_params, gg_on_code_action,
            "{\"codeActionProvider\":{\"codeActionKinds\":[\"quickfix\",\"source.fixAll.graphglue\"],"
            "\"resolveProvider\":true}}"),
    REQUEST("textDocument/codeLens", GG_RUNNING, &gg_type_code_lens_params, gg_on_code_lens,
            "{\"codeLensProvider\":{\"resolveProvider\":false}}"),
    REQUEST("textDocument/diagnostic", GG_RUNNING, &gg_type_document_diagnostic_params, gg_on_diagnostic,
            "{\"diagnosticProvider\":{\"identifier\":\"graphglue\",\"interFileDependencies\":true,"
            "\"workspaceDiagnostics\":true}}"),
    NOTICE("textDocument/didChange", GG_RUNNING, &gg_type_did_change_text_document_params, gg_on_did_change, NULL),
    NOTICE("textDocument/didClose", GG_RUNNING, &gg_type_did_close_text_document_params, gg_on_did_close, NULL),
    NOTICE("textDocument/didOpen", GG_RUNNING, &gg_type_did_open_text_document_params, gg_on_did_open,
           "{\"textDocumentSync\":{\"openClose\":true,\"change\":2,\"save\":{\"includeText\":false}}}"),
    NOTICE("textDocument/didSave", GG_RUNNING, &gg_type_did_save_text_document_params, gg_on_did_save, NULL),
    REQUEST("textDocument/hover", GG_RUNNING, &gg_type_hover_params, gg_on_hover, "{\"hoverProvider\":true}"),
    REQUEST("textDocument/inlayHint", GG_RUNNING, &gg_type_inlay_hint_params, gg_on_inlay_hint,
            "{\"inlayHintProvider\":true}"),
    NOTICE("window/workDoneProgress/cancel", GG_RUNNING, &gg_type_work_done_progress_cancel_params,
           gg_on_progress_cancel, NULL),
    REQUEST("workspace/diagnostic", GG_RUNNING, &gg_type_workspace_diagnostic_params, gg_on_workspace_diagnostic, NULL),
    NOTICE("workspace/didChangeConfiguration", GG_RUNNING, &gg_type_did_change_configuration_params,
           gg_on_did_change_configuration, NULL),
    NOTICE("workspace/didChangeWatchedFiles", GG_RUNNING, &gg_type_did_change_watched_files_params,
           gg_on_did_change_watched_files, NULL),
    NOTICE("workspace/didChangeWorkspaceFolders", GG_RUNNING, &gg_type_did_change_workspace_folders_params,
           gg_on_did_change_workspace_folders,
           "{\"workspace\":{\"workspaceFolders\":{\"supported\":true,\"changeNotifications\":true}}}"),
    REQUEST("workspace/executeCommand", GG_RUNNING, &gg_type_execute_command_params, gg_on_execute_command, NULL),
};

gg_method *gg_methods(size_t *out_count) {
    *out_count = GG_COUNT(methods);
    return methods;
}

gg_method *gg_method_find(gg_str name) {
    size_t low = 0, high = GG_COUNT(methods);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = gg_str_compare(name, gg_str_from(methods[middle].name));
        if (order == 0) return &methods[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

json_t *gg_methods_capabilities(const gg_session *session) {
    json_t *out = json_pack("{s:s}", "positionEncoding", session->encoding == GG_UTF8 ? "utf-8" : "utf-16");
    for (size_t i = 0; i < GG_COUNT(methods); i++) {
        json_t *part = methods[i].capability ? json_loads(methods[i].capability, 0, NULL) : NULL;
        if (part) json_object_update_missing(out, part);
        json_decref(part);
    }
    json_object_set_new(out, "executeCommandProvider", json_pack("{s:o}", "commands", gg_command_names()));
    if (GG_HAS(session, LENS)) json_object_del(out, "inlayHintProvider"); /* it would say the same twice */
    /* A client that asks, but cannot be told to ask again, is pushed to, and must not ask as well: it would show both. */
    if (GG_HAS(session, PULL) && !session->pulls) json_object_del(out, "diagnosticProvider");
    return out;
}
