/* torch.compile(f) whose result nothing can call: a statement of its own, or a local name that is not used again.  It is looked for in the text:
 * most files do not name it at all. */
#include "analysis/predict/predict.h"

/* `compile`, as `torch.compile` or by a name that an import bound. */
static bool is_compile(gg__walk *w, TSNode function) {
    gg__node type = gg__node_of(function);
    if (type == GG__NODE_attribute) {
        const gg__value *object = gg__scope_own(w, w->module, gg__text_of(w, GG__FIELD(w, function, object)));
        return object && object->kind == GG__DOTTED && gg_str_is(object->path, "torch") &&
               gg_str_is(gg__text_of(w, GG__FIELD(w, function, attribute)), "compile");
    }
    const gg__value *named = type == GG__NODE_identifier ? gg__scope_own(w, w->module, gg__text_of(w, function)) : NULL;
    return named && named->kind == GG__DOTTED && gg_str_is(named->path, "torch.compile");
}

static bool names(TSNode node, const gg__walk *w, gg_str name, uint32_t after, unsigned depth) {
    if (ts_node_end_byte(node) <= after || depth > 200) return false;
    if (gg__node_of(node) == GG__NODE_identifier)
        return ts_node_start_byte(node) >= after && gg_str_equal(gg_node_text(w->tree, node), name);
    uint32_t count = ts_node_named_child_count(node);
    for (uint32_t i = 0; i < count; i++)
        if (names(ts_node_named_child(node, i), w, name, after, depth + 1)) return true;
    return false;
}

/* fast = torch.compile(f) in a function where `fast` is not read behind it; nor is it read before, in a loop. */
static bool is_unused_local(gg__walk *w, TSNode assignment) {
    TSNode left = GG__FIELD(w, assignment, left), function = gg_node_ancestor(assignment, "function_definition");
    if (gg__node_of(left) != GG__NODE_identifier || ts_node_is_null(function)) return false;
    TSNode loop = gg_node_ancestor(assignment, "for_statement");
    if (ts_node_is_null(loop)) loop = gg_node_ancestor(assignment, "while_statement");
    if (!ts_node_is_null(loop) && ts_node_start_byte(loop) > ts_node_start_byte(function)) return false;
    gg_str text = gg__text_of(w, GG__FIELD(w, function, body)), name = gg__text_of(w, left);
    if (gg_str_contains(text, GG_STR("global ")) || gg_str_contains(text, GG_STR("nonlocal ")) ||
        gg_str_contains(text, GG_STR("locals()")))
        return false;
    return !names(GG__FIELD(w, function, body), w, name, ts_node_end_byte(assignment), 0);
}

static void look_at(gg__walk *w, TSNode call) {
    TSNode outer = ts_node_parent(call);
    gg__nodes given = gg__children(w->syntax, GG__FIELD(w, call, arguments));
    if (!is_compile(w, GG__FIELD(w, call, function)) || given.len == 0) return;
    bool some = gg__node_of(given.items[0]) != GG__NODE_keyword_argument; /* else it makes a decorator */
    bool unused = gg__node_of(outer) == GG__NODE_expression_statement ||
                  (gg__node_of(outer) == GG__NODE_assignment && is_unused_local(w, outer));
    if (some && unused) gg__found_beyond(w, GG__RULE_UNUSED_COMPILE, call);
}

void gg__walk_unused_compile(gg__walk *w, gg_str name, const gg__value *statement) {
    (void)name;
    TSNode root = statement->node;
    gg_str text = gg_node_text(w->tree, root), word = GG_STR("compile(");
    for (size_t at = gg_str_find(text, word, 0); at != SIZE_MAX; at = gg_str_find(text, word, at + 1)) {
        uint32_t offset = ts_node_start_byte(root) + (uint32_t)at;
        TSNode node = ts_node_named_descendant_for_byte_range(root, offset, offset + 1);
        for (int up = 0; up < 2 && gg__node_of(node) != GG__NODE_call; up++) node = ts_node_parent(node);
        if (gg__node_of(node) == GG__NODE_call) look_at(w, node);
    }
}
