/* Whether a tensor has its dtype in every call, by how the function makes it: `h > 0`, `h.argmax()`, `n.long()`.  See infer.h.
 *
 * DESIGN  A capture sees the dtypes of one call.  So what it says of an argument or an attribute is changed to one dtype after the other: what is
 * inferred of the expression must stay.  What is not known of another dtype counts as an error there, as `~x` of a floating tensor is. */
#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/scalar.h"

enum { MAX_VALUES = 8 };

static bool is_certain(const gg_rule_input *in, TSNode node, uint32_t depth);

typedef struct settling {
    const gg_rule_input *in;
    gg_str name;
    uint32_t depth;
} settling;

/* A use of the name that is not known to have the dtype, or to be the integer, that it has. */
static bool is_settled(TSNode node, void *data) {
    const settling *s = data;
    bool use = gg_node_is(node, "identifier") && !gg__is_member_name(node) &&
               gg_str_equal(gg__text(s->in->tree, node), s->name);
    return !use || gg__is_counter(s->in->tree, node) || is_certain(s->in, node, s->depth + 1);
}

/* What the expression is where the capture saw another dtype of that fact, or a fraction in place of an integer. */
static gg__meta infer_with(const gg_rule_input *in, TSNode node, size_t changed, gg_str dtype) {
    gg_fact facts[GG__MAX_FACTS] = {0};
    gg_rule_input there = *in;
    gg_site site = *in->site;
    gg_break record = *in->site->first;
    for (size_t i = 0; i < record.fact_count; i++) facts[i] = record.facts[i];
    gg_fact *fact = &facts[changed];
    if (fact->kind == GG_VALUE_INT)
        *fact = (gg_fact){.name = fact->name, .kind = GG_VALUE_FLOAT};
    else
        fact->dtype = dtype;
    record.facts = facts;
    site.first = &record;
    there.site = &site;
    return gg__infer_loosely(&there, node);
}

static bool stays(const gg_rule_input *in, TSNode node, size_t changed, gg__meta m) {
    static const char *const dtypes[] = {"torch.bool", "torch.uint8", "torch.int8", "torch.int64", "torch.float32"};
    for (size_t i = 0; i < GG_COUNT(dtypes); i++) {
        gg__meta other = infer_with(in, node, changed, gg_str_from(dtypes[i]));
        if (other.sort != GG__UNKNOWN && (other.sort != m.sort || !gg_str_equal(other.dtype, m.dtype))) return false;
    }
    return true;
}

static bool is_path(gg_str name) {
    return gg_str_contains(name, GG_STR(".")) || gg_str_contains(name, GG_STR("["));
}

/* Attributes of self may be read by what is called, too. */
static bool is_read(const gg_tree *tree, TSNode node, const gg_fact *fact) {
    bool varies = fact->kind == GG_VALUE_TENSOR || fact->kind == GG_VALUE_INT;
    if (is_path(fact->name))
        return varies &&
               (gg_str_starts_with(fact->name, GG_STR("self.")) || gg_str_contains(gg__text(tree, node), fact->name));
    return varies && gg__reads(tree, node, fact->name);
}

/* `a > b`, `a.gt(b)`, `(a > b).to(x.device)`, of which a tensor is a bool one, whatever a and b are. */
static bool compares(const gg_tree *tree, TSNode node) {
    node = gg__strip_parentheses(node);
    static const char *const operators[] = {"<", ">", "<=", ">=", "==", "!="};
    static const char *const methods[] = {"lt", "gt", "le", "ge", "eq", "ne"};
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (gg_node_is(node, "call") && gg_str_is(name, "to") && gg__child_count(arguments) == 1 &&
        gg_str_is(gg__text(tree, gg__field(gg__child(arguments, 0), "attribute")), "device"))
        return compares(tree, gg__field(function, "object"));
    if (gg_node_is(node, "call")) return gg__is_one_of(name, methods, GG_COUNT(methods));
    if (!gg_node_is(node, "comparison_operator") || gg__child_count(node) != 2) return false;
    return gg__is_one_of(gg__text(tree, ts_node_child(node, 1)), operators, GG_COUNT(operators));
}

/* m of `m.any()`, `torch.all(m, 0)`; else null. */
static TSNode asked_of_all(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object"), none = {0};
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (!gg_node_is(call, "call") || !(gg_str_is(name, "any") || gg_str_is(name, "all"))) return none;
    return gg__refers_to(tree, object, "torch") ? gg__child(gg__field(call, "arguments"), 0) : object;
}

static bool is_certain(const gg_rule_input *in, TSNode node, uint32_t depth) {
    node = gg__strip_parentheses(node);
    gg_str name = gg__text(in->tree, node);
    TSNode function = gg__field(node, "function");
    if (depth > MAX_VALUES) return false;
    if (gg__names_builtin(in->tree, function, "int")) return true;
    if (gg_node_is(node, "call") && gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "item"))
        return is_certain(in, gg__field(function, "object"), depth + 1);
    if (gg_node_is(node, "identifier")) {
        TSNode value = gg__value_among(in->tree, node, name);
        return !ts_node_is_null(value) && is_certain(in, value, depth + 1);
    }
    if (compares(in->tree, node)) return true;
    TSNode asked = asked_of_all(in->tree, node); /* of uint8 they give uint8, of all else bool */
    if (!ts_node_is_null(asked)) return is_certain(in, asked, depth + 1);
    gg__meta m = gg__infer_loosely(in, node);
    const gg_break *record = in->site->first;
    if (m.sort == GG__UNKNOWN || m.vague || record->fact_count > GG__MAX_FACTS) return false;
    for (size_t i = 0; i < record->fact_count; i++) {
        settling s = {in, record->facts[i].name, depth};
        if (!is_read(in->tree, node, &record->facts[i])) continue;
        if ((is_path(s.name) || !gg__visit(node, is_settled, &s)) && !stays(in, node, i, m)) return false;
    }
    return true;
}

bool gg__has_certain_dtype(const gg_rule_input *in, TSNode node) {
    return in->site && in->site->first && is_certain(in, node, 0);
}
