/* Exceptions that are sure to leave a compiled function, and imports that may raise one. */
#include "analysis/predict/predict.h"

static bool is_sheltered(const gg__walk *w) {
    for (const gg__frame *f = w->frame; f; f = f->caller)
        if (f->shelters) return true;
    return false;
}

/* `raise NotImplementedError` is for a subclass to replace. */
static void on_raise(gg__walk *w, TSNode statement) {
    TSNode raised = ts_node_named_child(statement, 0);
    if (w->guard || is_sheltered(w) || ts_node_is_null(raised)) return;
    if (gg_str_contains(gg__text_of(w, raised), GG_STR("NotImplemented"))) return;
    gg__found(w, GG__RULE_RAISE, NULL, statement, NULL);
}

static void on_import(gg__walk *w, TSNode statement) {
    if (w->guard || !is_sheltered(w)) return;
    const gg__guard guard = {.text = GG_STR("the module is missing")};
    w->guard = &guard;
    gg__found(w, GG__RULE_IMPORT, NULL, statement, NULL);
    w->guard = NULL;
}

static void on_statement(gg__walk *w, TSNode statement, gg__node type) {
    if (type == GG__NODE_raise_statement) on_raise(w, statement);
    if (type == GG__NODE_import_statement || type == GG__NODE_import_from_statement) on_import(w, statement);
}

const gg__family gg__family_exceptions = {.on_statement = on_statement};
