/* Whether an exception may be caught on its way out of a function, by those of its file that call it.  See syntax.h.  Any thread. */
#include "repair/alias.h"

enum { MAX_REACHING = 64 };

typedef struct reaching { /* functions of the file that a call of which may raise what the statement raises */
    const gg_tree *tree;
    gg_str names[MAX_REACHING];
    size_t count;
    bool modules; /* one of them is what a module's call runs */
    bool caught, grown;
} reaching;

static bool has(const reaching *r, gg_str name) {
    for (size_t i = 0; i < r->count; i++)
        if (gg_str_equal(r->names[i], name)) return true;
    return false;
}

static void add(reaching *r, gg_str name) {
    if (name.len == 0 || has(r, name)) return;
    if (r->count == MAX_REACHING) {
        r->caught = true; /* as far as is known */
        return;
    }
    r->names[r->count++] = name;
    r->modules = r->modules || gg_str_is(name, "forward") || gg_str_is(name, "__call__");
    r->grown = true;
}

/* `self.backbone(x)`, `layer(x)` of a local name, `self.layers[i](x)`: it may be a module's. */
static bool may_be_modules(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    if (gg_node_is(function, "identifier")) return gg__is_local(tree, call, gg__text(tree, function));
    return gg_node_is(function, "subscript") || gg_node_is(function, "call") ||
           gg_str_is(gg__text(tree, gg__root_of(function)), "self");
}

static bool follow(TSNode node, void *data) {
    reaching *r = data;
    if (!gg_node_is(node, "call")) return true;
    if (!has(r, gg__called_name(r->tree, node)) && !(r->modules && may_be_modules(r->tree, node))) return true;
    r->caught = r->caught || gg__is_watched(r->tree, gg__statement(node));
    TSNode function = gg__function(node);
    if (gg_node_is(function, "function_definition")) add(r, gg__text(r->tree, gg__field(function, "name")));
    return !r->caught;
}

bool gg__may_be_caught(const gg_tree *tree, TSNode statement) {
    static const char *const catchers[] = {"except", "suppress", "__exit__"};
    if (gg__is_watched(tree, statement)) return true;
    TSNode function = gg__function(statement);
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    bool any = false;
    for (size_t i = 0; i < GG_COUNT(catchers); i++) any = any || gg_str_contains(all, gg_str_from(catchers[i]));
    if (!any || !gg_node_is(function, "function_definition")) return false;
    reaching r = {.tree = tree};
    add(&r, gg__text(tree, gg__field(function, "name")));
    while (r.grown && !r.caught) {
        r.grown = false;
        gg__visit(gg_tree_root(tree), follow, &r);
    }
    return r.caught;
}
