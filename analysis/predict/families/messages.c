/* Messages: logging, warnings. */
#include "analysis/predict/predict.h"

static bool is_log_method(gg_str name) {
    static const char *const names[] = {
        "debug", "info",         "warning",      "error",    "critical",          "exception",  "log",
        "warn",  "warning_once", "isEnabledFor", "setLevel", "getEffectiveLevel", "hasHandlers"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

/* A message about arguments that are hardly ever given is not worth a word. */
static void log_found(gg__walk *w, const gg__call *call, gg__rule rule, const char *id) {
    if (w->guard == NULL || !w->guard->unlikely) gg__found(w, rule, id, call->node, NULL);
}

static void on_call(gg__walk *w, const gg__call *call) {
    gg_str path = call->callee.path;
    if (call->callee.kind == GG__METHOD && call->callee.of->kind == GG__LOGGER && is_log_method(path))
        log_found(w, call, GG__RULE_LOGGING, "GB0291");
    if (call->callee.kind != GG__DOTTED) return;
    if (gg_str_starts_with(path, GG_STR("logging.")) && is_log_method(gg_str_slice(path, 8, path.len)))
        log_found(w, call, GG__RULE_LOGGING, NULL);
    if (gg_str_is(path, "logging.getLogger")) log_found(w, call, GG__RULE_LOGGING, "GB6215");
    if (gg_str_starts_with(path, GG_STR("warnings.")) && !gg_str_is(path, "warnings.catch_warnings"))
        log_found(w, call, GG__RULE_WARNING, NULL);
}

const gg__family gg__family_messages = {.on_call = on_call};
