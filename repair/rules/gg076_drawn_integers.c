/* GG076 drawn-integers: `t.random_(a, b)` fills a tensor with random integers by a call that Dynamo does not trace.
 * Offers: torch.randint(a, b, …), which is torch.empty(…).random_(a, b) inside; torch.randint_like for a tensor like another one, and copied into one that is there.
 * Refuses: without bounds (their range depends on the dtype), with a generator, bounds that are not known to be integers, and a tensor to be filled that is no name.
 * Safety: exact.  Page: docs/rules/GG076.md */
#include "repair/hindrance.h"
#include "repair/infer.h"

typedef struct filled {
    TSNode call, object, low, high; /* low: null for zero */
    TSNode maker;                   /* `torch.empty(…)`, `torch.empty_like(…)`; null: a tensor that is there */
    bool like;
} filled;

/* A bound by its name; those in `**{'from': 0}` too. */
static bool take(filled *f, gg_str name, TSNode value) {
    TSNode *bound = gg_str_is(name, "from") ? &f->low : gg_str_is(name, "to") ? &f->high : NULL;
    if (bound == NULL || !ts_node_is_null(*bound)) return false;
    *bound = value;
    return true;
}

static bool take_all(const gg_tree *tree, filled *f, TSNode dictionary) {
    for (uint32_t i = 0; i < gg__child_count(dictionary); i++) {
        TSNode pair = gg__child(dictionary, i), key = gg__field(pair, "key");
        gg_str text = gg__text(tree, key);
        if (!gg_node_is(pair, "pair") || !gg_node_is(key, "string") || text.len < 3) return false;
        if (!take(f, gg_str_slice(text, 1, text.len - 1), gg__field(pair, "value"))) return false;
    }
    return gg_node_is(dictionary, "dictionary");
}

static bool find_bounds(const gg_rule_input *in, filled *f) {
    TSNode arguments = gg__field(f->call, "arguments"), given[2];
    uint32_t count = 0;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "dictionary_splat")) {
            if (!take_all(in->tree, f, gg__child(argument, 0))) return false;
        } else if (gg_node_is(argument, "keyword_argument")) {
            gg_str name = gg__text(in->tree, gg__field(argument, "name"));
            if (!take(f, name, gg__field(argument, "value"))) return false;
        } else if (count == 2) {
            return false;
        } else {
            given[count++] = argument;
        }
    }
    bool named = !ts_node_is_null(f->low) || !ts_node_is_null(f->high);
    if (count == 2 && named) return false;
    if (count == 1 && named && !take(f, GG_STR("from"), given[0])) return false;
    if (count == 2) f->low = given[0];
    if (count && !named) f->high = given[count - 1];
    if (ts_node_is_null(f->high)) return gg__hinder(in, f->call, "has no upper bound: the range depends on the dtype");
    bool whole = gg__infer(in, f->high).sort == GG__SCALAR_INT &&
                 (ts_node_is_null(f->low) || gg__infer(in, f->low).sort == GG__SCALAR_INT);
    return whole || gg__hinder(in, f->call, "its bounds are not known to be integers");
}

/* `x.shape`, `x.size()` of a tensor: certainly a tuple of integers. */
static bool is_shape(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function"), holder = gg_node_is(node, "call") ? function : node;
    gg_str name = gg__text(in->tree, gg__field(holder, "attribute"));
    bool called = gg_node_is(node, "call") && gg__child_count(gg__field(node, "arguments")) == 0;
    return (called ? gg_str_is(name, "size") : gg_node_is(node, "attribute") && gg_str_is(name, "shape")) &&
           gg__infer(in, gg__field(holder, "object")).sort == GG__TENSOR;
}

/* `dtype=torch.int64`, `device=…`; a dtype that is None would be another one in torch.randint. */
static bool is_option(const gg_rule_input *in, TSNode option, bool *typed) {
    gg__inference s = {.in = in};
    gg__vagueness vague;
    gg_str name = gg__text(in->tree, gg__field(option, "name"));
    TSNode value = gg__field(option, "value");
    *typed = *typed || gg_str_is(name, "dtype");
    if (gg_str_is(name, "dtype")) return gg__dtype_named(&s, value, &vague).len > 0;
    return gg_str_is(name, "device") && gg__is_harmless(in->tree, value);
}

