/* Values of analysis ↔ values of LSP: the one place where the negotiated position encoding is applied.  Loop thread only. */
#include <stdio.h>

#include "server/session.h"

json_t *gg_range_json(const gg_session *session, const gg_text *text, gg_span span) {
    gg_range r = gg_text_range(text, span, session->encoding);
    return json_pack("{s:{s:i, s:i}, s:{s:i, s:i}}", "start", "line", (int)r.start.line, "character",
                     (int)r.start.character, "end", "line", (int)r.end.line, "character", (int)r.end.character);
}

static gg_position position_of(gg_lsp_position p) {
    return (gg_position){(uint32_t)p.line, (uint32_t)p.character};
}

gg_span gg_span_of(const gg_session *session, const gg_text *text, const gg_lsp_range *range) {
    gg_span span = {gg_text_offset(text, position_of(range->start), session->encoding),
                    gg_text_offset(text, position_of(range->end), session->encoding)};
    if (span.end < span.start) span = (gg_span){span.end, span.start};
    return span;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *gg_uri_to_path(gg_str uri) {
    gg_str scheme = GG_STR("file://");
    if (!gg_str_starts_with(uri, scheme)) return NULL;
    gg_str rest = gg_str_slice(uri, scheme.len, uri.len);
    size_t slash = gg_str_find(rest, GG_STR("/"), 0); /* behind an authority, such as localhost */
    if (slash == SIZE_MAX) return NULL;
    char *path = gg_malloc(rest.len + 1);
    size_t n = 0;
    for (size_t i = slash; i < rest.len; i++) {
        int high = i + 2 < rest.len ? hex(rest.ptr[i + 1]) : -1, low = i + 2 < rest.len ? hex(rest.ptr[i + 2]) : -1;
        if (rest.ptr[i] == '%' && high >= 0 && low >= 0) {
            path[n++] = (char)(high * 16 + low);
            i += 2;
        } else if (rest.ptr[i] == '?' || rest.ptr[i] == '#') {
            break;
        } else {
            path[n++] = rest.ptr[i];
        }
    }
    path[n] = '\0';
    if (strlen(path) == n && gg_utf8_valid_prefix(gg_str_from(path)) == n) return path;
    gg_free(path);
    return NULL;
}

char *gg_path_to_uri(const char *path) {
    gg_buf uri;
    gg_buf_init(&uri, 64 * 1024);
    gg_buf_append_z(&uri, "file://");
    for (const char *c = path; *c; c++) {
        bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("/-_.~", *c);
        if (plain)
            gg_buf_append_char(&uri, *c);
        else
            gg_buf_printf(&uri, "%%%02X", (unsigned char)*c);
    }
    return gg_buf_take(&uri);
}
