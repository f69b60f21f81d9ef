/* GG048 attribute-choice: `if c:` on a tensor's value that only decides which tensor an attribute is: `self.t = self.a`, else `self.t = self.b`.
 * Offers: under the compiler, both and torch.where; without it the branch stays.  A tensor that is made when first needed is made there, and not
 * kept.  Refuses: unless the tensors are alike, what makes one depends on no input, and none of them is changed in place in the file.
 * Safety: effects.  Page: docs/rules/GG048.md
 *
 * DESIGN  Which object an attribute is cannot depend on a value in a graph, only what it holds can: so the attribute becomes a tensor of its own, and
 * only under the compiler.  A tensor that is made when first needed (`if not hasattr(self, "t")`) is not kept when it is made earlier: it would stay on
 * the device, and of the settings, of that time. */
#include "repair/alias.h"
#include "repair/texts.h"
#include "repair/truth.h"

enum { MAX_STEPS = 4 };

typedef struct arm {
    TSNode memos[MAX_STEPS]; /* `self.m = make(…)`, under `if not hasattr(self, "m")` */
    gg_str names[MAX_STEPS]; /* m */
    TSNode moves[MAX_STEPS]; /* `self.m = self.m.to(device)` */
    size_t memo_count, move_count;
    TSNode store, target, value; /* target: null for register_buffer */
    gg_str attribute;
} arm;

typedef struct choice {
    const gg_rule_input *in;
    TSNode node, otherwise; /* the block behind else; null when there is none */
    gg_str owner;           /* "self" */
    arm yes, no;
} choice;

/* The attribute's name of `self.t`; empty when it is none of the owner's. */
static gg_str own_attribute(const choice *c, TSNode node) {
    TSNode object = gg__field(node, "object");
    bool own = gg_node_is(node, "attribute") && gg_node_is(object, "identifier") &&
               gg_str_equal(gg__text(c->in->tree, object), c->owner);
    return own ? gg__text(c->in->tree, gg__field(node, "attribute")) : GG_STR_NULL;
}

/* ---- what a tensor is made of ---------------------------------------------------------------------------------------------------- */

typedef struct binding_search {
    const choice *c;
    gg_str name;
} binding_search;

/* Is the name only bound to attributes of the owner: `size = self.config.size`? */
static bool is_bound_to_attributes(TSNode node, void *data) {
    const binding_search *s = data;
    const gg_tree *tree = s->c->in->tree;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), s->name) || !gg__is_binding(node))
        return true;
    TSNode assignment = gg__parent(node), root = gg__field(assignment, "right");
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(root, "attribute")) return false;
    while (gg_node_is(root, "attribute")) root = gg__field(root, "object");
    return gg_node_is(root, "identifier") && gg_str_equal(gg__text(tree, root), s->c->owner);
}

static bool is_plain(const gg_fact *fact) {
    return fact && (fact->kind == GG_VALUE_INT || fact->kind == GG_VALUE_FLOAT || fact->kind == GG_VALUE_BOOL ||
                    fact->kind == GG_VALUE_STR || fact->kind == GG_VALUE_NONE || fact->kind == GG_VALUE_OTHER);
}

static bool is_device(const choice *c, TSNode node) {
    const gg_fact *fact = gg__fact_of(c->in, gg__text(c->in->tree, node));
    return (gg_node_is(node, "identifier") && fact && gg_str_is(fact->type, "device")) ||
           (gg_node_is(node, "attribute") && gg_str_is(gg__text(c->in->tree, gg__field(node, "attribute")), "device"));
}

