/* gg_tree: a syntax tree and the text it was parsed from; incremental, cancellable.
 *
 * DESIGN: the changes since the old tree are merged into disjoint hunks (old range, new length).  tree-sitter is told of them
 * from the last to the first, so that everything before a hunk is still the old text and each point can be computed from
 * the old and the new text alone; the texts in between need not exist.
 * Threads: trees are immutable, but for what is counted on first use; parsers come from a lock-free pool.  Any thread. */
#include <stdatomic.h>
#include <string.h>

#include "analysis/costs.h"
#include "analysis/private.h"

const TSLanguage *tree_sitter_python(void);

struct gg_tree {
    atomic_uint refs;
    atomic_uint levels; /* gg_tree_levels; 0: not counted yet */
    TSTree *ts;
    gg_text *text;
    uint64_t before;     /* serial of the text that an edit made this one of; 0: none */
    uint32_t head, tail; /* what they have in common */
};

/* ---- parser pool ---- */
static _Atomic(TSParser *) pool[GG__PARSER_POOL];

static TSParser *parser_take(gg_error *err) {
    for (size_t i = 0; i < GG_COUNT(pool); i++) {
        TSParser *parser = atomic_exchange(&pool[i], NULL);
        if (parser != NULL) return parser;
    }
    TSParser *parser = ts_parser_new();
    if (!ts_parser_set_language(parser, tree_sitter_python())) {
        ts_parser_delete(parser);
        gg_fail(err, GG_EINTERNAL, "the Python grammar does not fit this tree-sitter");
        return NULL;
    }
    return parser;
}

static void parser_give_back(TSParser *parser) {
    for (size_t i = 0; i < GG_COUNT(pool); i++) {
        TSParser *empty = NULL;
        if (atomic_compare_exchange_strong(&pool[i], &empty, parser)) return;
    }
    ts_parser_delete(parser);
}

/* ---- changes → hunks ---- */
typedef struct hunk {
    gg_span old;      /* in the text of the old tree */
    uint32_t new_len; /* what stands there now */
} hunk;
typedef GG_LIST(hunk) hunks; /* sorted, disjoint and not even touching */

static void hunk_add(hunks *list, gg_change change) {
    size_t i = 0;
    int64_t delta = 0; /* current offset minus old offset, after the hunks passed */
    while (i < list->len) {
        int64_t now_end = (int64_t)list->items[i].old.start + delta + list->items[i].new_len;
        if (now_end >= change.span.start) break;
        delta += (int64_t)list->items[i].new_len - (list->items[i].old.end - list->items[i].old.start);
        i++;
    }
    hunk merged = {{(uint32_t)(change.span.start - delta), 0}, change.new_len};
    size_t first = i;
    int64_t end = change.span.end;
    bool end_inside = false;
    for (; i < list->len; i++) {
        hunk h = list->items[i];
        int64_t now_start = h.old.start + delta, now_end = now_start + h.new_len;
        if (now_start > end) break;
        if (now_start < change.span.start) {
            merged.old.start = h.old.start;
            merged.new_len += (uint32_t)(change.span.start - now_start);
        }
        delta += (int64_t)h.new_len - (h.old.end - h.old.start);
        if (now_end > end) {
            merged.new_len += (uint32_t)(now_end - end);
            merged.old.end = h.old.end;
            end_inside = true;
        }
    }
    if (!end_inside) merged.old.end = (uint32_t)(end - delta);
    if (i == first) {
        gg_list_push(list, merged);
        memmove(&list->items[first + 1], &list->items[first], (list->len - 1 - first) * sizeof(hunk));
    } else {
        memmove(&list->items[first + 1], &list->items[i], (list->len - i) * sizeof(hunk));
        list->len -= i - first - 1;
    }
    list->items[first] = merged;
}

/* The point after `content`, when it begins at `start`. */
static TSPoint point_after(TSPoint start, gg_str content) {
    uint32_t last = 0;
    TSPoint end = start;
    for (uint32_t i = 0; i < content.len; i++) {
        if (content.ptr[i] != '\n') continue;
        end.row++;
        last = i + 1;
    }
    end.column = (end.row == start.row ? start.column : 0) + (uint32_t)content.len - last;
    return end;
}

/* Tells the copied tree of every hunk, last first.  False when the changes do not lead from the old text to the new one. */
static bool edit_tree(TSTree *tree, const gg_text *old, const gg_text *text, const hunks *list) {
    gg_str now = gg_text_bytes(text);
    int64_t delta = 0;
    for (size_t i = 0; i < list->len; i++) {
        if (list->items[i].old.end > gg_text_bytes(old).len || list->items[i].old.start > list->items[i].old.end)
            return false;
        delta += (int64_t)list->items[i].new_len - (list->items[i].old.end - list->items[i].old.start);
    }
    if ((int64_t)gg_text_bytes(old).len + delta != (int64_t)now.len) return false;
    for (size_t i = list->len; i-- > 0;) {
        hunk h = list->items[i];
        delta -= (int64_t)h.new_len - (h.old.end - h.old.start);
        uint32_t new_start = (uint32_t)(h.old.start + delta);
        TSPoint start = gg__text_point(old, h.old.start);
        TSInputEdit edit = {
            .start_byte = h.old.start,
            .old_end_byte = h.old.end,
            .new_end_byte = h.old.start + h.new_len,
            .start_point = start,
            .old_end_point = gg__text_point(old, h.old.end),
            .new_end_point = point_after(start, gg_str_slice(now, new_start, new_start + h.new_len)),
        };
        ts_tree_edit(tree, &edit);
    }
    return true;
}

