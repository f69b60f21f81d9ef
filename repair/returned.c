/* Several values at once in an arm: `return a, b`, `return {"loss": a}`, `a, b = b, a`; `l.append(a)` on all ways.  See select.h.
 *
 * DESIGN  The values of a return are bound one by one, as "return 1", "return 2", …  "return" itself then holds the form: the text around them, with
 * a HOLE for each.  Only what has the same form on both ways is selected from. */
#include <ctype.h>
#include <string.h>

#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

enum { MAX_VALUES = 12, MAX_DEPTH = 4 };

#define HOLE "\x01"

gg__binding *gg__arm_find(gg__arm *arm, gg_str name) {
    for (size_t i = 0; i < arm->count; i++)
        if (gg_str_equal(arm->items[i].name, name)) return &arm->items[i];
    return NULL;
}

bool gg__arm_bind(gg__arm *arm, gg__binding value) {
    gg__binding *known = gg__arm_find(arm, value.name);
    if (known) {
        *known = value;
        return true;
    }
    if (arm->count == GG__MAX_BINDINGS) return false;
    arm->items[arm->count++] = value;
    return true;
}

bool gg__is_returned(gg_str name) {
    gg_str returned = GG_STR(GG__RETURNED);
    return gg_str_starts_with(name, returned) && (name.len == returned.len || name.ptr[returned.len] == ' ');
}

static gg_str numbered(gg__select *s, const char *what, size_t number) {
    return gg_arena_printf(s->arena, "%s %zu", what, number);
}

/* ---- returns ------------------------------------------------------------------------------------------------------------- */

typedef struct form {
    gg__select *s;
    gg__arm *arm;
    TSNode values[MAX_VALUES], kept[MAX_VALUES]; /* kept: names that stay */
    size_t count, kept_count;
} form;

static bool is_display(TSNode node) {
    return gg_node_is(node, "expression_list") || gg_node_is(node, "tuple") || gg_node_is(node, "list") ||
           gg_node_is(node, "dictionary");
}

static bool is_plain_text(TSNode node) {
    if (!gg_node_is(node, "string")) return false;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (gg_node_is(gg__child(node, i), "interpolation")) return false;
    return true;
}

/* The same object on both ways, whatever it is: a literal, or a name that the arm has not bound. */
static bool stays(const form *f, TSNode node) {
    static const char *const literals[] = {"none", "true", "false", "integer", "float"};
    for (size_t i = 0; i < GG_COUNT(literals); i++)
        if (gg_node_is(node, literals[i])) return true;
    if (is_plain_text(node)) return true;
    return gg_node_is(node, "identifier") && gg__arm_find(f->arm, gg__text(f->s->in->tree, node)) == NULL &&
           gg__infer_in(f->s, f->arm, node).sort == GG__UNKNOWN;
}

static bool find_values(form *f, TSNode node, uint32_t depth) {
    if (depth > MAX_DEPTH) return false;
    if (!is_display(node)) {
        if (f->count == MAX_VALUES || f->kept_count == MAX_VALUES) return false;
        if (stays(f, node)) {
            if (gg_node_is(node, "identifier")) f->kept[f->kept_count++] = node;
            return true;
        }
        f->values[f->count++] = node;
        return true;
    }
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode child = gg__child(node, i);
        if (gg_node_is(node, "dictionary")) {
            if (!gg_node_is(child, "pair") || !is_plain_text(gg__field(child, "key"))) return false;
            child = gg__field(child, "value");
        }
        if (!find_values(f, child, depth + 1)) return false;
    }
    return true;
}

