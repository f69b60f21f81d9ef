/* Two texts compared by lines.  The common head and tail are set aside first; what is left is small in practice, and is compared by the
 * longest common subsequence (bounded: beyond the bound it counts as one replacement).  Any thread. */
#include "repair/gg_repair.h"

enum { MAX_CELLS = 16 * 1024 * 1024 };

gg_str gg_line_with_end(const gg_text *text, uint32_t line) {
    return gg_text_slice(text, (gg_span){gg_text_line_start(text, line), gg_text_line_start(text, line + 1)});
}

/* Lines a diff knows: an empty last one is none. */
static uint32_t count_lines(const gg_text *text) {
    uint32_t n = gg_text_line_count(text);
    return n && gg_line_with_end(text, n - 1).len == 0 ? n - 1 : n;
}

static bool same(const gg_text *a, uint32_t i, const gg_text *b, uint32_t j) {
    return gg_str_equal(gg_line_with_end(a, i), gg_line_with_end(b, j));
}

static void emit(gg_line_ops *out, char kind, uint32_t line) {
    gg_line_op o = {kind, line};
    gg_list_push(out, o);
}

static void middle(gg_line_ops *out, const gg_text *a, uint32_t a0, uint32_t a1, const gg_text *b, uint32_t b0,
                   uint32_t b1) {
    size_t n = a1 - a0, m = b1 - b0, width = m + 1;
    if ((n + 1) * width > MAX_CELLS) {
        for (uint32_t i = a0; i < a1; i++) emit(out, '-', i);
        for (uint32_t j = b0; j < b1; j++) emit(out, '+', j);
        return;
    }
    uint32_t *length = gg_calloc((n + 1) * width, sizeof(uint32_t)); /* of the subsequence of the rests */
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            uint32_t down = length[(i + 1) * width + j], right = length[i * width + j + 1];
            length[i * width + j] = same(a, a0 + (uint32_t)i, b, b0 + (uint32_t)j) ? length[(i + 1) * width + j + 1] + 1
                                    : down >= right                                ? down
                                                                                   : right;
        }
    size_t i = 0, j = 0;
    while (i < n || j < m) {
        if (i < n && j < m && same(a, a0 + (uint32_t)i, b, b0 + (uint32_t)j)) {
            emit(out, ' ', a0 + (uint32_t)i++);
            j++;
        } else if (i < n && (j == m || length[(i + 1) * width + j] >= length[i * width + j + 1])) {
            emit(out, '-', a0 + (uint32_t)i++);
        } else {
            emit(out, '+', b0 + (uint32_t)j++);
        }
    }
    gg_free(length);
}

void gg_lines_compare(gg_line_ops *out, const gg_text *before, const gg_text *after) {
    uint32_t n = count_lines(before), m = count_lines(after), head = 0, tail = 0;
    while (head < n && head < m && same(before, head, after, head)) head++;
    while (tail < n - head && tail < m - head && same(before, n - 1 - tail, after, m - 1 - tail)) tail++;
    for (uint32_t i = 0; i < head; i++) emit(out, ' ', i);
    middle(out, before, head, n - tail, after, head, m - tail);
    for (uint32_t i = n - tail; i < n; i++) emit(out, ' ', i);
}

void gg_edits_between(gg_edits *out, const gg_text *before, const gg_text *after) {
    gg_line_ops all = {0};
    gg_lines_compare(&all, before, after);
    uint32_t old = 0, fresh = 0; /* lines passed in each */
    for (size_t i = 0; i < all.len;) {
        if (all.items[i].kind == ' ') {
            i++, old++, fresh++;
            continue;
        }
        uint32_t old_end = old, fresh_end = fresh;
        for (; i < all.len && all.items[i].kind != ' '; i++) all.items[i].kind == '-' ? old_end++ : fresh_end++;
        gg_span text = {gg_text_line_start(after, fresh), gg_text_line_start(after, fresh_end)};
        gg_edits_add(out, (gg_span){gg_text_line_start(before, old), gg_text_line_start(before, old_end)},
                     gg_text_slice(after, text));
        old = old_end;
        fresh = fresh_end;
    }
    gg_list_clear(&all);
}
