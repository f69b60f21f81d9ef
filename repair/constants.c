/* Calls of pure functions with literals: such as cannot fail, and whose value is a number, text, bytes, or a list that is copied at once.  See texts.h.  Any thread. */
#include "repair/scalar.h"
#include "repair/texts.h"

#include <ctype.h>
#include <math.h>

/* ---- literals ------------------------------------------------------------------------------------------------------------ */

static bool is_number(const gg_tree *tree, TSNode node) {
    double value = 0;
    return gg__literal_value(tree, node, &value) && fabs(value) <= 1e100;
}

/* Of which thirty-two can be multiplied without an overflow. */
static bool is_moderate(const gg_tree *tree, TSNode node) {
    double value = 0;
    return gg__literal_value(tree, node, &value) && (value == 0 || (fabs(value) <= 1e6 && fabs(value) >= 1e-6));
}

static bool is_text(const gg_tree *tree, TSNode node) {
    gg_str start = gg__text(tree, gg__child(node, 0));
    bool plain = gg_node_is(node, "string") && !gg__is_bytes(tree, node);
    for (size_t i = 0; plain && i < start.len; i++) plain = !strchr("fFtT", start.ptr[i]); /* a prefix that computes */
    return plain;
}

/* The arguments of a call that has nothing but positions; SIZE_MAX when it has others. */
static size_t position_count(TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    if (!gg_node_is(arguments, "argument_list")) return SIZE_MAX;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument") || gg_node_is(argument, "list_splat") ||
            gg_node_is(argument, "dictionary_splat"))
            return SIZE_MAX;
    }
    return gg__child_count(arguments);
}

static TSNode argument_of(TSNode call, uint32_t i) {
    return gg__strip_parentheses(gg__child(gg__field(call, "arguments"), i));
}

/* The number of items of a list or tuple of numbers; 0 where it is anything else. */
static uint32_t numbers_in(const gg_tree *tree, TSNode node, bool (*fits)(const gg_tree *tree, TSNode node)) {
    if (!gg_node_is(node, "list") && !gg_node_is(node, "tuple")) return 0;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (!fits(tree, gg__child(node, i))) return 0;
    return gg__child_count(node);
}

/* ---- what functions take without fail ------------------------------------------------------------------------------------- */

/* b'…', or '…'.encode(), of which only escapes could fail. */
static bool takes_bytes(const gg_tree *tree, TSNode call) {
    TSNode node = argument_of(call, 0), function = gg__field(node, "function"), object = gg__field(function, "object");
    if (position_count(call) != 1) return false;
    if (gg_node_is(node, "string")) return gg__is_bytes(tree, node);
    return gg_node_is(node, "call") && is_text(tree, object) &&
           !gg_str_contains(gg__text(tree, object), GG_STR("\\")) &&
           gg_str_is(gg__text(tree, gg__field(function, "attribute")), "encode") && position_count(node) == 0;
}

static bool is_json(const gg_tree *tree, TSNode node, int depth) {
    if (depth == 0) return false;
    if (gg_node_is(node, "true") || gg_node_is(node, "false") || gg_node_is(node, "none")) return true;
    if (gg_node_is(node, "string")) return is_text(tree, node);
    bool dictionary = gg_node_is(node, "dictionary");
    if (!dictionary && !gg_node_is(node, "list") && !gg_node_is(node, "tuple")) return is_number(tree, node);
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode child = gg__child(node, i);
        if (dictionary && (!gg_node_is(child, "pair") || !is_text(tree, gg__field(child, "key")))) return false;
        if (!is_json(tree, dictionary ? gg__field(child, "value") : child, depth - 1)) return false;
    }
    return true;
}

static bool is_json_option(const gg_tree *tree, TSNode argument) {
    gg_str name = gg__text(tree, gg__field(argument, "name"));
    TSNode value = gg__field(argument, "value");
    if (!gg_node_is(argument, "keyword_argument")) return false;
    if (gg_str_is(name, "indent"))
        return gg_node_is(value, "none") || (gg_node_is(value, "integer") && gg__text(tree, value).len <= 2);
    if (gg_str_is(name, "separators"))
        return gg_node_is(value, "tuple") && gg__child_count(value) == 2 && is_text(tree, gg__child(value, 0)) &&
               is_text(tree, gg__child(value, 1));
    return (gg_str_is(name, "sort_keys") || gg_str_is(name, "ensure_ascii")) &&
           (gg_node_is(value, "true") || gg_node_is(value, "false"));
}

static bool takes_json(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    if (!gg_node_is(arguments, "argument_list") || !is_json(tree, argument_of(call, 0), 16)) return false;
    for (uint32_t i = 1; i < gg__child_count(arguments); i++)
        if (!is_json_option(tree, gg__child(arguments, i))) return false;
    return true;
}

static bool takes_nothing(const gg_tree *tree, TSNode call) {
    (void)tree;
    return position_count(call) == 0;
}

static bool takes_one(const gg_tree *tree, TSNode call) {
    return position_count(call) == 1 && numbers_in(tree, argument_of(call, 0), is_number) >= 1;
}

