/* Whether what a capture saw of a function speaks for all its callers. */
#include "repair/alias.h"
#include "repair/select.h"

typedef struct calls {
    const gg_rule_input *in;
    gg_str name;
    size_t count, unseen;
} calls;

static bool was_seen(const gg_rule_input *in, TSNode call) {
    uint32_t first = ts_node_start_point(call).row + 1, last = ts_node_end_point(call).row + 1;
    for (size_t i = 0; i < in->site->caller_count; i++)
        if (in->site->callers[i] >= first && in->site->callers[i] <= last) return true;
    return false;
}

static bool count_call(TSNode node, void *data) {
    calls *c = data;
    if (!gg_node_is(node, "call") || !gg_str_equal(gg__called_name(c->in->tree, node), c->name)) return true;
    c->count++;
    c->unseen += !was_seen(c->in, node);
    return true;
}

bool gg__has_unseen_callers(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__function(node);
    if (!gg_node_is(function, "function_definition")) return false;
    calls c = {.in = in, .name = gg__text(in->tree, gg__field(function, "name"))};
    gg__visit(gg_tree_root(in->tree), count_call, &c);
    return c.count > 1 && c.unseen > 0;
}