/* Is the identifier something that no argument of a call decides: an attribute, what is bound to one, a name of the module, or a device? */
static bool is_steady(TSNode node, void *data) {
    const choice *c = data;
    const gg_tree *tree = c->in->tree;
    static const char *const refused[] = {"lambda",   "await", "yield", "named_expression", "list_comprehension",
                                          "subscript"};
    for (size_t i = 0; i < GG_COUNT(refused); i++)
        if (gg_node_is(node, refused[i])) return false;
    TSNode parent = gg__parent(node);
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(tree, node);
    if (gg_str_equal(name, c->owner))
        return own_attribute(c, parent).len && is_plain(gg__fact_of(c->in, gg__text(tree, parent)));
    if (!gg__is_local(tree, node, name) || is_device(c, node)) return true;
    binding_search s = {c, name};
    TSNode function = gg__function(node);
    return is_plain(gg__fact_of(c->in, name)) && gg__binds(tree, gg__field(function, "body"), name) &&
           !gg__binds(tree, gg__field(function, "parameters"), name) && gg__visit(function, is_bound_to_attributes, &s);
}

/* ---- the arms ---------------------------------------------------------------------------------------------------------------------- */

/* `self.m = make(…)`, `self.m, _ = make(…)` */
static bool makes(const choice *c, TSNode statement, gg_str name) {
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    TSNode right = gg__field(assignment, "right");
    uint32_t found = 0, parts = gg_node_is(left, "pattern_list") ? gg__child_count(left) : 1;
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(right, "call")) return false;
    for (uint32_t i = 0; i < parts; i++) {
        TSNode part = parts > 1 ? gg__child(left, i) : left;
        bool own = gg_str_equal(own_attribute(c, part), name);
        if (!own && !gg_str_is(gg__text(c->in->tree, part), "_")) return false;
        found += own;
    }
    return found == 1 && gg__visit(right, is_steady, (void *)c);
}

/* `if not hasattr(self, "m"):` in front of what makes it */
static bool match_memo(const choice *c, TSNode statement, arm *a) {
    const gg_tree *tree = c->in->tree;
    TSNode condition = gg__strip_parentheses(gg__field(statement, "condition"));
    TSNode call = gg__strip_parentheses(gg__field(condition, "argument")), arguments = gg__field(call, "arguments");
    TSNode only = gg__only_statement(gg__field(statement, "consequence"));
    gg_str name;
    bool quoted = gg__between_quotes(tree, gg__child(arguments, 1), &name);
    if (!gg_node_is(statement, "if_statement") || !ts_node_is_null(gg__field(statement, "alternative")) ||
        !gg_node_is(condition, "not_operator") || !gg_node_is(call, "call") || gg__child_count(arguments) != 2 ||
        !gg__names_builtin(tree, gg__field(call, "function"), "hasattr") || ts_node_is_null(only) || !quoted ||
        !name.len || !gg_str_equal(gg__text(tree, gg__child(arguments, 0)), c->owner) || a->memo_count == MAX_STEPS ||
        !gg__alone_on_line(tree, only) || !makes(c, only, name) || gg__reads(tree, gg__function(c->node), name))
        return false;
    a->names[a->memo_count] = name;
    a->memos[a->memo_count++] = only;
    return true;
}

/* `self.m = self.m.to(device)`: the same values wherever it runs */
static bool match_move(const choice *c, TSNode statement, arm *a) {
    const gg_tree *tree = c->in->tree;
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    TSNode call = gg__field(assignment, "right"), function = gg__field(call, "function");
    TSNode arguments = gg__field(call, "arguments");
    const gg_fact *fact = gg__fact_of(c->in, gg__text(tree, left));
    if (!gg_node_is(assignment, "assignment") || !own_attribute(c, left).len || !gg_node_is(call, "call") ||
        !gg_str_equal(gg__text(tree, left), gg__text(tree, gg__field(function, "object"))) ||
        !gg_str_is(gg__text(tree, gg__field(function, "attribute")), "to") || gg__child_count(arguments) != 1 ||
        !is_device(c, gg__child(arguments, 0)) || fact == NULL || fact->kind != GG_VALUE_TENSOR ||
        a->move_count == MAX_STEPS)
        return false;
    a->moves[a->move_count++] = statement;
    return true;
}

