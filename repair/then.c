/* A rule's edits, and behind them another one's.  See masks.h.
 *
 * DESIGN  The second rule sees the text that the first one's edits give, with the facts of the site: so nothing that they tell of may be bound between
 * the site and the branch.  What both change is given as one edit, of whole lines. */
#include "repair/masks.h"

/* Where what lies at the offset is behind the edits. */
static uint32_t moved(const gg_edits *edits, uint32_t offset) {
    int64_t at = offset;
    for (size_t i = 0; i < edits->list.len; i++) {
        const gg_edit *e = &edits->list.items[i];
        if (e->span.end <= offset) at += (int64_t)e->text.len - (int64_t)(e->span.end - e->span.start);
    }
    return (uint32_t)at;
}

/* The lines in which the texts differ, as one edit. */
void gg__add_difference(const gg_text *before, gg_str after, gg_arena *arena, gg_edits *out) {
    gg_str a = gg_text_bytes(before), b = after;
    size_t front = 0, back = 0;
    while (front < a.len && front < b.len && a.ptr[front] == b.ptr[front]) front++;
    while (front > 0 && a.ptr[front - 1] != '\n') front--;
    while (back < a.len - front && back < b.len - front && a.ptr[a.len - 1 - back] == b.ptr[b.len - 1 - back]) back++;
    while (back > 0 && a.ptr[a.len - back] != '\n') back--;
    gg_edits_add(out, (gg_span){(uint32_t)front, (uint32_t)(a.len - back)},
                 gg_arena_str(arena, gg_str_slice(b, front, b.len - back)));
}

bool gg__apply_one_of(const gg_rule_input *in, const char *const *codes, size_t count, gg_safety most, gg_arena *arena,
                      gg_text **text, bool *copies) {
    enum { MAX_OFFERS = 16 };
    const gg_rule *offers[MAX_OFFERS];
    size_t offered = gg_repair_offers(in, most, offers, MAX_OFFERS);
    bool done = false;
    for (size_t i = 0; i < offered && !done; i++) {
        gg_edits edits = {0};
        gg_error err = {0};
        gg_text *last = NULL;
        done = gg__is_one_of(gg_str_from(offers[i]->code), codes, count) &&
               gg_repair_edits(offers[i], in, arena, &edits, &err) == 0 &&
               gg_edits_apply(&last, *text, &edits, &err) == 0;
        if (done) {
            *copies = *copies || edits.copies;
            gg_text_unref(text);
            *text = gg_text_ref(last);
        }
        gg_text_unref(&last);
        gg_edits_clear(&edits);
    }
    return done;
}

bool gg__apply_at(const gg_rule_input *in, gg_tree *tree, gg_str id, gg_span span, const char *const *codes,
                  size_t count, gg_safety most, gg_arena *arena, gg_text **text, bool *copies) {
    gg_site site = *in->site;
    gg_rule_input then = *in;
    site.id = id;
    site.span = then.span = span;
    then.site = &site;
    then.tree = tree;
    then.hindrance = NULL; /* it would be told of another text */
    return gg__apply_one_of(&then, codes, count, most, arena, text, copies);
}

bool gg__edited(const gg_tree *tree, gg_edits *edits, gg_text **text, gg_tree **out) {
    gg_error err = {0};
    return gg_edits_sort(edits, &err) == 0 && gg_edits_apply(text, gg_tree_text(tree), edits, &err) == 0 &&
           gg_tree_parse(out, *text, NULL, NULL, 0, NULL, &err) == 0;
}

bool gg__then_select(const gg_rule_input *in, gg_edits *first, TSNode condition, gg_arena *arena, gg_edits *out) {
    static const char *const codes[] = {"GG002", "GG010", "GG011", "GG013", "GG045"};
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    gg_span at = gg_node_span(condition);
    bool done = gg__edited(in->tree, first, &text, &tree);
    at = (gg_span){moved(first, at.start), moved(first, at.end)};
    bool copies = false;
    done = done &&
           gg__apply_at(in, tree, GG_STR("GB0170"), at, codes, GG_COUNT(codes), GG_SAFETY_EXACT, arena, &text, &copies);
    if (done) gg__add_difference(gg_tree_text(in->tree), gg_text_bytes(text), arena, out);
    out->copies = out->copies || copies;
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return done;
}
