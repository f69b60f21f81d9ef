/* What arms and conditions of a branch are, under the names they have after the edit.  See select.h. */
#include "repair/select.h"
#include "repair/alias.h"
#include "repair/gradients.h"
#include "repair/grown.h"
#include "repair/infer.h"

void gg__select_init(gg__select *s, const gg_rule_input *in, TSNode statement, gg_arena *arena) {
    *s = (gg__select){.in = in, .arena = arena, .statement = statement};
    gg_buf_init(&s->lines, GG_MAX_DOCUMENT_BYTES);
    s->torch = gg__module_alias(in->tree, statement, "torch");
    if (s->torch.len == 0) s->torch = GG_STR("torch");
    s->indent = gg__indent(in->tree, ts_node_start_byte(statement));
    s->newline = gg__newline(in->tree);
}

void gg__select_clear(gg__select *s) {
    gg_buf_clear(&s->lines);
}

void gg__select_line(gg__select *s, gg_str name, gg_str text) {
    gg_buf_append(&s->lines, name);
    gg_buf_append(&s->lines, GG_STR(" = "));
    gg_buf_append(&s->lines, text);
    gg_buf_append(&s->lines, s->newline);
    gg_buf_append(&s->lines, s->indent);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool gg__mentions(gg_str text, gg_str name) {
    for (size_t at = 0; (at = gg_str_find(text, name, at)) != SIZE_MAX; at++) {
        bool starts = at == 0 || (!is_word(text.ptr[at - 1]) && text.ptr[at - 1] != '.');
        if (starts && (at + name.len == text.len || !is_word(text.ptr[at + name.len]))) return true;
    }
    return false;
}

/* Where a local name of the statement's function can be seen: in the outermost one around it. */
static gg_str seen_from(const gg__select *s) {
    gg_str all = gg_text_bytes(gg_tree_text(s->in->tree));
    for (TSNode at = s->statement; !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "function_definition")) all = gg__text(s->in->tree, at);
    return all;
}

gg_str gg__new_name(gg__select *s, const char *base) {
    gg_str all = seen_from(s), name = gg_arena_str(s->arena, gg_str_from(base));
    for (unsigned number = 2;; number++) {
        bool taken = gg__mentions(all, name);
        for (size_t i = 0; i < s->made_count; i++) taken = taken || gg_str_equal(s->made[i], name);
        if (!taken) break;
        name = gg_arena_printf(s->arena, "%s%u", base, number);
    }
    if (s->made_count < GG__MAX_MADE) s->made[s->made_count++] = name;
    return name;
}

static gg__binding *find(gg__arm *arm, gg_str name) {
    for (size_t i = 0; arm && i < arm->count; i++)
        if (gg_str_equal(arm->items[i].name, name)) return &arm->items[i];
    return NULL;
}

gg__meta gg__infer_in(const gg__select *s, const gg__arm *arm, TSNode node) {
    const gg_break *record = s->in->site->first;
    gg__meta (*infer)(const gg_rule_input *, TSNode) = s->in_place         ? gg__infer_in_place
                                                       : s->names          ? gg__infer_naming
                                                       : s->as_before      ? gg__infer_loosely
                                                       : s->divides_safely ? gg__infer_dividing
                                                                           : gg__infer;
    if (gg__may_be_none(s->in, node)) return gg__unknown;
    if (arm == NULL || arm->count == 0) return infer(s->in, node);
    gg_fact facts[GG__MAX_KNOWN];
    size_t count = 0;
    for (size_t i = arm->count; i-- > 0;)
        facts[count++] = gg__as_fact(arm->items[i].name, &arm->items[i].meta); /* found first */
    for (size_t i = 0; record && i < record->fact_count; i++) {
        if (count == GG__MAX_KNOWN) return (gg__meta){.sort = GG__UNKNOWN};
        facts[count++] = record->facts[i];
    }
    gg_break known = record ? *record : (gg_break){0};
    known.facts = facts;
    known.fact_count = count;
    gg_site site = *s->in->site;
    site.first = &known;
    gg_rule_input in = *s->in;
    in.site = &site;
    return infer(&in, node); /* its texts are the tree's and the facts' */
}

typedef struct piece { /* what stands for a part of the text */
    gg_span span;
    gg_str text;
} piece;