static bool takes_two(const gg_tree *tree, TSNode call) {
    return position_count(call) == 1 && numbers_in(tree, argument_of(call, 0), is_number) >= 2;
}

static bool takes_place(const gg_tree *tree, TSNode call) {
    return position_count(call) == 2 && numbers_in(tree, argument_of(call, 0), is_number) >= 1 &&
           is_number(tree, argument_of(call, 1));
}

static bool takes_array(const gg_tree *tree, TSNode call) {
    if (position_count(call) != 1) return false;
    uint32_t count = numbers_in(tree, argument_of(call, 0), is_moderate);
    return count >= 1 && count <= 32;
}

/* The text of one number, as 0, -12 or 1.5. */
static bool takes_literal(const gg_tree *tree, TSNode call) {
    TSNode node = argument_of(call, 0);
    if (position_count(call) != 1 || !is_text(tree, node) || gg__child_count(node) != 3) return false;
    gg_str text = gg__text(tree, gg__child(node, 1));
    size_t at = text.len && text.ptr[0] == '-', first = at, dots = 0;
    for (; at < text.len && (isdigit((unsigned char)text.ptr[at]) || (text.ptr[at] == '.' && at > first)); at++)
        dots += text.ptr[at] == '.';
    bool padded = first + 1 < text.len && text.ptr[first] == '0' && text.ptr[first + 1] != '.';
    return first < text.len && at == text.len && dots <= 1 && !padded && text.len <= 100;
}

static bool takes_duration(const gg_tree *tree, TSNode call) {
    static const char *const units[] = {"days", "hours", "minutes", "seconds", "weeks", "milliseconds", "microseconds"};
    TSNode arguments = gg__field(call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        bool named = gg_node_is(argument, "keyword_argument");
        if (named && !gg__is_one_of(gg__text(tree, gg__field(argument, "name")), units, GG_COUNT(units))) return false;
        if (!is_moderate(tree, named ? gg__field(argument, "value") : argument)) return false;
    }
    return gg_node_is(arguments, "argument_list") && gg__child_count(arguments) <= GG_COUNT(units);
}

static bool takes_data(const gg_tree *tree, TSNode call) {
    return position_count(call) == 1 && is_json(tree, argument_of(call, 0), 16);
}

/* Of what is no fraction it makes the same number in any decimal context. */
static bool takes_decimal(const gg_tree *tree, TSNode call) {
    TSNode node = argument_of(call, 0);
    return takes_literal(tree, call) ||
           (position_count(call) == 1 && gg_node_is(node, "integer") && is_number(tree, node));
}

enum { MAX_STEPS = 1024 }; /* a longer list is none to be guarded, number by number */

/* The number given there; `otherwise` where none is. */
static double number_at(const gg_tree *tree, TSNode call, uint32_t i, double otherwise) {
    double value = otherwise;
    if (i < position_count(call)) (void)gg__literal_value(tree, argument_of(call, i), &value);
    return value;
}

static bool takes_range(const gg_tree *tree, TSNode call) {
    size_t count = position_count(call);
    for (uint32_t i = 0; i < count && count <= 3; i++)
        if (!is_moderate(tree, argument_of(call, i))) return false;
    if (count < 1 || count > 3) return false;
    double first = count == 1 ? 0 : number_at(tree, call, 0, 0), end = number_at(tree, call, count == 1 ? 0 : 1, 0);
    double step = number_at(tree, call, 2, 1);
    return step != 0 && (end - first) / step <= MAX_STEPS;
}

static bool takes_ends(const gg_tree *tree, TSNode call) {
    size_t count = position_count(call);
    if ((count != 2 && count != 3) || !is_moderate(tree, argument_of(call, 0)) ||
        !is_moderate(tree, argument_of(call, 1)))
        return false;
    double steps = number_at(tree, call, 2, -1);
    return count == 2 || (gg_node_is(argument_of(call, 2), "integer") && steps >= 0 && steps <= MAX_STEPS);
}

/* ---- the functions -------------------------------------------------------------------------------------------------------- */

/* What is made of their value, to have one that is a constant. */
typedef enum wrapping { PLAIN, DECODED, DIGEST, SECONDS, NUMBER, LISTED } wrapping;