/* `self.t = v`, `self.register_buffer("t", v)` */
static bool match_store(const choice *c, TSNode statement, arm *a) {
    const gg_tree *tree = c->in->tree;
    TSNode e = gg__child(statement, 0), function = gg__field(e, "function"), arguments = gg__field(e, "arguments");
    a->store = e;
    if (gg_node_is(e, "assignment") && ts_node_is_null(gg__field(e, "type"))) {
        a->target = gg__field(e, "left");
        a->attribute = own_attribute(c, a->target);
        a->value = gg__field(e, "right");
    } else if (gg_str_is(own_attribute(c, function), "register_buffer") && gg__child_count(arguments) >= 2) {
        if (!gg__between_quotes(tree, gg__child(arguments, 0), &a->attribute)) return false;
        a->value = gg__child(arguments, 1);
        for (uint32_t i = 2; i < gg__child_count(arguments); i++) {
            TSNode value = gg__field(gg__child(arguments, i), "value");
            if (!gg_node_is(value, "true") && !gg_node_is(value, "false")) return false;
        }
    }
    return a->attribute.len && own_attribute(c, a->value).len;
}

static bool match_arm(const choice *c, TSNode block, arm *a) {
    *a = (arm){0};
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode statement = gg__child(block, i);
        if (gg_node_is(statement, "comment")) continue;
        if (!ts_node_is_null(a->store)) return false; /* something behind it */
        if (match_memo(c, statement, a) || match_move(c, statement, a)) continue;
        if (!gg_node_is(statement, "expression_statement") || !match_store(c, statement, a)) return false;
    }
    return a->attribute.len > 0;
}

/* ---- both -------------------------------------------------------------------------------------------------------------------------- */

static bool is_memo(const arm *a, gg_str name) {
    for (size_t i = 0; i < a->memo_count; i++)
        if (gg_str_equal(a->names[i], name)) return true;
    return false;
}

typedef struct watch {
    const choice *c;
    gg_str name;
    bool memo;
} watch;

/* Is the attribute neither changed in place here nor, when it is made when first needed, mentioned outside of the branch? */
static bool is_left_alone(TSNode node, void *data) {
    const watch *w = data;
    const gg_tree *tree = w->c->in->tree;
    bool inside = gg__covers(w->c->node, gg_node_span(node));
    if (gg_node_is(node, "string_content")) return !w->memo || inside || !gg_str_equal(gg__text(tree, node), w->name);
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(tree, gg__field(node, "attribute")), w->name))
        return true;
    if (w->memo && !inside) return false;
    TSNode at = node, parent = gg__parent(at);
    for (; gg_node_is(parent, "subscript") || gg_node_is(parent, "attribute"); at = parent, parent = gg__parent(at)) {
        gg_str method = gg__text(tree, gg__field(parent, "attribute"));
        if (gg_node_is(parent, "attribute") && (gg_str_is(method, "data") || gg_str_ends_with(method, GG_STR("_"))))
            return false;
    }
    if (gg_node_is(parent, "keyword_argument")) return !gg_str_is(gg__text(tree, gg__field(parent, "name")), "out");
    bool item = gg_node_is(at, "subscript");
    while (gg_node_is(parent, "pattern_list") || gg_node_is(parent, "tuple_pattern"))
        at = parent, parent = gg__parent(at);
    bool stored = item && ts_node_eq(gg__field(parent, "left"), at);
    return !stored && !gg_node_is(parent, "augmented_assignment") && !gg_node_is(parent, "delete_statement");
}

static bool are_left_alone(const choice *c, gg_str name) {
    watch w = {c, name, is_memo(&c->yes, name) || is_memo(&c->no, name)};
    return gg__visit(gg_tree_root(c->in->tree), is_left_alone, &w);
}