typedef struct writing {
    gg__select *s;
    gg__arm *arm;
    GG_LIST(piece) pieces;
    uint64_t reads, flows;
    TSNode whole;
} writing;

uint64_t gg__outer(gg__select *s, gg_str name) {
    size_t at = 0;
    while (at < s->outer_count && !gg_str_equal(s->outer[at], name)) at++;
    if (at == GG__MAX_OUTER) return 0;
    if (at == s->outer_count) s->outer[s->outer_count++] = name;
    return UINT64_C(1) << at;
}

void gg__settle(gg__select *s, gg__binding *b, const char *suffix) {
    gg_str base = gg_arena_printf(s->arena, "%.*s_%s", GG_STR_ARG(b->name), suffix ? suffix : "then");
    gg_str name = gg__new_name(s, gg_arena_z(s->arena, base));
    gg__select_line(s, name, b->text);
    b->text = name;
    b->pending = false;
}

static bool note_read(TSNode node, void *data) {
    writing *w = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(w->s->in->tree, node);
    gg__binding *b = find(w->arm, name);
    w->reads |= b ? b->reads : gg__outer(w->s, name);
    if (gg__lets_gradients_by(w->s->in->tree, node, w->whole)) w->flows |= b ? b->flows : gg__outer(w->s, name);
    if (b && b->pending) gg__settle(w->s, b, w->arm->suffix);
    return true;
}

/* In the order of the text: behind those that begin at the same place. */
static void put(writing *w, uint32_t start, uint32_t end, gg_str text) {
    piece one = {{start, end}, text};
    gg_list_push(&w->pieces, one);
    for (size_t i = w->pieces.len; --i > 0 && w->pieces.items[i - 1].span.start > start;) {
        w->pieces.items[i] = w->pieces.items[i - 1];
        w->pieces.items[i - 1] = one;
    }
}

/* … in front of them: what is inside ends first. */
static void put_end(writing *w, uint32_t start, uint32_t end, gg_str text) {
    piece one = {{start, end}, text};
    gg_list_push(&w->pieces, one);
    for (size_t i = w->pieces.len; --i > 0 && w->pieces.items[i - 1].span.start >= start;) {
        w->pieces.items[i] = w->pieces.items[i - 1];
        w->pieces.items[i - 1] = one;
    }
}

static void put_guard(writing *w, TSNode operand, const char *fill) {
    TSNode inner = gg__strip_parentheses(operand);
    gg__select *s = w->s;
    bool negated = s->taken.negated;
    gg_str head = gg_arena_printf(s->arena, "%.*s.where(%.*s, %s%s", GG_STR_ARG(s->torch), GG_STR_ARG(s->taken.text),
                                  negated ? fill : "", negated ? ", " : "");
    gg_str tail = gg_arena_printf(s->arena, "%s%s)", negated ? "" : ", ", negated ? "" : fill);
    put(w, ts_node_start_byte(operand), ts_node_start_byte(inner), head);
    put_end(w, ts_node_end_byte(inner), ts_node_end_byte(operand), tail);
}

static bool write_part(TSNode node, void *data) {
    writing *w = data;
    const char *fill = NULL;
    TSNode operand = w->s->divides_safely ? gg__guarded(w->s, w->arm, node, &fill) : (TSNode){0};
    if (!ts_node_is_null(operand)) put_guard(w, operand, fill);
    TSNode method = gg__field(gg__field(node, "function"), "attribute");
    if (w->s->in_place && gg_node_is(node, "call") && gg_str_ends_with(gg__text(w->s->in->tree, method), GG_STR("_")))
        put(w, ts_node_end_byte(method) - 1, ts_node_end_byte(method), GG_STR_NULL);
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    const gg__binding *b = find(w->arm, gg__text(w->s->in->tree, node));
    if (b) put(w, ts_node_start_byte(node), ts_node_end_byte(node), b->text);
    return true;
}