static const struct function {
    const char *path, *noun;
    bool (*takes)(const gg_tree *tree, TSNode call);
    wrapping wrapping;
} functions[] = {
    {"json.dumps", "_dumped", takes_json, PLAIN},
    {"zlib.crc32", "_checksum", takes_bytes, PLAIN},
    {"zlib.adler32", "_checksum", takes_bytes, PLAIN},
    {"binascii.crc32", "_checksum", takes_bytes, PLAIN},
    {"binascii.hexlify", "_encoded", takes_bytes, DECODED},
    {"base64.b64encode", "_encoded", takes_bytes, DECODED},
    {"base64.urlsafe_b64encode", "_encoded", takes_bytes, DECODED},
    {"base64.standard_b64encode", "_encoded", takes_bytes, DECODED},
    {"base64.b32encode", "_encoded", takes_bytes, DECODED},
    {"base64.b16encode", "_encoded", takes_bytes, DECODED},
    {"hashlib.sha1", "_digest", takes_bytes, DIGEST},
    {"hashlib.sha224", "_digest", takes_bytes, DIGEST},
    {"hashlib.sha256", "_digest", takes_bytes, DIGEST},
    {"hashlib.sha384", "_digest", takes_bytes, DIGEST},
    {"hashlib.sha512", "_digest", takes_bytes, DIGEST},
    {"hashlib.sha3_256", "_digest", takes_bytes, DIGEST},
    {"hashlib.sha3_512", "_digest", takes_bytes, DIGEST},
    {"hashlib.blake2b", "_digest", takes_bytes, DIGEST},
    {"hashlib.blake2s", "_digest", takes_bytes, DIGEST},
    {"bisect.bisect", "_position", takes_place, PLAIN},
    {"bisect.bisect_left", "_position", takes_place, PLAIN},
    {"bisect.bisect_right", "_position", takes_place, PLAIN},
    {"statistics.mean", "_mean", takes_one, PLAIN},
    {"statistics.fmean", "_mean", takes_one, PLAIN},
    {"statistics.median", "_median", takes_one, PLAIN},
    {"statistics.mode", "_mode", takes_one, PLAIN},
    {"statistics.pstdev", "_pstdev", takes_one, PLAIN},
    {"statistics.pvariance", "_pvariance", takes_one, PLAIN},
    {"statistics.stdev", "_stdev", takes_two, PLAIN},
    {"statistics.variance", "_variance", takes_two, PLAIN},
    {"os.cpu_count", "_cpu_count", takes_nothing, PLAIN},
    {"pickle.dumps", "_pickled", takes_data, PLAIN},
    {"decimal.Decimal", "_number", takes_decimal, NUMBER},
    {"ast.literal_eval", "_value", takes_literal, PLAIN},
    {"datetime.timedelta", "_seconds", takes_duration, SECONDS},
    {"numpy.prod", "_prod", takes_array, NUMBER},
    {"numpy.sum", "_sum", takes_array, NUMBER},
    {"numpy.mean", "_mean", takes_array, NUMBER},
    {"numpy.std", "_std", takes_array, NUMBER},
    {"numpy.var", "_var", takes_array, NUMBER},
    {"numpy.max", "_max", takes_array, NUMBER},
    {"numpy.min", "_min", takes_array, NUMBER},
    {"numpy.argmax", "_argmax", takes_array, NUMBER},
    {"numpy.argmin", "_argmin", takes_array, NUMBER},
    {"numpy.linalg.norm", "_norm", takes_array, NUMBER},
    {"numpy.arange", "_numbers", takes_range, LISTED},
    {"numpy.linspace", "_numbers", takes_ends, LISTED},
};

static bool is_path(const gg_tree *tree, TSNode function, const char *path) {
    const char *last = strrchr(path, '.') + 1;
    TSNode attribute = gg__field(function, "attribute");
    if (!ts_node_is_null(attribute) && !gg_str_is(gg__text(tree, attribute), last)) return false;
    return gg__refers_to(tree, function, path);
}

/* `E.name()`: E; else null. */
static TSNode receiver(const gg_tree *tree, TSNode call, const char *name) {
    TSNode function = gg__field(call, "function");
    bool is = gg_str_is(gg__text(tree, gg__field(function, "attribute")), name) && position_count(call) == 0;
    return is ? gg__field(function, "object") : (TSNode){0};
}

/* The function's call in what may be made of its value; the same node where nothing is. */
static TSNode unwrapped(const gg_tree *tree, TSNode call, wrapping *out) {
    static const struct {
        const char *name;
        wrapping wrapping;
    } methods[] = {
        {"decode", DECODED}, {"hexdigest", DIGEST}, {"digest", DIGEST}, {"total_seconds", SECONDS}, {"tolist", LISTED}};
    for (size_t i = 0; i < GG_COUNT(methods); i++) {
        TSNode of = receiver(tree, call, methods[i].name);
        *out = methods[i].wrapping;
        if (gg_node_is(of, "call")) return of;
    }
    TSNode function = gg__field(call, "function"), value = argument_of(call, 0);
    bool number = gg__names_builtin(tree, function, "int") || gg__names_builtin(tree, function, "float");
    *out = number ? NUMBER : PLAIN;
    return number && position_count(call) == 1 && gg_node_is(value, "call") ? value : call;
}

const char *gg__constant_call(const gg_tree *tree, TSNode call, TSNode *out) {
    wrapping made = PLAIN;
    *out = unwrapped(tree, call, &made);
    if (made == LISTED && ts_node_is_null(gg__tensor_made_of(tree, call))) return NULL; /* else somebody has the list */
    TSNode name = gg__field(*out, "function");
    for (size_t i = 0; i < GG_COUNT(functions); i++) {
        const struct function *f = &functions[i];
        bool fits = f->wrapping == made || (f->wrapping == DECODED && made == PLAIN);
        if (fits && f->takes(tree, *out) && is_path(tree, name, f->path)) return f->noun;
    }
    return NULL;
}