/* The text around the values, on one line. */
static gg_str around(const form *f, TSNode node) {
    gg_str all = gg_text_bytes(gg_tree_text(f->s->in->tree));
    gg_buf out;
    gg_buf_init(&out, GG_MAX_DOCUMENT_BYTES);
    uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
    size_t next = 0;
    if (gg_node_is(node, "tuple") && gg__child_count(node) > 1) { /* as without its parentheses */
        for (start++, end--; isspace((unsigned char)all.ptr[start]);) start++;
        while (isspace((unsigned char)all.ptr[end - 1]) || all.ptr[end - 1] == ',') end--;
    }
    for (uint32_t at = start; at < end;) {
        if (next < f->count && at == ts_node_start_byte(f->values[next])) {
            gg_buf_append(&out, GG_STR(HOLE));
            at = ts_node_end_byte(f->values[next++]);
            continue;
        }
        uint32_t blank = at;
        bool broken = false;
        for (; blank < end && isspace((unsigned char)all.ptr[blank]); blank++)
            broken = broken || all.ptr[blank] == '\n' || all.ptr[blank] == '\r';
        if (broken) {
            gg_str so_far = gg_buf_str(&out);
            bool opened = so_far.len && strchr("([{", so_far.ptr[so_far.len - 1]);
            bool closes = blank < end && strchr(")]}", all.ptr[blank]);
            if (closes && all.ptr[blank] != ')' && so_far.ptr[so_far.len - 1] == ',')
                out.len--; /* of one value a line */
            if (!opened && !closes) gg_buf_append(&out, GG_STR(" "));
            at = blank;
            continue;
        }
        gg_buf_append(&out, gg_str_slice(all, at, at + 1));
        at++;
    }
    gg_str text = gg_arena_str(f->s->arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return text;
}

typedef enum whose { ANONYMOUS, MADE, OUTER, ANOTHERS } whose;

/* Who may hold the value beside the caller: nobody, a name that the arm has made it for, one from before, or whoever. */
static whose who_holds(const form *f, TSNode value) {
    gg__meta m = gg__infer_in(f->s, f->arm, value);
    if (gg__is_number(m)) return ANONYMOUS;
    if (!gg_node_is(value, "identifier")) return m.fresh ? ANONYMOUS : ANOTHERS;
    const gg__binding *own = gg__arm_find(f->arm, gg__text(f->s->in->tree, value));
    if (own == NULL) return OUTER;
    return own->meta.fresh ? MADE : ANOTHERS;
}

/* A name that stays may be a list that holds the value.  What callers give to parameters is theirs: that it is a new tensor is said. */
static bool may_be_in_what_stays(const form *f, TSNode value) {
    const gg_tree *tree = f->s->in->tree;
    whose holder = who_holds(f, value);
    if (holder == ANONYMOUS || holder == MADE) return false;
    if (holder == ANOTHERS) return true;
    gg_str name = gg__text(tree, value);
    TSNode function = gg__function(f->s->statement), parameters = gg__field(function, "parameters");
    if (gg__owns(f->s->in, f->s->statement, name)) return false;
    for (size_t i = 0; i < f->kept_count; i++)
        if (!gg__binds(tree, parameters, gg__text(tree, f->kept[i]))) return true;
    return !gg__binds(tree, parameters, name) || gg__binds(tree, gg__field(function, "body"), name);
}

/* Two of them may share memory, which selections of them do not: whoever changes one of them in place would change both. */
static bool may_share(const form *f) {
    const gg_tree *tree = f->s->in->tree;
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < i; j++) {
            TSNode a = f->values[i], b = f->values[j];
            whose one = who_holds(f, a), other = who_holds(f, b);
            if (one == ANONYMOUS || other == ANONYMOUS) continue;
            bool same = gg_str_equal(gg__text(tree, a), gg__text(tree, b));
            if (one == ANOTHERS || other == ANOTHERS || same) return true;
            if (one == OUTER && other == OUTER && gg__may_be_one(f->s->in, f->s->statement, a, b)) return true;
        }
    for (size_t i = 0; i < f->count && f->kept_count; i++)
        if (may_be_in_what_stays(f, f->values[i])) return true;
    return false;
}

bool gg__assign_returned(gg__select *s, gg__arm *arm, TSNode value) {
    if (!is_display(value)) return gg__assign(s, arm, GG_STR(GG__RETURNED), GG_STR_NULL, value);
    form f = {.s = s, .arm = arm};
    if (gg_node_is(value, "tuple") && gg__child_count(value) == 0) return false;
    if (gg__has_comment(s->in->tree, gg_node_span(value)))
        return gg__hinder(s->in, value, "a comment inside of it would be lost");
    if (!find_values(&f, value, 0)) return gg__hinder(s->in, value, "is more than values side by side");
    if (may_share(&f)) return gg__hinder(s->in, value, "two of these may share memory, and selections do not");
    gg__binding whole = {.name = GG_STR(GG__RETURNED), .text = around(&f, value), .form = true};
    for (size_t i = 0; i < f.count; i++)
        if (!gg__assign(s, arm, numbered(s, GG__RETURNED, i + 1), GG_STR_NULL, f.values[i])) return false;
    return gg__arm_bind(arm, whole);
}

bool gg__may_select_returned(gg__select *s, TSNode node, TSNode first, bool first_fresh, TSNode second,
                             bool second_fresh) {
    TSNode last = gg__statement(second);
    gg_str none = GG_STR_NULL;
    if ((!first_fresh && gg__alias_shows(s->in, node, first, none)) ||
        (!second_fresh && gg__alias_shows(s->in, last, second, none)) ||
        (!first_fresh && !second_fresh && gg__may_be_one(s->in, last, first, second)))
        return false;
    s->copies = (!first_fresh && gg__is_copy(s->in, node, first, none)) ||
                (!second_fresh && gg__is_copy(s->in, last, second, none));
    return true;
}