/* The tensor that an arm gives: unknown when it is made there. */
static bool value_of(const choice *c, const arm *a, const arm *other, gg__meta *out) {
    gg_str name = own_attribute(c, a->value), text = gg__text(c->in->tree, a->value);
    const gg_fact *fact = gg__fact_of(c->in, text);
    *out = (gg__meta){.sort = GG__UNKNOWN};
    if (is_memo(a, name)) return true;
    *out = gg__infer(c->in, a->value);
    return !is_memo(other, name) && out->sort == GG__TENSOR && !out->vague && fact && !fact->requires_grad;
}

static bool match(const gg_rule_input *in, choice *c) {
    *c = (choice){.in = in, .node = gg__statement(gg_node_at(in->tree, in->span))};
    TSNode condition = gg__field(c->node, "condition"), otherwise = gg__field(c->node, "alternative");
    TSNode function = gg__function(c->node);
    if (!gg_str_is(in->site->id, "GB0170") || in->site->first == NULL || !gg_node_is(c->node, "if_statement") ||
        !gg_node_is(function, "function_definition") || in->span.end > ts_node_end_byte(condition) ||
        !gg__starts_line(in->tree, ts_node_start_byte(c->node)) || !gg__has_truth(in, condition) ||
        !gg_node_is(otherwise, "else_clause"))
        return false;
    TSNode block = gg__field(c->node, "consequence"), first = gg__field(gg__function(c->node), "parameters");
    c->otherwise = gg__field(otherwise, "body");
    c->owner = gg__text(in->tree, gg__child(first, 0));
    if (!gg_node_is(gg__child(first, 0), "identifier") || gg__binds(in->tree, gg__field(function, "body"), c->owner) ||
        !match_arm(c, block, &c->yes) || !match_arm(c, c->otherwise, &c->no))
        return false;
    gg__meta a, b;
    gg_str one = own_attribute(c, c->yes.value), two = own_attribute(c, c->no.value), attribute = c->yes.attribute;
    if (!gg_str_equal(attribute, c->no.attribute) || ts_node_is_null(c->yes.target) != ts_node_is_null(c->no.target) ||
        gg_str_equal(one, attribute) || gg_str_equal(two, attribute) || gg_str_equal(one, two) ||
        !gg__starts_line(in->tree, ts_node_start_byte(block)) ||
        !gg_str_equal(gg__indent(in->tree, ts_node_start_byte(block)),
                      gg__indent(in->tree, ts_node_start_byte(c->otherwise))) ||
        !value_of(c, &c->yes, &c->no, &a) || !value_of(c, &c->no, &c->yes, &b))
        return false;
    /* the same but for the value: `persistent=False` in both */
    gg_str tail[2] = {gg__text(in->tree, c->yes.store), gg__text(in->tree, c->no.store)};
    for (int i = 0; i < 2; i++) {
        TSNode value = i ? c->no.value : c->yes.value, store = i ? c->no.store : c->yes.store;
        tail[i] = gg_str_slice(tail[i], ts_node_end_byte(value) - ts_node_start_byte(store), tail[i].len);
    }
    if (!gg_str_equal(tail[0], tail[1]) || (a.sort == GG__TENSOR && b.sort == GG__TENSOR && !gg__same_tensor(a, b)))
        return false;
    gg_str names[] = {attribute, one, two};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (!are_left_alone(c, names[i])) return false;
    return gg__are_unchanged_attributes(in, c->node, names, GG_COUNT(names));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    choice c;
    bool matches = match(in, &c);
    out->node = c.node;
    return matches && gg__can_name(in->tree, c.node, "torch");
}

/* ---- the edit ---------------------------------------------------------------------------------------------------------------------- */

typedef struct writing {
    const choice *c;
    gg_buf out;
    gg_str line; /* a new line and the arm's indentation */
} writing;

static void add(writing *w, gg_str text) {
    gg_buf_append(&w->out, text);
}

