/* The table of rules made from rules.def, and what every rule gets for free.  Any thread. */
#include "repair/private.h"
#include "repair/syntax.h"

/* `a and b and …` has a node in the other for each operand: rules go down by recursion, and to find the parent of a node takes a walk from the
 * root. */
enum { MAX_LEVELS = 300 };

#define RULE(name) extern const gg_rule gg_rule_##name;
#include "repair/rules.def"
#undef RULE

static const gg_rule *const rules[] = {
#define RULE(name) &gg_rule_##name,
#include "repair/rules.def"
#undef RULE
};

const gg_rule *const *gg_rules(size_t *out_count) {
    *out_count = GG_COUNT(rules);
    return rules;
}

const gg_rule *gg_rule_find(gg_str code_or_name) {
    for (size_t i = 0; i < GG_COUNT(rules); i++)
        if (gg_str_is(code_or_name, rules[i]->code) || gg_str_is(code_or_name, rules[i]->name)) return rules[i];
    return NULL;
}

gg_str gg_rule_page(const gg_rule *rule) {
    for (size_t i = 0; i < gg__rule_page_count; i++)
        if (strcmp(gg__rule_pages[i].id, rule->code) == 0)
            return (gg_str){(const char *)gg__rule_pages[i].bytes, gg__rule_pages[i].len};
    return GG_STR_NULL;
}

bool gg__nests_too_deep(const gg_rule_input *in) {
    return gg_tree_levels(in->tree) > MAX_LEVELS;
}

size_t gg_repair_offers(const gg_rule_input *in, gg_safety max_safety, const gg_rule **out, size_t max) {
    size_t count = 0;
    if (gg__nests_too_deep(in)) return 0;
    for (size_t i = 0; i < GG_COUNT(rules) && count < max; i++) {
        gg_rule_match match;
        if (rules[i]->safety <= max_safety && rules[i]->check(in, &match)) out[count++] = rules[i];
    }
    return count;
}

int gg_repair_edits(const gg_rule *rule, const gg_rule_input *in, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    gg_rule_match match;
    int error = 0;
    if (gg__nests_too_deep(in) || !rule->check(in, &match)) {
        error = gg_fail(err, GG_ENOMATCH, "%s does not apply here", rule->name);
        goto cleanup;
    }
    if ((error = rule->edit(in, &match, arena, out, err)) != 0) goto cleanup;
    gg__keep_line_ends(gg_tree_text(in->tree), out, arena);
    if ((error = gg_edits_sort(out, err)) != 0) goto cleanup;
    if ((error = gg_edits_apply(&text, gg_tree_text(in->tree), out, err)) != 0) goto cleanup;
    if ((error = gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, err)) != 0) goto cleanup;
    if (gg_tree_has_error(tree) && !gg_tree_has_error(in->tree))
        error = gg_fail(err, GG_ENOMATCH, "%s would not leave valid Python here", rule->name);

cleanup:
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return error;
}
