/* gg_text: immutable bytes and the line index of one version of a document.
 *
 * DESIGN: an edit makes a new text (draft.c), so readers never lock.
 * Threads: immutable and reference counted; any thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/private.h"

struct gg_text {
    atomic_uint refs;
    uint64_t serial;
    uint32_t len, line_count;
    gg__text_facts facts;
    char *bytes;      /* NUL-terminated for convenience; may hold NULs itself */
    uint32_t *starts; /* line_count of them; starts[0] is 0 */
};

typedef GG_LIST(uint32_t) offsets;

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xC0u) == 0x80u;
}

static void scan_lines(offsets *starts, gg__text_facts *facts, gg_str bytes) {
    const char *at = bytes.ptr, *end = bytes.ptr + bytes.len;
    if (memchr(at, '\r', bytes.len) == NULL) {
        while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
            at++;
            gg_list_push(starts, (uint32_t)(at - bytes.ptr));
        }
        return;
    }
    facts->maybe_cr = true;
    for (uint32_t s = 1; s <= bytes.len; s++) {
        char before = bytes.ptr[s - 1];
        bool cr = before == '\r' && !(s < bytes.len && bytes.ptr[s] == '\n');
        if (before == '\n' || cr) gg_list_push(starts, s);
        if (cr) facts->maybe_lone_cr = true;
    }
}

bool gg__is_ascii(gg_str bytes) {
    unsigned char all = 0;
    for (size_t i = 0; i < bytes.len; i++) all |= (unsigned char)bytes.ptr[i];
    return all < 0x80;
}

gg_text *gg__text_new_take(char *bytes, uint32_t len, uint32_t *starts, uint32_t line_count, gg__text_facts facts) {
    static atomic_uint_fast64_t last;
    gg_text *text = gg_calloc(1, sizeof(*text));
    atomic_init(&text->refs, 1);
    text->serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    text->bytes = bytes;
    text->len = len;
    text->starts = starts;
    text->line_count = line_count;
    text->facts = facts;
    return text;
}

int gg__check_utf8(gg_str bytes, size_t base_offset, size_t line, gg_error *err) {
    size_t valid = gg_utf8_valid_prefix(bytes);
    if (valid == bytes.len) return 0;
    for (size_t i = 0; i < valid; i++) line += bytes.ptr[i] == '\n';
    return gg_fail(err, GG_EPARAMS, "not UTF-8: byte 0x%02x at offset %zu (line %zu)", (unsigned char)bytes.ptr[valid],
                   base_offset + valid, line);
}

int gg_text_new(gg_text **out, gg_str bytes, gg_error *err) {
    *out = NULL;
    if (bytes.len > GG_MAX_DOCUMENT_BYTES)
        return gg_fail(err, GG_ETOOBIG, "a document of %zu bytes is over the limit of %u", bytes.len,
                       GG_MAX_DOCUMENT_BYTES);
    int rc = gg__check_utf8(bytes, 0, 1, err);
    if (rc != 0) return rc;
    char *copy = gg_malloc(bytes.len + 1);
    if (bytes.len > 0) memcpy(copy, bytes.ptr, bytes.len);
    copy[bytes.len] = '\0';
    offsets starts = {0};
    gg__text_facts facts = {.ascii = gg__is_ascii(bytes)};
    gg_list_push(&starts, 0);
    scan_lines(&starts, &facts, (gg_str){copy, bytes.len});
    *out = gg__text_new_take(copy, (uint32_t)bytes.len, starts.items, (uint32_t)starts.len, facts);
    return 0;
}

/* Reads at most max + 1 bytes, so that a file that grows meanwhile is still noticed to be too big. */
static int read_all(int fd, gg_buf *into) {
    char chunk[1 << 16];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got == 0) return 0;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return GG_EIO;
        int rc = gg_buf_append(into, (gg_str){chunk, (size_t)got});
        if (rc != 0) return rc;
    }
}

