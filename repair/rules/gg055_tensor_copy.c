/* GG055 tensor-copy: copy.deepcopy(t) and copy.copy(t) go through pickling, which Dynamo does not follow.
 * Offers: what they do to a tensor: a leaf of its own that requires gradients where the original does, with its own memory or the same; the
 * same for each tensor of a list or dictionary that is deepcopied where it is written, or by the name that it was bound to just before;
 * `l.copy()` for copy.copy of a list, dictionary or set.
 * Refuses: unless the argument is a name, an attribute or an element that was a plain tensor without gradients (deepcopy raises for others that
 * are no leaves; a copy of a Parameter is one), is a tensor that is made there of such ones, or is a local name that holds nothing but one
 * display.  A deep copy keeps gaps and overlaps in memory, which clone() closes.
 * Safety: exact.  Page: docs/rules/GG055.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/strides.h"

enum { MAX_NESTED = 8 };

static TSNode argument_of(TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    return gg__child_count(arguments) == 1 ? gg__strip_parentheses(gg__child(arguments, 0)) : (TSNode){0};
}

static const gg_fact *fact_of(const gg_rule_input *in, TSNode node) {
    return gg__fact_of(in, gg__text(in->tree, node));
}

/* No subclass (a copy would be of it), no attributes of its own, no gradients. */
static bool is_plain(const gg_fact *fact) {
    return fact && fact->kind == GG_VALUE_TENSOR && !fact->requires_grad && fact->type.len == 0;
}

static bool is_number(const gg_fact *fact) {
    return fact && (fact->kind == GG_VALUE_INT || fact->kind == GG_VALUE_FLOAT || fact->kind == GG_VALUE_BOOL);
}

/* Is a name in an expression a plain tensor, or begins the path to one, or nothing that has gradients? */
static bool has_no_gradient(TSNode node, void *data) {
    const gg_rule_input *in = data;
    static const char *const modules[] = {"torch", "torch.nn.functional", "math"};
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    const gg_fact *fact = fact_of(in, node);
    TSNode path = node;
    for (TSNode at = gg__parent(node); gg_node_is(at, "attribute") && ts_node_eq(gg__field(at, "object"), path);
         at = gg__parent(at)) {
        const gg_fact *longer = fact_of(in, path = at);
        if (longer) fact = longer;
    }
    if (fact) return is_plain(fact) || is_number(fact);
    for (size_t i = 0; i < GG_COUNT(modules); i++)
        if (gg_str_equal(gg__text(in->tree, node), gg__module_alias(in->tree, node, modules[i]))) return true;
    return gg__is_number(gg__infer(in, node));
}

/* A tensor that is made there: nobody else has it, and it lies without gaps. */
static bool is_made_here(const gg_rule_input *in, TSNode node) {
    gg__meta m = gg__infer_loosely(in, node); /* it is evaluated as before */
    return m.sort == GG__TENSOR && m.fresh && gg__visit(node, has_no_gradient, (void *)in);
}

static bool is_path(const gg_rule_input *in, TSNode node, bool deep) {
    const gg_fact *fact = fact_of(in, node);
    bool path = gg_node_is(node, "identifier") || gg_node_is(node, "attribute");
    return path && is_plain(fact) && !(deep && fact->layout == GG_LAYOUT_STRIDED);
}

/* `l[0]` of `l = [x, y]`, as long as a display in front of it tells. */
static bool is_element(const gg_rule_input *in, TSNode node, bool deep) {
    if (!gg_node_is(node, "subscript")) return false;
    TSNode value = gg__strip_parentheses(gg__element_value(in, node));
    return !ts_node_is_null(value) && (is_path(in, value, deep) || is_made_here(in, value));
}

/* What can be written twice. */
static bool is_held(const gg_rule_input *in, TSNode node, bool deep) {
    return is_path(in, node, deep) || is_element(in, node, deep);
}

static bool is_deep(const gg_tree *tree, TSNode call) {
    return gg__refers_to(tree, gg__field(call, "function"), "copy.deepcopy");
}

static bool is_shallow(const gg_tree *tree, TSNode call) {
    return gg__refers_to(tree, gg__field(call, "function"), "copy.copy");
}

/* ---- displays --------------------------------------------------------------------------------------------------------------- */