/* The sizes as one argument, with what is told by name behind them; empty when they are not certainly that. */
static gg_str sizes_of(const gg_rule_input *in, TSNode arguments, gg_str *options, bool *typed, gg_arena *arena) {
    gg_str sizes = GG_STR_NULL;
    uint32_t count = 0;
    TSNode first = gg__child(arguments, 0);
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        gg_str text = gg__text(in->tree, argument);
        if (gg_node_is(argument, "keyword_argument")) {
            if (!is_option(in, argument, typed)) return GG_STR_NULL;
            *options = gg_arena_printf(arena, "%.*s, %.*s", GG_STR_ARG(*options), GG_STR_ARG(text));
            continue;
        }
        TSNode value = gg_node_is(argument, "list_splat") ? gg__child(argument, 0) : argument;
        if (gg_node_is(argument, "dictionary_splat") || !gg__is_harmless(in->tree, value))
            return GG_STR_NULL; /* bounds are evaluated before it, then */
        sizes = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(sizes), count++ ? ", " : "", GG_STR_ARG(text));
    }
    if (count == 0) return GG_STR_NULL;
    bool splat = gg_node_is(first, "list_splat");
    if (count == 1 && !splat && (gg_node_is(first, "tuple") || gg_node_is(first, "list") || is_shape(in, first)))
        return sizes;
    bool one = splat ? is_shape(in, gg__child(first, 0)) : gg__infer(in, first).sort == GG__SCALAR_INT;
    return one ? gg_arena_printf(arena, "(%.*s%s)", GG_STR_ARG(sizes), count == 1 ? "," : "") : GG_STR_NULL;
}

/* The text of the whole; empty where it cannot be written. */
static gg_str write(const gg_rule_input *in, const filled *f, gg_str torch, gg_arena *arena) {
    gg_str low = ts_node_is_null(f->low) ? GG_STR("0") : gg__text(in->tree, f->low);
    gg_str high = gg__text(in->tree, f->high), object = gg__text(in->tree, f->object), options = GG_STR_NULL;
    gg_str bounds = gg_arena_printf(arena, "%.*s, %.*s", GG_STR_ARG(low), GG_STR_ARG(high));
    TSNode arguments = gg__field(f->maker, "arguments"), other = gg__child(arguments, 0);
    bool typed = false;
    if (ts_node_is_null(f->maker))
        return gg_arena_printf(arena, "%.*s.copy_(%.*s.randint_like(%.*s, %.*s))", GG_STR_ARG(object),
                               GG_STR_ARG(torch), GG_STR_ARG(object), GG_STR_ARG(bounds));
    if (f->like)
        return gg__child_count(arguments) == 1 && gg__infer(in, other).sort == GG__TENSOR
                   ? gg_arena_printf(arena, "%.*s.randint_like(%.*s, %.*s)", GG_STR_ARG(torch),
                                     GG_STR_ARG(gg__text(in->tree, other)), GG_STR_ARG(bounds))
                   : GG_STR_NULL;
    gg_str sizes = sizes_of(in, arguments, &options, &typed, arena);
    if (sizes.len == 0) return GG_STR_NULL;
    if (!typed)
        options =
            gg_arena_printf(arena, ", dtype=%.*s.get_default_dtype()%.*s", GG_STR_ARG(torch), GG_STR_ARG(options));
    return gg_arena_printf(arena, "%.*s.randint(%.*s, %.*s%.*s)", GG_STR_ARG(torch), GG_STR_ARG(bounds),
                           GG_STR_ARG(sizes), GG_STR_ARG(options));
}

static bool find(const gg_rule_input *in, filled *f, gg_str *out, gg_arena *arena) {
    *f = (filled){.call = gg__strip_parentheses(gg_node_at(in->tree, in->span))};
    TSNode function = gg__field(f->call, "function");
    if (!gg_str_is(in->site->id, "GB0107") || !gg_node_is(f->call, "call") ||
        !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "random_") ||
        !gg_node_is(gg__field(f->call, "arguments"), "argument_list") || !gg__can_name(in->tree, f->call, "torch"))
        return false;
    f->object = gg__field(function, "object");
    if (gg__has_comment(in->tree, gg_node_span(f->call)))
        return gg__hinder(in, f->call, "a comment inside of it would be lost");
    if (!find_bounds(in, f)) return false;
    if (gg__makes_anew(in->tree, f->object, &f->like))
        f->maker = f->object;
    else if (!gg_node_is(f->object, "identifier") || gg__infer(in, f->object).sort != GG__TENSOR)
        return gg__hinder(in, f->object, "is no name of a tensor");
    gg_str torch = gg__module_alias(in->tree, f->call, "torch");
    *out = write(in, f, torch.len ? torch : GG_STR("torch"), arena);
    return out->len || gg__hinder(in, f->object, "its sizes or options are not known to be those of torch.randint");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_arena *arena = gg_arena_new();
    gg_str text;
    filled f;
    bool found = find(in, &f, &text, arena);
    out->node = f.call;
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg_str text;
    filled f;
    if (!find(in, &f, &text, arena)) return gg_fail(err, GG_ENOMATCH, "its bounds or sizes are not known");
    gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_edits_add(out, gg_node_span(f.call), text);
    return 0;
}

const gg_rule gg_rule_drawn_integers = {
    .code = "GG076",
    .name = "drawn-integers",
    .title = "Draw the integers with torch.randint",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