/* ---- parsing ---- */
static const char *read_text(void *payload, uint32_t byte, TSPoint point, uint32_t *bytes_read) {
    (void)point;
    gg_str rest = gg_text_bytes(payload);
    rest = gg_str_slice(rest, byte, rest.len);
    *bytes_read = (uint32_t)rest.len;
    return rest.len > 0 ? rest.ptr : "";
}

static bool is_canceled(TSParseState *state) {
    const atomic_bool *cancel = state->payload;
    return cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

int gg_tree_parse(gg_tree **out, const gg_text *text, const gg_tree *old, const gg_change *changes, size_t change_count,
                  const atomic_bool *cancel, gg_error *err) {
    *out = NULL;
    TSTree *base = NULL;
    hunks list = {0};
    int rc = 0;
    if (old != NULL) {
        for (size_t i = 0; i < change_count; i++) hunk_add(&list, changes[i]);
        base = ts_tree_copy(old->ts);
        if (GG_NEVER(!edit_tree(base, old->text, text, &list))) {
            ts_tree_delete(base); /* a wrong edit would give a wrong tree: parse it all */
            base = NULL;
        }
    }
    TSParser *parser = parser_take(err);
    if (parser == NULL) {
        rc = GG_EINTERNAL;
        goto cleanup;
    }
    TSInput input = {.payload = (void *)text, .read = read_text, .encoding = TSInputEncodingUTF8};
    TSParseOptions options = {.payload = (void *)cancel, .progress_callback = is_canceled};
    TSTree *parsed = ts_parser_parse_with_options(parser, base, input, options);
    ts_parser_reset(parser);
    parser_give_back(parser);
    if (parsed == NULL) {
        rc = gg_fail(err, GG_ECANCELED, "parsing was canceled");
        goto cleanup;
    }
    gg_tree *tree = gg_calloc(1, sizeof(*tree));
    atomic_init(&tree->refs, 1);
    atomic_init(&tree->levels, 0);
    tree->ts = parsed;
    tree->text = gg_text_ref(text);
    if (base && list.len) {
        tree->before = gg__text_serial(old->text);
        tree->head = list.items[0].old.start;
        tree->tail = (uint32_t)gg_text_bytes(old->text).len - list.items[list.len - 1].old.end;
    }
    *out = tree;

cleanup:
    if (base != NULL) ts_tree_delete(base);
    gg_list_clear(&list);
    return rc;
}

void gg_trees_in_slabs(void) {
    ts_set_allocator(gg_slab_malloc, gg_slab_calloc, gg_slab_realloc, gg_slab_free);
}

gg_tree *gg_tree_ref(const gg_tree *tree) {
    gg_tree *shared = (gg_tree *)tree; /* the count is the one part of a tree that changes */
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void gg_tree_unref(gg_tree **tree) {
    gg_tree *t = *tree;
    *tree = NULL;
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    ts_tree_delete(t->ts);
    gg_text_unref(&t->text);
    gg_free(t);
}

bool gg_tree_unref_shared(gg_tree **tree) {
    unsigned refs = atomic_load_explicit(&(*tree)->refs, memory_order_relaxed);
    while (refs > 1) {
        if (!atomic_compare_exchange_weak_explicit(&(*tree)->refs, &refs, refs - 1, memory_order_acq_rel,
                                                   memory_order_relaxed))
            continue;
        *tree = NULL;
        return true;
    }
    return false;
}

bool gg__tree_kept(const gg_tree *tree, const gg_text *before, uint32_t *head, uint32_t *tail) {
    *head = tree->head;
    *tail = tree->tail;
    return tree->before == gg__text_serial(before);
}

const gg_text *gg_tree_text(const gg_tree *tree) {
    return tree->text;
}

TSNode gg_tree_root(const gg_tree *tree) {
    return ts_tree_root_node(tree->ts);
}

bool gg_tree_has_error(const gg_tree *tree) {
    return ts_node_has_error(gg_tree_root(tree));
}

static unsigned count_levels(TSNode root) {
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    unsigned level = 1, most = 1;
    for (;;) {
        if (ts_tree_cursor_goto_first_child(&cursor)) {
            if (++level > most) most = level;
            continue;
        }
        while (level > 1 && !ts_tree_cursor_goto_next_sibling(&cursor)) {
            (void)ts_tree_cursor_goto_parent(&cursor);
            level--;
        }
        if (level == 1) break;
    }
    ts_tree_cursor_delete(&cursor);
    return most;
}

unsigned gg_tree_levels(const gg_tree *tree) {
    gg_tree *shared = (gg_tree *)tree;
    unsigned levels = atomic_load_explicit(&shared->levels, memory_order_relaxed);
    if (levels == 0) {
        levels = count_levels(gg_tree_root(tree));
        atomic_store_explicit(&shared->levels, levels, memory_order_relaxed);
    }
    return levels;
}

gg_span gg_node_span(TSNode node) {
    if (ts_node_is_null(node)) return (gg_span){0, 0};
    return (gg_span){ts_node_start_byte(node), ts_node_end_byte(node)};
}

gg_str gg_node_text(const gg_tree *tree, TSNode node) {
    return gg_text_slice(tree->text, gg_node_span(node));
}

bool gg_node_is(TSNode node, const char *type) {
    return !ts_node_is_null(node) && strcmp(ts_node_type(node), type) == 0;
}

TSNode gg_node_at(const gg_tree *tree, gg_span span) {
    if (span.end < span.start) span.end = span.start;
    TSNode root = gg_tree_root(tree);
    TSNode node = ts_node_named_descendant_for_byte_range(root, span.start, span.end);
    return ts_node_is_null(node) ? root : node;
}

TSNode gg_node_ancestor(TSNode node, const char *type) {
    while (!ts_node_is_null(node) && !gg_node_is(node, type)) node = ts_node_parent(node);
    return node;
}