/* A list, dictionary or set, and no class derived from them: copy.copy asks the type for its method `copy`. */
static bool is_container(const gg_tree *tree, TSNode name) {
    static const char *const displays[] = {"list",
                                           "list_comprehension",
                                           "dictionary",
                                           "dictionary_comprehension",
                                           "set",
                                           "set_comprehension",
                                           "dictionary_splat_pattern"};
    static const char *const types[] = {"list", "dict", "set"};
    TSNode value = gg__only_value(tree, name);
    for (size_t i = 0; i < GG_COUNT(displays); i++)
        if (gg_node_is(value, displays[i])) return true;
    for (size_t i = 0; gg_node_is(value, "call") && i < GG_COUNT(types); i++)
        if (gg__names_builtin(tree, gg__field(value, "function"), types[i])) return true;
    return false;
}

static bool is_display(TSNode node) {
    return gg_node_is(node, "list") || gg_node_is(node, "tuple") || gg_node_is(node, "dictionary");
}

static bool is_constant(const gg_rule_input *in, TSNode node) {
    static const char *const types[] = {"integer", "float", "string", "true", "false", "none"};
    for (size_t i = 0; i < GG_COUNT(types); i++)
        if (gg_node_is(node, types[i])) return true;
    return gg_node_is(node, "identifier") && is_number(fact_of(in, node));
}

typedef struct display {
    const gg_rule_input *in;
    uint32_t held, made, depth;
    gg_arena *arena; /* NULL: only asked */
    gg_edits *edits;
} display;

static gg_str copy_of(const gg_rule_input *in, TSNode node, bool deep, gg_arena *arena) {
    gg_str text = gg__text(in->tree, node);
    const char *own = deep ? ".clone()" : "";
    if (is_held(in, node, deep))
        return gg_arena_printf(arena, "%.*s.detach()%s.requires_grad_(%.*s.requires_grad)", GG_STR_ARG(text), own,
                               GG_STR_ARG(text));
    bool atom = gg_node_is(node, "call") || gg_node_is(node, "subscript") || gg_node_is(node, "attribute");
    return gg_arena_printf(arena, "%s%.*s%s.detach().clone()", atom ? "" : "(", GG_STR_ARG(text), atom ? "" : ")");
}

/* One deepcopy keeps what its tensors have in common: of those that somebody else holds, there is one at most. */
static bool read_display(display *d, TSNode node) {
    if (++d->depth > MAX_NESTED) return false;
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode item = gg__child(node, i);
        if (gg_node_is(node, "dictionary")) {
            if (!gg_node_is(item, "pair") || !is_constant(d->in, gg__field(item, "key"))) return false;
            item = gg__field(item, "value");
        }
        item = gg__strip_parentheses(item);
        if (is_constant(d->in, item)) continue;
        if (is_display(item)) {
            if (!read_display(d, item)) return false;
            continue;
        }
        if (is_path(d->in, item, true))
            d->held++;
        else if (is_made_here(d->in, item))
            d->made++;
        else
            return false;
        if (d->arena) gg_edits_add(d->edits, gg_node_span(item), copy_of(d->in, item, true, d->arena));
    }
    d->depth--;
    return d->held <= 1;
}

static bool is_display_of_tensors(const gg_rule_input *in, TSNode node) {
    display d = {.in = in};
    return is_display(node) && read_display(&d, node) && d.held + d.made > 0;
}

/* ---- displays that a name holds ------------------------------------------------------------------------------------------ */

typedef struct held_items {
    TSNode whole;
    uint32_t made, own, others;
} held_items;

static TSNode item_of(TSNode whole, uint32_t i) {
    TSNode item = gg__child(whole, i);
    return gg__strip_parentheses(gg_node_is(whole, "dictionary") ? gg__field(item, "value") : item);
}

static bool stands_before(const gg_tree *tree, TSNode whole, uint32_t i) {
    for (uint32_t j = 0; j < i; j++)
        if (gg_str_equal(gg__text(tree, item_of(whole, j)), gg__text(tree, item_of(whole, i)))) return true;
    return false;
}

/* The dictionary or list of tensors that the name holds.  One deepcopy keeps what they have in common: so each was made for its name, which nobody
 * else has got yet, or where it stands, but for one that comes from elsewhere. */