int gg_text_read(gg_text **out, const char *path, gg_error *err) {
    *out = NULL;
    gg_buf bytes;
    gg_buf_init(&bytes, GG_MAX_DOCUMENT_BYTES);
    int rc;
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int code = errno == ENOENT || errno == ENOTDIR ? GG_ENOTFOUND : GG_EIO;
        rc = gg_fail(err, code, "%s: %s", path, strerror(errno));
        goto cleanup;
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        rc = gg_fail(err, GG_EIO, "%s: not a regular file", path);
        goto cleanup;
    }
    rc = read_all(fd, &bytes);
    if (rc == GG_ETOOBIG) {
        gg_fail(err, rc, "%s: over the limit of %u bytes", path, GG_MAX_DOCUMENT_BYTES);
        goto cleanup;
    }
    if (rc != 0) {
        gg_fail(err, rc, "%s: %s", path, strerror(errno));
        goto cleanup;
    }
    gg_error why;
    rc = gg_text_new(out, gg_buf_str(&bytes), &why);
    if (rc != 0) gg_fail(err, rc, "%s: %s", path, why.message);

cleanup:
    if (fd >= 0) close(fd);
    gg_buf_clear(&bytes);
    return rc;
}

gg_text *gg_text_ref(const gg_text *text) {
    gg_text *shared = (gg_text *)text; /* the count is the one part of a text that changes */
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void gg_text_unref(gg_text **text) {
    gg_text *t = *text;
    *text = NULL;
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    gg_free(t->bytes);
    gg_free(t->starts);
    gg_free(t);
}

uint64_t gg__text_serial(const gg_text *text) {
    return text->serial;
}

gg_str gg_text_bytes(const gg_text *text) {
    return (gg_str){text->bytes, text->len};
}

gg_str gg_text_slice(const gg_text *text, gg_span span) {
    return gg_str_slice(gg_text_bytes(text), span.start, span.end);
}

const uint32_t *gg__text_starts(const gg_text *text, gg__text_facts *facts) {
    *facts = text->facts;
    return text->starts;
}

uint32_t gg_text_line_count(const gg_text *text) {
    return text->line_count;
}

uint32_t gg_text_line_start(const gg_text *text, uint32_t line) {
    return line < text->line_count ? text->starts[line] : text->len;
}

/* End of the line's content, before its terminator. */
static uint32_t line_end(const gg_text *text, uint32_t line) {
    if (line + 1 >= text->line_count) return text->len;
    uint32_t start = text->starts[line], end = text->starts[line + 1] - 1;
    if (text->facts.maybe_cr && end > start && text->bytes[end] == '\n' && text->bytes[end - 1] == '\r') end--;
    return end;
}

gg_str gg_text_line(const gg_text *text, uint32_t line) {
    if (line >= text->line_count) return GG_STR_NULL;
    return gg_text_slice(text, (gg_span){text->starts[line], line_end(text, line)});
}

/* The line that offset lies in. */
static uint32_t line_of(const gg_text *text, uint32_t offset) {
    uint32_t low = 0, high = text->line_count; /* starts[low] <= offset < starts[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (text->starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The same, looked for from a line on. */
static uint32_t line_near(const gg_text *text, uint32_t offset, uint32_t line) {
    enum { NEAR_LINES = 16 };
    if (line >= text->line_count || text->starts[line] > offset) return line_of(text, offset);
    for (uint32_t last = line + NEAR_LINES; line < last; line++)
        if (line + 1 >= text->line_count || text->starts[line + 1] > offset) return line;
    return line_of(text, offset);
}

uint32_t gg__text_boundary(const gg_text *text, uint32_t offset) {
    if (offset >= text->len) return text->len;
    if (text->facts.ascii) return offset;
    while (offset > 0 && is_continuation(text->bytes[offset])) offset--;
    return offset;
}

/* Bytes of the code point that starts with c, and its length in the encoding's units. */
static uint32_t code_point_bytes(char c) {
    unsigned char lead = (unsigned char)c;
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static uint32_t code_point_units(uint32_t bytes, gg_encoding encoding) {
    switch (encoding) {
    case GG_UTF8:
        return bytes;
    case GG_UTF16:
        return bytes == 4 ? 2 : 1;
    case GG_UTF32:
        return 1;
    }
    return 1;
}

uint32_t gg__line_offset(gg_str line, uint32_t character, gg_encoding encoding) {
    uint32_t at = 0, left = character;
    if (encoding == GG_UTF8) {
        if (left >= line.len) return (uint32_t)line.len;
        while (left > 0 && is_continuation(line.ptr[left])) left--;
        return left;
    }
    while (at < line.len && left > 0) {
        uint32_t bytes = code_point_bytes(line.ptr[at]);
        uint32_t units = code_point_units(bytes, encoding);
        if (units > left) break; /* in the middle of a code point: its start */
        left -= units;
        at += bytes;
    }
    return at;
}

uint32_t gg_text_offset(const gg_text *text, gg_position position, gg_encoding encoding) {
    if (position.line >= text->line_count) return text->len;
    return text->starts[position.line] +
           gg__line_offset(gg_text_line(text, position.line), position.character, encoding);
}

/* Of an offset in the line, which splits no code point. */
static gg_position position_in(const gg_text *text, uint32_t line, uint32_t offset, gg_encoding encoding) {
    bool in_terminator = line + 1 < text->line_count && offset + 2 > text->starts[line + 1];
    uint32_t character = 0;
    if (in_terminator && offset > line_end(text, line)) offset = line_end(text, line);
    if (encoding == GG_UTF8 || text->facts.ascii) return (gg_position){line, offset - text->starts[line]};
    for (uint32_t at = text->starts[line]; at < offset;) {
        uint32_t bytes = code_point_bytes(text->bytes[at]);
        character += code_point_units(bytes, encoding);
        at += bytes;
    }
    return (gg_position){line, character};
}

gg_position gg_text_position(const gg_text *text, uint32_t offset, gg_encoding encoding) {
    offset = gg__text_boundary(text, offset);
    return position_in(text, line_of(text, offset), offset, encoding);
}

/* Told without a look at the bytes; false: it is not known. */
static bool is_at(const gg_text *text, uint32_t offset, gg_position p) {
    return p.line < text->line_count - 1 && text->starts[p.line] + p.character == offset &&
           offset < text->starts[p.line + 1];
}

gg_range gg_text_range_near(const gg_text *text, gg_span span, gg_encoding encoding, gg_range guess, uint32_t *line) {
    bool bytes_are_characters = text->facts.ascii && !text->facts.maybe_cr;
    if (bytes_are_characters && is_at(text, span.start, guess.start) && is_at(text, span.end, guess.end)) {
        *line = guess.start.line;
        return guess;
    }
    uint32_t start = gg__text_boundary(text, span.start), end = gg__text_boundary(text, span.end);
    *line = line_near(text, start, *line);
    return (gg_range){position_in(text, *line, start, encoding),
                      position_in(text, line_near(text, end, *line), end, encoding)};
}

gg_range gg_text_range(const gg_text *text, gg_span span, gg_encoding encoding) {
    uint32_t line = UINT32_MAX;
    return gg_text_range_near(text, span, encoding, (gg_range){0}, &line);
}

TSPoint gg__text_point(const gg_text *text, uint32_t offset) {
    if (offset > text->len) offset = text->len;
    uint32_t line = line_of(text, offset);
    if (!text->facts.maybe_lone_cr) return (TSPoint){line, offset - text->starts[line]};
    uint32_t row = 0, start = 0;
    for (uint32_t i = 1; i <= line; i++) {
        if (text->bytes[text->starts[i] - 1] != '\n') continue;
        row++;
        start = text->starts[i];
    }
    return (TSPoint){row, offset - start};
}

int gg_text_replace(gg_text **out, const gg_text *text, gg_span span, gg_str with, gg_error *err) {
    *out = NULL;
    gg_draft *draft = gg_draft_new(text);
    int rc = gg_draft_replace(draft, span, with, err);
    if (rc == 0)
        *out = gg_draft_finish(draft);
    else
        gg_draft_free(draft);
    return rc;
}