gg_str gg__returned_text(gg__select *s, const gg__arm *arm) {
    gg__arm copy = *arm;
    const gg__binding *whole = gg__arm_find(&copy, GG_STR(GG__RETURNED));
    if (!whole->form) return whole->meta.sort == GG__TENSOR ? whole->text : GG_STR_NULL;
    gg_buf out;
    bool known = true;
    size_t count = 0;
    gg_buf_init(&out, GG_MAX_DOCUMENT_BYTES);
    for (size_t i = 0; known && i < whole->text.len; i++) {
        if (whole->text.ptr[i] != HOLE[0]) {
            gg_buf_append(&out, gg_str_slice(whole->text, i, i + 1));
            continue;
        }
        const gg__binding *value = gg__arm_find(&copy, numbered(s, GG__RETURNED, ++count));
        known = value && (value->meta.sort == GG__TENSOR || gg__is_number(value->meta));
        if (known) gg_buf_append(&out, value->text);
    }
    gg_str text = known ? gg_arena_str(s->arena, gg_buf_str(&out)) : GG_STR_NULL;
    gg_buf_clear(&out);
    return text;
}

/* ---- assignments ---------------------------------------------------------------------------------------------------------- */

TSNode gg__several_assigned(TSNode statement) {
    TSNode node = gg__child(statement, 0), left = gg__field(node, "left"), right = gg__field(node, "right");
    bool listed = gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern");
    bool given = gg_node_is(right, "expression_list") || gg_node_is(right, "tuple");
    bool plain = gg_node_is(statement, "expression_statement") && gg__child_count(statement) == 1 &&
                 gg_node_is(node, "assignment") && listed && given && gg__child_count(left) == gg__child_count(right) &&
                 gg__child_count(left) <= MAX_VALUES;
    for (uint32_t i = 0; plain && i < gg__child_count(left); i++) plain = gg_node_is(gg__child(left, i), "identifier");
    return plain ? node : (TSNode){0};
}

/* All values are there before the first name gets one. */
bool gg__assign_several(gg__select *s, gg__arm *arm, TSNode node) {
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    size_t known = arm->count, count = gg__child_count(left);
    gg__binding made[MAX_VALUES];
    for (uint32_t i = 0; i < count; i++) {
        gg_str name = gg__text(s->in->tree, gg__child(left, i));
        if (!gg__assign(s, arm, numbered(s, "value", i), name, gg__child(right, i))) return false;
        made[i] = arm->items[known + i];
        made[i].name = name;
    }
    arm->count = known;
    for (size_t i = 0; i < count; i++)
        if (!gg__arm_bind(arm, made[i])) return false;
    return true;
}

/* ---- lists that get one on every way --------------------------------------------------------------------------------------- */

bool gg__is_appended(gg_str name) {
    return gg_str_ends_with(name, GG_STR(".append"));
}

/* The value of `l.append(value)`, as a statement; else null. */
TSNode gg__appended(const gg_tree *tree, TSNode statement) {
    TSNode call = gg__child(statement, 0), function = gg__field(call, "function"),
           arguments = gg__field(call, "arguments");
    bool plain = gg_node_is(statement, "expression_statement") && gg_node_is(call, "call") &&
                 gg_node_is(function, "attribute") && gg_node_is(gg__field(function, "object"), "identifier") &&
                 gg_str_is(gg__text(tree, gg__field(function, "attribute")), "append") &&
                 gg_node_is(arguments, "argument_list") && gg__child_count(arguments) == 1;
    return plain ? gg__child(arguments, 0) : (TSNode){0};
}

bool gg__append(gg__select *s, gg__arm *arm, TSNode statement) {
    TSNode value = gg__appended(s->in->tree, statement), function = gg__field(gg__child(statement, 0), "function");
    TSNode list = gg__field(function, "object");
    gg_str name = gg__text(s->in->tree, function);
    if (!gg_node_is(gg__only_value(s->in->tree, list), "list") || gg__arm_find(arm, name))
        return gg__hinder(s->in, statement, "runs on one way only, and is no assignment to a name and no return");
    gg__meta m = gg__infer_in(s, arm, value);
    if (!gg__selectable(s, m)) return gg__unselectable(s, arm, value);
    if (who_holds(&(form){.s = s, .arm = arm}, value) != ANONYMOUS && !gg__is_gathered(s->in, value))
        return gg__hinder(s->in, value, "other code may hold this tensor, and a selection is a new one");
    if (s->divides_safely && !gg__divisors_are_smooth(s, arm, value)) return false;
    gg__binding out = {.name = name, .meta = m, .from = value, .pending = true};
    out.text = gg__text_reading(s, arm, value, &out.reads, &out.flows);
    return gg__arm_bind(arm, out);
}