/* Each tensor that is made when first needed, under its name; then what moves one. */
static void write_steps(writing *w, const arm *a, gg_arena *arena) {
    const gg_tree *tree = w->c->in->tree;
    gg_str owner = w->c->owner;
    for (size_t i = 0; i < a->memo_count; i++) {
        gg_str name = a->names[i], text = gg__text(tree, a->memos[i]);
        gg_str deeper = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(gg__newline(tree)),
                                        GG_STR_ARG(gg__indent(tree, ts_node_start_byte(a->memos[i]))));
        gg_str path = gg_arena_printf(arena, "%.*s.%.*s", GG_STR_ARG(owner), GG_STR_ARG(name));
        size_t at = gg_str_find(text, path, 0); /* on the left side */
        add(w, gg_arena_printf(arena, "%.*sif hasattr(%.*s, \"%.*s\"):%.*s%.*s = %.*s%.*selse:%.*s",
                               GG_STR_ARG(w->line), GG_STR_ARG(owner), GG_STR_ARG(name), GG_STR_ARG(deeper),
                               GG_STR_ARG(name), GG_STR_ARG(path), GG_STR_ARG(w->line), GG_STR_ARG(deeper)));
        add(w, gg_str_slice(text, 0, at));
        add(w, gg_str_slice(text, at + owner.len + 1, text.len));
    }
    for (size_t i = 0; i < a->move_count; i++) {
        add(w, w->line);
        add(w, gg__text(tree, a->moves[i]));
    }
}

static gg_str value_text(const choice *c, const arm *a) {
    gg_str name = own_attribute(c, a->value);
    return is_memo(a, name) ? name : gg__text(c->in->tree, a->value);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match_found, gg_arena *arena, gg_edits *out,
                gg_error *err) {
    choice c;
    const gg_tree *tree = in->tree;
    if (!match(in, &c)) return gg_fail(err, GG_ENOMATCH, "the tensors are not proven to be alike");
    gg_str torch = gg__require_module(tree, match_found->node, "torch", arena, out), newline = gg__newline(tree);
    uint32_t start = ts_node_start_byte(c.node);
    gg_str inner = gg__indent(tree, ts_node_start_byte(gg__field(c.node, "consequence")));
    writing w = {.c = &c, .line = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(inner))};
    gg_buf_init(&w.out, GG_MAX_DOCUMENT_BYTES);
    add(&w, gg_arena_printf(arena, "if %.*s.compiler.is_compiling():", GG_STR_ARG(torch)));
    write_steps(&w, &c.yes, arena);
    write_steps(&w, &c.no, arena);
    gg_str x = value_text(&c, &c.yes), y = value_text(&c, &c.no), store = gg__text(tree, c.yes.store);
    if (c.yes.memo_count || c.no.memo_count)
        add(&w, gg_arena_printf(arena, "%.*sassert (%.*s.dtype, %.*s.shape) == (%.*s.dtype, %.*s.shape)",
                                GG_STR_ARG(w.line), GG_STR_ARG(x), GG_STR_ARG(x), GG_STR_ARG(y), GG_STR_ARG(y)));
    gg_str condition = gg__truth(in, gg__field(c.node, "condition"), false, torch, arena);
    uint32_t from = ts_node_start_byte(c.yes.store);
    add(&w, w.line);
    add(&w, gg_str_slice(store, 0, ts_node_start_byte(c.yes.value) - from));
    add(&w, gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, %.*s)", GG_STR_ARG(torch), GG_STR_ARG(condition),
                            GG_STR_ARG(x), GG_STR_ARG(y)));
    add(&w, gg_str_slice(store, ts_node_end_byte(c.yes.value) - from, store.len));
    add(&w, newline);
    add(&w, gg__indent(tree, start));
    add(&w, GG_STR("el"));
    gg_edits_add(out, (gg_span){start, start}, gg_arena_str(arena, gg_buf_str(&w.out)));
    gg_buf_clear(&w.out);
    return 0;
}

const gg_rule gg_rule_attribute_choice = {
    .code = "GG048",
    .name = "attribute-choice",
    .title = "Select what the attribute holds with torch.where",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
