/* gg_draft: a text while changes are made to it.
 *
 * DESIGN: the bytes are a gap buffer, and so is the line index, whose entries behind the gap count from the end of the text: a change costs
 * the bytes and lines between it and the one before it, however long the text is, so that a thousand changes in one message (replace all) cost
 * little more than one.
 *
 *   bytes   [ 0 … gap | unused | gap … len )            starts   [ from the text's begin | unused | from its end ]
 *
 * Until the first change they are the text's own; that change copies them to where they are to be, since mostly it is the only one.
 *
 * Whether a line starts at s depends on bytes s-1 and s only, so a replacement keeps the starts before and behind it and scans just what is
 * new.  UTF-8 is checked once, for what is new.
 * Threads: one owner at a time. */
#include <string.h>

#include "analysis/private.h"

enum { ROOM_BYTES = 4096, ROOM_LINES = 64 };

struct gg_draft {
    gg_text *text; /* whose bytes and starts these are; NULL: they are ours */
    char *bytes;
    uint32_t len, gap, unused; /* behind them is room for a NUL */
    uint32_t *starts;
    uint32_t front, back, line_cap; /* front of them ascend from starts[0], back of them end at starts[line_cap] */
    gg__text_facts facts;
};

gg_draft *gg_draft_new(const gg_text *text) {
    gg_draft *d = gg_calloc(1, sizeof(*d));
    gg_str bytes = gg_text_bytes(text);
    d->text = gg_text_ref(text);
    d->bytes = (char *)(uintptr_t)bytes.ptr;
    d->len = d->gap = (uint32_t)bytes.len;
    d->front = d->line_cap = gg_text_line_count(text);
    d->starts = (uint32_t *)(uintptr_t)gg__text_starts(text, &d->facts);
    return d;
}

void gg_draft_free(gg_draft *d) {
    if (d == NULL) return;
    if (d->text == NULL) {
        gg_free(d->bytes);
        gg_free(d->starts);
    }
    gg_text_unref(&d->text);
    gg_free(d);
}

