/* Why a rule does not apply: what gg_rule_input.hindrance is told, and in which words users read it.  Any thread. */
#include "repair/hindrance.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "repair/private.h"

enum { MAX_CODE = 60 }; /* bytes of code that are shown */

bool gg__hinder(const gg_rule_input *in, TSNode node, const char *why, ...) {
    gg_hindrance *told = in->hindrance;
    if (told == NULL || told->why[0] || ts_node_is_null(node)) return false;
    va_list arguments;
    va_start(arguments, why);
    (void)vsnprintf(told->why, sizeof(told->why), why, arguments);
    va_end(arguments);
    told->why[gg_utf8_valid_prefix(gg_str_from(told->why))] = '\0'; /* it may have been cut */
    told->span = gg_node_span(node);
    return false;
}

bool gg__hinder_generally(const gg_rule_input *in, TSNode node, const char *why) {
    bool silent = in->hindrance == NULL || in->hindrance->why[0];
    (void)gg__hinder(in, node, "%s", why);
    if (!silent) in->hindrance->general = true;
    return false;
}

enum { MAX_META = 56 };

/* "float32 [2, ?]" */
static const char *in_words(gg__meta m, char out[MAX_META]) {
    static const char *const words[] = {[GG__UNKNOWN] = "what is not known",
                                        [GG__SCALAR_INT] = "an int",
                                        [GG__SCALAR_FLOAT] = "a float",
                                        [GG__SCALAR_BOOL] = "a bool",
                                        [GG__TENSOR] = ""};
    gg_str dtype = m.dtype, torch = GG_STR("torch.");
    if (m.sort != GG__TENSOR) return words[m.sort];
    if (gg_str_starts_with(dtype, torch)) dtype = gg_str_slice(dtype, torch.len, dtype.len);
    int at = snprintf(out, MAX_META, "%.*s [", GG_STR_ARG(dtype));
    for (int32_t i = 0; i < m.rank && at < MAX_META; i++) {
        const char *comma = i ? ", " : "";
        size_t room = (size_t)(MAX_META - at);
        at += m.shape[i] < 0 ? snprintf(out + at, room, "%s?", comma)
                             : snprintf(out + at, room, "%s%lld", comma, (long long)m.shape[i]);
    }
    if (at < MAX_META) (void)snprintf(out + at, (size_t)(MAX_META - at), "]");
    return out;
}

/* … of two that have the same dtype and sizes in the capture. */
static const char *difference(gg__meta a, gg__meta b) {
    bool known = a.sort == GG__TENSOR && b.sort == GG__TENSOR;
    bool defaulted = a.vague == GG__DEFAULT || b.vague == GG__DEFAULT;
    if (known && (a.vague != b.vague || a.vague == GG__VAGUE))
        return defaulted ? "`%.*s` has torch's default dtype on one way, which may be another: name the dtype"
                         : "`%.*s` has a dtype that depends on autocast or on torch's default dtype";
    if (known && a.device.len && b.device.len && !gg_str_equal(a.device, b.device))
        return "`%.*s` is on another device on the other way";
    if (known && (!gg_str_equal(a.layout, b.layout) || gg_str_is(a.layout, "?")))
        return "`%.*s` may have other strides on the other way";
    return known ? "`%.*s` has sizes that are not known" : "`%.*s` is not known on both ways";
}

bool gg__hinder_unlike(const gg_rule_input *in, TSNode node, gg_str name, gg__meta a, gg__meta b) {
    char one[MAX_META], other[MAX_META];
    const char *left = in_words(a, one), *right = in_words(b, other);
    if (strcmp(left, right) == 0) return gg__hinder(in, node, difference(a, b), GG_STR_ARG(name));
    return gg__hinder(in, node, "`%.*s` is %s on one way, %s on the other", GG_STR_ARG(name), left, right);
}

bool gg_repair_hindrance(const gg_rule_input *in, gg_safety max_safety, gg_hindrance *out) {
    size_t count = 0;
    const gg_rule *const *rules = gg_rules(&count);
    *out = (gg_hindrance){0};
    if (gg__nests_too_deep(in)) return false;
    for (size_t i = 0; i < count; i++) {
        gg_hindrance told = {.rule = rules[i]};
        gg_rule_input asking = *in;
        gg_rule_match match;
        asking.hindrance = &told;
        if (rules[i]->safety > max_safety) continue;
        if (rules[i]->check(&asking, &match)) return false;
        if (told.why[0] && (out->rule == NULL || (out->general && !told.general))) *out = told;
    }
    return out->rule != NULL;
}

gg_str gg_hindrance_text(const gg_hindrance *hindrance, const gg_tree *tree, bool markdown, gg_arena *arena) {
    return gg_explain_code(gg_tree_text(tree), hindrance->span, MAX_CODE, gg_str_from(hindrance->why), markdown, arena);
}
