/* GG070 attention-backends: torch.backends.cuda.sdp_kernel(…) is a generator that Dynamo does not enter; torch.nn.attention.sdpa_kernel it knows.
 * Offers: that while compiling, with the list of the backends that the flags name; else what is there, since it warns of its deprecation.
 * Refuses: flags that are neither literals nor all of one dictionary.  Safety: effects.  Page: docs/rules/GG070.md */
#include "repair/syntax.h"

enum { FLAGS = 4 };
static const char *const flags[FLAGS] = {"enable_flash", "enable_math", "enable_mem_efficient", "enable_cudnn"};
static const char *const backends[FLAGS] = {"FLASH_ATTENTION", "MATH", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"};

/* A name, an attribute of one, or `_asdict()` of these: what may be asked as often as one likes. */
static bool is_plain(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "call")) {
        TSNode function = gg__field(node, "function");
        if (!gg_node_is(function, "attribute") || gg__child_count(gg__field(node, "arguments")) > 0 ||
            !gg_str_is(gg__text(tree, gg__field(function, "attribute")), "_asdict"))
            return false;
        node = gg__field(function, "object");
    }
    while (gg_node_is(node, "attribute")) node = gg__field(node, "object");
    return gg_node_is(node, "identifier");
}

/* The flags of a call: on[i], and of `**of` nothing but that. */
static bool reads(const gg_tree *tree, TSNode call, bool on[FLAGS], TSNode *of) {
    TSNode arguments = gg__field(call, "arguments");
    uint32_t count = gg_node_is(arguments, "argument_list") ? gg__child_count(arguments) : FLAGS + 1;
    bool given[FLAGS] = {0};
    *of = (TSNode){0};
    for (size_t i = 0; i < FLAGS; i++) on[i] = true;
    if (count == 1 && gg_node_is(gg__child(arguments, 0), "dictionary_splat")) {
        *of = gg__child(gg__child(arguments, 0), 0);
        return is_plain(tree, *of) && !gg__reads(tree, *of, GG_STR("flag")) && !gg__reads(tree, *of, GG_STR("backend"));
    }
    for (uint32_t i = 0; count <= FLAGS && i < count; i++) {
        TSNode value = gg__child(arguments, i);
        size_t flag = i;
        if (gg_node_is(value, "keyword_argument")) {
            gg_str name = gg__text(tree, gg__field(value, "name"));
            for (flag = 0; flag < FLAGS && !gg_str_is(name, flags[flag]);) flag++;
            value = gg__field(value, "value");
        }
        if (flag == FLAGS || given[flag] || !(gg_node_is(value, "true") || gg_node_is(value, "false"))) return false;
        given[flag] = true;
        on[flag] = gg_node_is(value, "true");
    }
    return count <= FLAGS;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), of;
    bool on[FLAGS];
    out->node = call;
    return gg_node_is(call, "call") && gg_node_is(ts_node_parent(call), "with_item") &&
           gg__refers_to(in->tree, gg__field(call, "function"), "torch.backends.cuda.sdp_kernel") &&
           gg__can_name(in->tree, call, "torch") && reads(in->tree, call, on, &of);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    bool on[FLAGS];
    TSNode of;
    if (!reads(in->tree, match->node, on, &of)) return gg_fail(err, GG_ENOMATCH, "its flags are not known");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out), list = GG_STR_NULL;
    bool asked = !ts_node_is_null(of);
    for (size_t i = 0; i < FLAGS; i++) {
        if (!on[i]) continue;
        gg_str backend = gg_arena_printf(arena, "%.*s.nn.attention.SDPBackend.%s", GG_STR_ARG(torch), backends[i]);
        if (asked) backend = gg_arena_printf(arena, "(\"%s\", %.*s)", flags[i], GG_STR_ARG(backend));
        list = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(list), list.len ? ", " : "", GG_STR_ARG(backend));
    }
    if (asked)
        list = gg_arena_printf(arena, "backend for flag, backend in (%.*s) if %.*s.get(flag, True)", GG_STR_ARG(list),
                               GG_STR_ARG(gg__text(in->tree, of)));
    uint32_t start = gg_node_span(match->node).start;
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(arena, "%.*s.nn.attention.sdpa_kernel([%.*s]) if %.*s.compiler.is_compiling() else ",
                                 GG_STR_ARG(torch), GG_STR_ARG(list), GG_STR_ARG(torch)));
    return 0;
}

const gg_rule gg_rule_attention_backends = {
    .code = "GG070",
    .name = "attention-backends",
    .title = "Choose the backends of attention by sdpa_kernel",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