/* From now on bytes and starts are ours, with a gap at `at`: where `removed` bytes are about to make room for so many. */
static void own(gg_draft *d, uint32_t at, uint32_t removed, size_t room) {
    const char *bytes = d->bytes;
    const uint32_t *starts = d->starts;
    d->unused = room > removed ? (uint32_t)(room - removed) : 0;
    d->bytes = gg_malloc((size_t)d->len + d->unused + 1);
    memcpy(d->bytes, bytes, at);
    memcpy(d->bytes + at + d->unused, bytes + at, d->len - at);
    d->gap = at;
    d->line_cap = d->front + ROOM_LINES;
    d->starts = gg_malloc(d->line_cap * sizeof(*d->starts));
    memcpy(d->starts, starts, d->front * sizeof(*d->starts));
    gg_text_unref(&d->text);
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------- */

static char byte_at(const gg_draft *d, uint32_t at) {
    return d->bytes[at < d->gap ? at : at + d->unused];
}

static void move_gap(gg_draft *d, uint32_t to) {
    if (d->unused && to < d->gap)
        memmove(d->bytes + to + d->unused, d->bytes + to, d->gap - to);
    else if (d->unused)
        memmove(d->bytes + d->gap, d->bytes + d->gap + d->unused, to - d->gap);
    d->gap = to;
}

static void want_bytes(gg_draft *d, uint32_t extra) {
    if (extra <= d->unused) return;
    uint32_t more = extra + ROOM_BYTES + d->len / 8;
    uint32_t tail = d->len - d->gap;
    d->bytes = gg_realloc(d->bytes, (size_t)d->len + d->unused + more + 1);
    memmove(d->bytes + d->gap + d->unused + more, d->bytes + d->gap + d->unused, tail);
    d->unused += more;
}

uint32_t gg_draft_len(const gg_draft *draft) {
    return draft->len;
}

gg_str gg_draft_slice(gg_draft *d, gg_span span) {
    if (d->gap > span.start && d->gap < span.end) move_gap(d, span.start);
    return (gg_str){d->bytes + span.start + (span.start >= d->gap ? d->unused : 0), span.end - span.start};
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

static uint32_t start_of(const gg_draft *d, uint32_t line) {
    return line < d->front ? d->starts[line] : d->len - d->starts[d->line_cap - d->front - d->back + line];
}

static uint32_t line_of(const gg_draft *d, uint32_t offset) {
    uint32_t low = 0, high = d->front + d->back; /* start(low) <= offset < start(high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (start_of(d, middle) <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint32_t line_end(const gg_draft *d, uint32_t line) {
    if (line + 1 >= d->front + d->back) return d->len;
    uint32_t start = start_of(d, line), end = start_of(d, line + 1) - 1;
    if (end > start && byte_at(d, end) == '\n' && byte_at(d, end - 1) == '\r') end--;
    return end;
}

static void move_lines(gg_draft *d, uint32_t front) {
    for (; d->front < front; d->back--) {
        uint32_t start = d->len - d->starts[d->line_cap - d->back];
        d->starts[d->front++] = start;
    }
    while (d->front > front) {
        uint32_t from_end = d->len - d->starts[--d->front];
        d->back++;
        d->starts[d->line_cap - d->back] = from_end;
    }
}

static void push_line(gg_draft *d, uint32_t start) {
    if (d->front + d->back == d->line_cap) {
        uint32_t cap = d->line_cap + d->line_cap / 2 + ROOM_LINES;
        d->starts = gg_realloc(d->starts, cap * sizeof(*d->starts));
        memmove(d->starts + cap - d->back, d->starts + d->line_cap - d->back, d->back * sizeof(*d->starts));
        d->line_cap = cap;
    }
    d->starts[d->front++] = start;
}

/* Drops the starts in [first, last] of the old text, but for 0. */
static void cut_lines(gg_draft *d, gg_span span) {
    uint32_t kept = line_of(d, span.start), behind = line_of(d, span.end) + 1;
    if (kept == 0 || start_of(d, kept) < span.start) kept++;
    move_lines(d, kept);
    d->back -= behind - kept;
}

/* Finds the starts s with from < s <= to; the gap is at `to`. */
static void scan_lines(gg_draft *d, uint32_t from, uint32_t to) {
    const char *at = d->bytes + from, *end = d->bytes + to;
    if (memchr(at, '\r', to - from) == NULL) {
        while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) push_line(d, (uint32_t)(++at - d->bytes));
        return;
    }
    d->facts.maybe_cr = true;
    for (uint32_t s = from + 1; s <= to; s++) {
        bool cr = d->bytes[s - 1] == '\r' && !(s < d->len && byte_at(d, s) == '\n');
        if (cr || d->bytes[s - 1] == '\n') push_line(d, s);
        if (cr) d->facts.maybe_lone_cr = true;
    }
}

/* ---- changes -------------------------------------------------------------------------------------------------------- */

uint32_t gg_draft_offset(gg_draft *d, gg_position position, gg_encoding encoding) {
    if (position.line >= d->front + d->back) return d->len;
    uint32_t start = start_of(d, position.line);
    gg_str line = gg_draft_slice(d, (gg_span){start, line_end(d, position.line)});
    return start + gg__line_offset(line, position.character, encoding);
}

static bool is_boundary(const gg_draft *d, uint32_t offset) {
    return offset == d->len || ((unsigned char)byte_at(d, offset) & 0xC0u) != 0x80u;
}

bool gg_draft_over_lines(const gg_draft *draft, gg_span span) {
    return line_of(draft, span.start) != line_of(draft, span.end);
}

int gg_draft_replace(gg_draft *d, gg_span span, gg_str with, gg_error *err) {
    if (span.start > span.end || span.end > d->len || !is_boundary(d, span.start) || !is_boundary(d, span.end))
        return gg_fail(err, GG_EPARAMS, "bytes %u to %u are no range of a document of %u bytes", span.start, span.end,
                       d->len);
    uint32_t removed = span.end - span.start;
    size_t len = d->len - removed + with.len;
    if (len > GG_MAX_DOCUMENT_BYTES)
        return gg_fail(err, GG_ETOOBIG, "a document of %zu bytes is over the limit of %u", len, GG_MAX_DOCUMENT_BYTES);
    int rc = gg__check_utf8(with, span.start, line_of(d, span.start) + 1, err);
    if (rc != 0) return rc;

    d->facts.ascii = d->facts.ascii && gg__is_ascii(with);
    if (d->text) own(d, span.start, removed, with.len);
    cut_lines(d, span);
    move_gap(d, span.start);
    d->len -= removed;
    d->unused += removed;
    want_bytes(d, (uint32_t)with.len);
    if (with.len > 0) memcpy(d->bytes + d->gap, with.ptr, with.len);
    d->gap += (uint32_t)with.len;
    d->unused -= (uint32_t)with.len;
    d->len += (uint32_t)with.len;
    scan_lines(d, span.start > 0 ? span.start - 1 : 0, d->gap);
    return 0;
}

bool gg_draft_equals(const gg_draft *d, gg_str bytes) {
    return bytes.len == d->len && memcmp(d->bytes, bytes.ptr, d->gap) == 0 &&
           memcmp(d->bytes + d->gap + d->unused, bytes.ptr + d->gap, d->len - d->gap) == 0;
}

gg_text *gg_draft_finish(gg_draft *d) {
    if (d->text) {
        gg_text *same = d->text;
        gg_free(d);
        return same;
    }
    move_gap(d, d->len);
    move_lines(d, d->front + d->back);
    d->bytes[d->len] = '\0';
    gg_text *text = gg__text_new_take(d->bytes, d->len, d->starts, d->front, d->facts);
    gg_free(d);
    return text;
}
