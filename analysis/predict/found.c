/* What is found: noted once for each place and rule, with what must hold for it to be met. */
#include "analysis/predict/predict.h"

enum { MAX_WORDS_BYTES = 60, MAX_FOUND = 500 };

static const struct rule_row {
    const char *name, *id, *text;
} rules[] = {
#define RULE(ordinal, name, id, text) {name, id, text},
#include "analysis/predict/rules.def"
#undef RULE
};

gg_str gg__text_of(gg__walk *w, TSNode node) {
    gg__touch(w, node);
    return gg_node_text(w->tree, node);
}

gg_str gg__node_words(gg__walk *w, TSNode node) {
    gg_str text = gg__text_of(w, node);
    gg_buf out;
    gg_buf_init(&out, MAX_WORDS_BYTES * 4);
    for (size_t i = 0; i < text.len && out.len < MAX_WORDS_BYTES; i++) {
        bool blank = text.ptr[i] == '\n' || text.ptr[i] == '\r' || text.ptr[i] == ' ' || text.ptr[i] == '\t';
        if (blank && out.len && out.ptr[out.len - 1] == ' ') continue;
        (void)gg_buf_append(&out, blank ? GG_STR(" ") : gg_str_slice(text, i, i + 1));
    }
    gg_str words = gg_buf_str(&out);
    bool cut = text.len > MAX_WORDS_BYTES && words.len >= MAX_WORDS_BYTES;
    words = gg_str_slice(words, 0, gg_utf8_valid_prefix(words));
    gg_str kept = cut ? gg_arena_printf(w->arena, "%.*s…", GG_STR_ARG(words)) : gg_arena_str(w->arena, words);
    gg_buf_clear(&out);
    return kept;
}

static gg_str guard_of(const gg__walk *w) {
    if (w->guard && w->guard->negated) return gg_arena_printf(w->arena, "not (%.*s)", GG_STR_ARG(w->guard->text));
    if (w->guard) return w->guard->text;
    for (const gg__frame *f = w->frame; f; f = f->caller) {
        if (f->skips_if.len) return f->skips_if;
        if (f->returns_if.len) return f->returns_if;
    }
    bool eager = w->frame && w->frame->eager;
    return eager ? GG_STR("what breaks in front of it is mended") : GG_STR_NULL;
}

void gg__note_eager(gg__walk *w) {
    if (w->quiet == 0 && !(w->guard && w->guard->unlikely)) w->frame->eager = true;
}

/* A break in a loop, or where an exception may be handled, leaves the whole function to Python, in each caller too.  One that may be met is
 * enough: what stands behind it is not certain then. */
static void leave_to_python(gg__walk *w) {
    for (gg__frame *f = w->frame; f; f = f->caller) f->eager = f->eager || f->loops || f->shelters;
}

static gg_str message_of(gg__walk *w, const struct rule_row *row, TSNode node) {
    gg_str text = gg_str_from(row->text);
    size_t at = gg_str_find(text, GG_STR("%s"), 0);
    if (at == SIZE_MAX) return text;
    return gg_arena_printf(w->arena, "%.*s%.*s%.*s", (int)at, text.ptr, GG_STR_ARG(gg__node_words(w, node)),
                           GG_STR_ARG(gg_str_slice(text, at + 2, text.len)));
}

static gg__value handed_on(gg__walk *w, gg__value value, unsigned depth) {
    if (gg__is_tensor(&value)) value.handed_on = true;
    if (value.kind != GG__SEQUENCE || depth > 3) return value;
    if (value.of) value.of = gg__keep(w, handed_on(w, *value.of, depth + 1));
    if (value.items == NULL) return value;
    gg__value *items = GG_ARENA_ARRAY(w->arena, gg__value, value.item_count + 1);
    for (uint32_t i = 0; i < value.item_count; i++) items[i] = handed_on(w, value.items[i], depth + 1);
    value.items = items;
    return value;
}

/* Behind a break a graph begins anew: what names stand for here, and in the callers, comes into it as it is. */
static void hand_on(gg__walk *w) {
    for (gg__frame *f = w->frame; f && f->caller; f = f->caller)
        for (uint32_t i = 0; i < f->scope->len; i++)
            f->scope->items[i].value = handed_on(w, f->scope->items[i].value, 0);
}

void gg__found_beyond(gg__walk *w, gg__rule rule, TSNode node) {
    const struct rule_row *row = &rules[rule];
    gg_span span = gg_node_span(node);
    for (size_t i = 0; i < w->found.len; i++)
        if (w->found.items[i].prediction.span.start == span.start && w->found.items[i].prediction.span.end == span.end)
            return;
    gg__finding out = {.prediction = {.id = gg_str_from(row->id),
                                      .rule = gg_str_from(row->name),
                                      .span = span,
                                      .beyond = true,
                                      .message = message_of(w, row, node)}};
    if (w->found.len < MAX_FOUND) gg_list_push(&w->found, out);
}

void gg__found(gg__walk *w, gg__rule rule, const char *id, TSNode node, const gg__value *because) {
    if (w->quiet || (w->only_tensors && because == NULL)) return;
    const struct rule_row *row = &rules[rule];
    gg_str guard = guard_of(w);
    gg__finding out = {.prediction = {.id = gg_str_from(id ? id : row->id),
                                      .rule = gg_str_from(row->name),
                                      .span = gg_node_span(node),
                                      .certain = w->guard == NULL && guard.len == 0,
                                      .guard = guard},
                       .confirmed = because ? because->confirmed : NULL,
                       .only_confirmed = w->only_tensors};
    if (because &&
        because->maybe_none) { /* it is asked for as if it were one; code that is never run with None says so */
        out.prediction.certain = false;
        if (guard.len == 0) out.prediction.guard = GG_STR("it is not None");
    }
    if (w->guard == NULL || !w->guard->unlikely) {
        leave_to_python(w);
        hand_on(w);
    }
    for (const gg__frame *f = w->frame; f; f = f->caller)
        out.prediction.in_loop = out.prediction.in_loop || f->loops > 0;
    for (size_t i = 0; i < w->found.len; i++) {
        gg__finding *same = &w->found.items[i];
        if (same->prediction.span.start != out.prediction.span.start ||
            same->prediction.span.end != out.prediction.span.end ||
            !gg_str_equal(same->prediction.rule, out.prediction.rule))
            continue;
        bool in_loop = same->prediction.in_loop || out.prediction.in_loop;
        if (out.prediction.certain && (!same->prediction.certain || out.confirmed == NULL)) {
            out.prediction.message = same->prediction.message;
            *same = out;
        }
        same->prediction.in_loop = in_loop;
        return;
    }
    out.prediction.message = message_of(w, row, node);
    if (w->found.len < MAX_FOUND) gg_list_push(&w->found, out);
}