static bool read_held(const gg_rule_input *in, TSNode name, held_items *out) {
    static const char *const sharing[] = {"data", "set_"}; /* `a.data = b` */
    TSNode whole = gg__held_display(in, name);
    bool dictionary = gg_node_is(whole, "dictionary");
    *out = (held_items){.whole = whole};
    if (!dictionary && !gg_node_is(whole, "list")) return false;
    for (uint32_t i = 0; i < gg__child_count(whole); i++) {
        TSNode pair = gg__child(whole, i), item = item_of(whole, i);
        if (dictionary && !(gg_node_is(pair, "pair") && is_constant(in, gg__field(pair, "key")))) return false;
        bool path = is_path(in, item, true);
        if (!path && !is_made_here(in, item))
            return gg__hinder(in, item, "is not known to be a tensor that is copied as clone() does");
        bool own =
            path && gg_node_is(item, "identifier") && gg__owns(in, gg__statement(whole), gg__text(in->tree, item));
        out->made += !path;
        out->own += own;
        out->others += path && !own;
        if (out->others > 1 || (path && stands_before(in->tree, whole, i)))
            return gg__hinder(in, item, "may be another of them, or share its memory, which one deep copy keeps");
    }
    bool shares = out->own + out->others > 1 && gg__has_word(in->tree, gg__function(name), sharing, GG_COUNT(sharing));
    return !shares && out->made + out->own + out->others > 0;
}

static gg_str copy_of_held(const gg_rule_input *in, TSNode name, const held_items *held, gg_arena *arena) {
    gg_str text = gg__text(in->tree, name);
    const char *gradients = held->own + held->others ? ".requires_grad_(v.requires_grad)" : "";
    if (gg_node_is(held->whole, "dictionary"))
        return gg_arena_printf(arena, "{k: v.detach().clone()%s for k, v in %.*s.items()}", gradients,
                               GG_STR_ARG(text));
    return gg_arena_printf(arena, "[v.detach().clone()%s for v in %.*s]", gradients, GG_STR_ARG(text));
}

/* ---- the rule ------------------------------------------------------------------------------------------------------------------ */

/* A deep copy keeps the gaps that an argument may have in another call. */
static bool keeps_gaps(const gg_rule_input *in, TSNode call, TSNode argument) {
    bool whole = !is_display(argument) && gg__lies(in, argument) != GG__ANYHOW;
    return !whole && gg__strides_show(in, call);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), argument = argument_of(call);
    out->node = call;
    if (!gg_node_is(call, "call") || ts_node_is_null(argument) || gg__has_comment(in->tree, gg_node_span(call)))
        return false;
    bool deep = is_deep(in->tree, call);
    if (!deep && !is_shallow(in->tree, call)) return false;
    if (deep && !is_made_here(in, argument) && keeps_gaps(in, call, argument))
        return gg__hinder(in, call, "keeps gaps between elements, where there are some, and that shows");
    if (is_held(in, argument, deep)) return true;
    if (!deep) return is_container(in->tree, argument);
    held_items held;
    if (gg_node_is(argument, "identifier") && read_held(in, argument, &held)) return true;
    return is_display(argument) ? is_display_of_tensors(in, argument) : is_made_here(in, argument);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    TSNode argument = argument_of(match->node);
    gg_span call = gg_node_span(match->node), own = gg_node_span(argument);
    bool deep = is_deep(in->tree, match->node);
    if (deep && is_display(argument)) {
        display d = {.in = in, .arena = arena, .edits = out};
        gg_edits_add(out, (gg_span){call.start, own.start}, GG_STR_NULL);
        read_display(&d, argument);
        gg_edits_add(out, (gg_span){own.end, call.end}, GG_STR_NULL);
        return 0;
    }
    held_items held;
    if (deep && gg_node_is(argument, "identifier") && !is_held(in, argument, deep) && read_held(in, argument, &held)) {
        gg_edits_add(out, call, copy_of_held(in, argument, &held, arena));
        return 0;
    }
    bool copies = deep || is_held(in, argument, deep);
    gg_edits_add(out, call,
                 copies ? copy_of(in, argument, deep, arena)
                        : gg_arena_printf(arena, "%.*s.copy()", GG_STR_ARG(gg__text(in->tree, argument))));
    return 0;
}

const gg_rule gg_rule_tensor_copy = {
    .code = "GG055",
    .name = "tensor-copy",
    .title = "Copy it with its own methods",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
