/* What a failed check says, as a constant: the literal parts of the author's message.  See truth.h. */
#include <string.h>

#include "repair/truth.h"

/* How values come into a text: `"…" % x`, `"…".format(x)`. */
typedef enum style { NO_PLACES = 0, PERCENT = '%', BRACES = '{' } style;

/* The length of a place for a value, or of a doubled sign, that begins here, and what stands for it; 0 when none does. */
static size_t place_at(gg_str s, size_t at, style kind, const char **out) {
    char c = s.ptr[at], next = at + 1 < s.len ? s.ptr[at + 1] : '\0';
    bool brace = kind == BRACES && (c == '{' || c == '}');
    if (!brace && (kind != PERCENT || c != '%')) return 0;
    *out = c == '%' ? "%" : c == '{' ? "{" : "}";
    if (next == c) return 2;
    *out = "...";
    size_t end = at + 1;
    if (brace) {
        while (end < s.len && s.ptr[end] != '}') end++;
        return c == '{' && end < s.len ? end + 1 - at : 0;
    }
    if (next == '(')
        while (end < s.len && s.ptr[end] != ')') end++;
    while (end < s.len && strchr("()#- +.*0123456789hlL", s.ptr[end]) != NULL) end++;
    return end < s.len ? end + 1 - at : 0;
}

/* Source of a string's inside, for a string in double quotes on one line.  Escapes stay as the author wrote them; in a raw string a backslash
 * is itself. */
static void append_content(gg_buf *out, gg_str content, bool raw, style kind) {
    bool escaped = false;
    for (size_t i = 0; i < content.len; i++) {
        char c = content.ptr[i];
        const char *stands;
        size_t place = place_at(content, i, kind, &stands);
        if (place) {
            gg_buf_append_z(out, stands);
            i += place - 1;
            escaped = false;
            continue;
        }
        if ((raw && c == '\\') || (c == '"' && !escaped)) gg_buf_append_char(out, '\\');
        bool continues = !raw && c == '\\' && !escaped && i + 1 < content.len &&
                         (content.ptr[i + 1] == '\n' || content.ptr[i + 1] == '\r'); /* the line goes on */
        escaped = !raw && c == '\\' && !escaped && !continues;
        gg_buf_append_char(out, c == '\n' || c == '\r' || continues ? ' ' : c);
    }
}

static void append_string(gg_buf *out, const gg_tree *tree, TSNode string, style kind) {
    gg_str prefix = gg__text(tree, ts_node_child(string, 0)); /* f", r', … */
    bool raw = gg_str_contains(prefix, GG_STR("r")) || gg_str_contains(prefix, GG_STR("R"));
    for (uint32_t i = 0; i < gg__child_count(string); i++) {
        TSNode part = gg__child(string, i);
        if (gg_node_is(part, "interpolation")) gg_buf_append_z(out, "...");
        if (gg_node_is(part, "string_content")) append_content(out, gg__text(tree, part), raw, kind);
    }
}

/* The string behind `"…" % x`, `"…".format(x)`, and a name that the raising block gives it. */
static TSNode template_of(const gg_tree *tree, TSNode message, TSNode raise, style *kind) {
    if (gg_node_is(message, "identifier"))
        for (TSNode at = ts_node_prev_named_sibling(raise); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
            TSNode assignment = gg__child(at, 0);
            if (!gg_str_equal(gg__text(tree, gg__field(assignment, "left")), gg__text(tree, message))) continue;
            message = gg__field(assignment, "right");
            break;
        }
    message = gg__strip_parentheses(message);
    *kind = NO_PLACES;
    if (gg_node_is(message, "call")) {
        TSNode function = gg__field(message, "function");
        if (gg_str_is(gg__text(tree, gg__field(function, "attribute")), "format")) *kind = BRACES;
        message = gg__field(function, "object");
    }
    if (gg_node_is(message, "binary_operator") && gg_str_is(gg__text(tree, gg__field(message, "operator")), "%")) {
        *kind = PERCENT;
        message = gg__field(message, "left");
    }
    return gg__strip_parentheses(message);
}

/* What the nearest `print("…")` in front of what exits says; else null. */
static TSNode said_before(const gg_tree *tree, TSNode exit) {
    style kind;
    for (TSNode at = ts_node_prev_named_sibling(exit); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
        TSNode said = gg__child(gg__field(gg__child(at, 0), "arguments"), 0);
        if (gg_node_is(template_of(tree, said, exit, &kind), "string")) return said;
    }
    return (TSNode){0};
}

gg_str gg__constant_message(const gg_tree *tree, TSNode message, TSNode raise, gg_arena *arena) {
    TSNode raised = gg__child(raise, 0), arguments = gg__field(raised, "arguments");
    if (!ts_node_is_null(raise)) message = gg__child(arguments, 0);
    bool exits = gg_node_is(raise, "expression_statement");
    if (exits && !gg_node_is(message, "string")) message = said_before(tree, raise);
    style kind;
    message = template_of(tree, message, raise, &kind);
    gg_buf text;
    gg_buf_init(&text, 4096);
    gg_buf_append_char(&text, '"');
    if (gg_node_is(message, "string")) append_string(&text, tree, message, kind);
    for (uint32_t i = 0; gg_node_is(message, "concatenated_string") && i < gg__child_count(message); i++)
        if (gg_node_is(gg__child(message, i), "string")) append_string(&text, tree, gg__child(message, i), kind);
    TSNode name = gg_node_is(raised, "call") ? gg__field(raised, "function") : raised;
    if (text.len == 1 && gg_node_is(name, "identifier")) gg_buf_append(&text, gg__text(tree, name));
    if (text.len == 1 && exits) gg_buf_append_z(&text, "sys.exit()");
    if (text.len == 1) gg_buf_append_z(&text, "the check failed");
    gg_buf_append_char(&text, '"');
    gg_str out = text.overflow ? GG_STR("\"the check failed\"") : gg_arena_str(arena, gg_buf_str(&text));
    gg_buf_clear(&text);
    return out;
}