gg_str gg__text_reading(gg__select *s, gg__arm *arm, TSNode node, uint64_t *reads, uint64_t *flows) {
    writing w = {.s = s, .arm = arm, .whole = node};
    gg__visit(node, note_read, &w);
    *reads = w.reads;
    *flows = w.flows;
    gg__visit(node, write_part, &w);
    gg_buf out;
    gg_buf_init(&out, GG_MAX_DOCUMENT_BYTES);
    gg_str all = gg_text_bytes(gg_tree_text(s->in->tree));
    uint32_t at = ts_node_start_byte(node);
    for (size_t i = 0; i < w.pieces.len; i++) {
        gg_buf_append(&out, gg_str_slice(all, at, w.pieces.items[i].span.start));
        gg_buf_append(&out, w.pieces.items[i].text);
        at = w.pieces.items[i].span.end;
    }
    gg_buf_append(&out, gg_str_slice(all, at, ts_node_end_byte(node)));
    gg_str text = gg_arena_str(s->arena, gg_buf_str(&out));
    gg_list_clear(&w.pieces);
    gg_buf_clear(&out);
    return text;
}

gg_str gg__text_in(gg__select *s, gg__arm *arm, TSNode node) {
    uint64_t reads, flows;
    return gg__text_reading(s, arm, node, &reads, &flows);
}

gg_str gg__closed(gg__select *s, gg_str text, TSNode node) {
    static const char *const atoms[] = {"identifier", "call",  "attribute", "subscript", "parenthesized_expression",
                                        "integer",    "float", "true",      "false"};
    for (size_t i = 0; i < GG_COUNT(atoms); i++)
        if (gg_node_is(node, atoms[i])) return text;
    return gg_arena_printf(s->arena, "(%.*s)", GG_STR_ARG(text));
}

typedef struct names {
    const gg_tree *tree;
    TSNode other;
} names;

static bool is_not_shared(TSNode node, void *data) {
    const names *n = data;
    return !gg_node_is(node, "identifier") || !gg__reads(n->tree, n->other, gg__text(n->tree, node));
}

bool gg__sizes_may_differ(const gg_rule_input *in, TSNode node, gg__meta x) {
    for (int32_t i = 0; i < x.rank; i++)
        if (x.shape[i] == 1) return true;
    return gg__has_unseen_callers(in, node);
}

bool gg__share_a_name(const gg_rule_input *in, TSNode a, TSNode b) {
    names n = {in->tree, b};
    return !gg__visit(a, is_not_shared, &n);
}

bool gg__may_broadcast(const gg_rule_input *in, gg__meta x, TSNode a, TSNode b) {
    return gg__sizes_may_differ(in, a, x) && (!gg__share_a_name(in, a, b) || gg__grow_apart(in, a, b));
}

bool gg__arms_alias_shows(const gg_rule_input *in, TSNode statement, TSNode yes, TSNode no, gg_str target) {
    return gg__alias_shows(in, statement, yes, target) || gg__alias_shows(in, statement, no, target) ||
           gg__may_be_one(in, statement, yes, no);
}

bool gg__arms_are_copies(const gg_rule_input *in, TSNode statement, TSNode yes, TSNode no, gg_str target) {
    return gg__is_copy(in, statement, yes, target) || gg__is_copy(in, statement, no, target);
}

/* Is the value of the expression returned, or given to a name?  The name is empty when it is returned. */
static bool has_target(const gg_rule_input *in, TSNode node, gg_str *out) {
    TSNode use = node, parent = gg__parent(node);
    while (gg_node_is(parent, "parenthesized_expression")) {
        use = parent;
        parent = gg__parent(parent);
    }
    TSNode left = gg__field(parent, "left");
    *out = gg__text(in->tree, left);
    if (gg_node_is(parent, "return_statement")) return true;
    return gg_node_is(parent, "assignment") && gg_node_is(left, "identifier") &&
           ts_node_eq(gg__field(parent, "right"), use);
}

bool gg__value_alias_shows(const gg_rule_input *in, TSNode node, TSNode yes, TSNode no) {
    if (gg__infer(in, yes).fresh && gg__infer(in, no).fresh) return false;
    gg_str name;
    if (!has_target(in, node, &name)) return !gg__is_consumed(in, node) && !gg__is_gathered(in, node);
    return gg__arms_alias_shows(in, gg__statement(node), yes, no, name);
}

bool gg__value_is_copy(const gg_rule_input *in, TSNode node, TSNode yes, TSNode no) {
    gg_str name;
    return has_target(in, node, &name) && gg__arms_are_copies(in, gg__statement(node), yes, no, name);
}
