/* links: gg_repair */
/* What gg__infer proves: tests/fixtures/inference.txt, which tests/worker/test_inference.py also runs under torch.
 *
 * `# facts: h=float32[4,4] k=float32[4,4]:dense n=int:3` says what a capture would; the lines behind it are expressions and what is known of
 * them: `h.sum(0) -> float32[4]`.  `net=module:linear;4;8+map` is a module's steps.  With an argument, reads such lines from standard input and
 * prints them with what is known now; with `ranges`, with the values they lie between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "repair/ranges.h"
#include "repair/syntax.h"

enum { MAX_FACTS = 64, MAX_LINE = 4096 };

typedef struct known {
    gg_arena *arena;
    gg_fact facts[MAX_FACTS];
    gg_break record;
    gg_site site;
    bool ranges; /* is it asked for them? */
} known;

/* `linear;4;8`, `map;widens` */
static gg_step read_step(gg_arena *arena, gg_str word) {
    static const char *const ops[] = {"map", "same", "along", "tail", "linear", "conv"};
    gg_step step = {.dtype = GG_STR("torch.float32"), .device = GG_STR("cpu")};
    int64_t *sizes = GG_ARENA_ARRAY(arena, int64_t, 16);
    for (size_t at = 0; at < word.len;) {
        size_t end = gg_str_find(word, GG_STR(";"), at);
        if (end == SIZE_MAX) end = word.len;
        gg_str part = gg_str_slice(word, at, end);
        if (gg_str_is(part, "widens"))
            step.widens = true;
        else if (at)
            sizes[step.size_count++] = strtol(gg_arena_z(arena, part), NULL, 10);
        for (size_t op = 0; at == 0 && op < GG_COUNT(ops); op++)
            if (gg_str_is(part, ops[op])) step.op = (gg_step_op)op;
        at = end + 1;
    }
    if (step.op <= GG_STEP_ALONG) step.dtype = GG_STR_NULL;
    step.sizes = sizes;
    return step;
}

static void read_steps(gg_arena *arena, gg_fact *fact, gg_str said) {
    gg_step *steps = GG_ARENA_ARRAY(arena, gg_step, MAX_FACTS);
    fact->kind = GG_VALUE_MODULE;
    for (size_t at = 0; at < said.len;) {
        size_t end = gg_str_find(said, GG_STR("+"), at);
        if (end == SIZE_MAX) end = said.len;
        steps[fact->step_count++] = read_step(arena, gg_str_slice(said, at, end));
        at = end + 1;
    }
    fact->steps = steps;
}

static gg_fact read_fact(gg_arena *arena, gg_str word) {
    gg_fact fact = {.device = GG_STR("cpu")};
    size_t equals = gg_str_find(word, GG_STR("="), 0), bracket = gg_str_find(word, GG_STR("["), 0);
    size_t colon = gg_str_find(word, GG_STR(":"), 0), end = colon == SIZE_MAX ? word.len : colon;
    assert_true(equals != SIZE_MAX);
    gg_str said = colon == SIZE_MAX ? GG_STR_NULL : gg_str_slice(word, colon + 1, word.len);
    fact.name = gg_arena_str(arena, gg_str_slice(word, 0, equals));
    if (bracket == SIZE_MAX) {
        gg_str kind = gg_str_slice(word, equals + 1, end);
        if (gg_str_is(kind, "module")) {
            read_steps(arena, &fact, said);
            return fact;
        }
        fact.kind = gg_str_is(kind, "int")     ? GG_VALUE_INT
                    : gg_str_is(kind, "float") ? GG_VALUE_FLOAT
                    : gg_str_is(kind, "bool")  ? GG_VALUE_BOOL
                                               : GG_VALUE_OTHER;
        fact.has_number = said.len != 0;
        fact.number = said.len ? strtod(gg_arena_z(arena, said), NULL) : 0;
        return fact;
    }
    int64_t *shape = GG_ARENA_ARRAY(arena, int64_t, 8);
    gg_str sizes = gg_str_slice(word, bracket + 1, end - 1);
    fact.kind = GG_VALUE_TENSOR;
    fact.dtype = gg_arena_printf(arena, "torch.%.*s", GG_STR_ARG(gg_str_slice(word, equals + 1, bracket)));
    fact.layout = gg_str_is(said, "dense")     ? GG_LAYOUT_DENSE
                  : gg_str_is(said, "strided") ? GG_LAYOUT_STRIDED
                                               : GG_LAYOUT_CONTIGUOUS;
    for (size_t at = 0; at < sizes.len;) {
        size_t comma = gg_str_find(sizes, GG_STR(","), at);
        if (comma == SIZE_MAX) comma = sizes.len;
        shape[fact.rank++] = strtol(gg_arena_z(arena, gg_str_slice(sizes, at, comma)), NULL, 10);
        at = comma + 1;
    }
    fact.shape = shape;
    return fact;
}

static void read_facts(known *k, gg_str line) {
    k->record = (gg_break){.facts = k->facts};
    k->site = (gg_site){.first = &k->record};
    for (size_t at = 0; at < line.len;) {
        size_t end = gg_str_find(line, GG_STR(" "), at);
        if (end == SIZE_MAX) end = line.len;
        gg_str word = gg_str_trim(gg_str_slice(line, at, end));
        assert_true(k->record.fact_count < MAX_FACTS);
        if (word.len) k->facts[k->record.fact_count++] = read_fact(k->arena, word);
        at = end + 1;
    }
}

static gg_str describe(gg_arena *arena, gg__meta m) {
    static const char *const sorts[] = {
        [GG__SCALAR_INT] = "int", [GG__SCALAR_FLOAT] = "float", [GG__SCALAR_BOOL] = "bool"};
    if (m.sort == GG__UNKNOWN) return GG_STR("unknown");
    if (m.sort != GG__TENSOR) {
        if (!m.seen) return gg_arena_printf(arena, "%s%s", sorts[m.sort], m.natural ? " natural" : "");
        return gg_arena_printf(arena, "%s:%.10g%s", sorts[m.sort], m.value, m.constant ? " always" : "");
    }
    gg_str sizes = GG_STR_NULL;
    for (int32_t i = 0; i < m.rank; i++)
        sizes = gg_arena_printf(arena, "%.*s%s%lld", GG_STR_ARG(sizes), i ? "," : "", (long long)m.shape[i]);
    gg_str dtype = gg_str_slice(m.dtype, sizeof("torch.") - 1, m.dtype.len);
    return gg_arena_printf(arena, "%.*s[%.*s]%s%s%s%s%s", GG_STR_ARG(dtype), GG_STR_ARG(sizes), m.fresh ? "" : " alias",
                           m.smooth ? "" : " rough", m.linear ? "" : " curved", m.vague ? " vague" : "",
                           m.layout.len ? " strided" : "");
}

static gg_str describe_range(gg_arena *arena, const gg_rule_input *in, TSNode node) {
    gg__range range;
    if (!gg__range_of(in, node, &range)) return GG_STR("unknown");
    return gg_arena_printf(arena, "%.17g %.17g", range.low, range.high);
}

static gg_str inferred(known *k, gg_str expression) {
    gg_error err = {0};
    gg_tree *tree = NULL;
    gg_str modules = GG_STR_NULL; /* as if their classes made them */
    for (size_t i = 0; i < k->record.fact_count; i++)
        if (k->facts[i].kind == GG_VALUE_MODULE)
            modules = gg_arena_printf(k->arena, "%.*s%.*s = torch.nn.Tanh()\n", GG_STR_ARG(modules),
                                      GG_STR_ARG(k->facts[i].name));
    gg_str program =
        gg_arena_printf(k->arena, "import math\nimport torch\nimport torch.nn.functional as F\n\n%.*s(%.*s)\n",
                        GG_STR_ARG(modules), GG_STR_ARG(expression));
    gg_text *text = NULL;
    assert_int_equal(gg_text_new(&text, program, &err), 0);
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, &err), 0);
    if (gg_tree_has_error(tree)) fail_msg("this is no expression: %.*s", GG_STR_ARG(expression));
    gg_rule_input in = {.tree = tree, .site = &k->site, .span = {0}};
    TSNode root = gg_tree_root(tree);
    TSNode node = gg__child(gg__child(root, gg__child_count(root) - 1), 0);
    gg_str out = k->ranges ? describe_range(k->arena, &in, node) : describe(k->arena, gg__infer(&in, node));
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return out;
}

/* Returns how many lines say something else, or prints all of them. */
static size_t read_lines(FILE *file, bool print, bool ranges) {
    char line[MAX_LINE];
    size_t wrong = 0, count = 0;
    known k = {.arena = gg_arena_new(), .ranges = ranges};
    while (fgets(line, sizeof(line), file)) {
        gg_str text = gg_str_trim(gg_str_from(line));
        if (gg_str_starts_with(text, GG_STR("# facts:"))) {
            read_facts(&k, gg_str_slice(text, sizeof("# facts:") - 1, text.len));
            continue;
        }
        if (text.len == 0 || text.ptr[0] == '#') continue;
        size_t arrow = gg_str_find(text, GG_STR(" -> "), 0);
        gg_str expression = gg_str_slice(text, 0, arrow), result = inferred(&k, expression);
        count++;
        if (print)
            printf("%.*s -> %.*s\n", GG_STR_ARG(expression), GG_STR_ARG(result));
        else if (!gg_str_equal(gg_str_slice(text, arrow + 4, text.len), result)) {
            print_error("%.*s -> %.*s\n", GG_STR_ARG(expression), GG_STR_ARG(result));
            wrong++;
        }
    }
    gg_arena_free(k.arena);
    return count ? wrong : 1;
}

static void test_table(void **state) {
    (void)state;
    FILE *file = fopen(GG_SOURCE_DIR "/tests/fixtures/inference.txt", "r");
    assert_non_null(file);
    size_t wrong = read_lines(file, false, false);
    fclose(file);
    assert_int_equal(wrong, 0);
}

/* However deep an expression is, the answer comes: unknown. */
static void test_nested_deep(void **state) {
    (void)state;
    enum { DEEP = 3000 };
    known k = {.arena = gg_arena_new()};
    gg_buf text;
    gg_buf_init(&text, GG_MAX_DOCUMENT_BYTES);
    read_facts(&k, GG_STR("h=float32[4]"));
    for (int i = 0; i < DEEP; i++) gg_buf_append(&text, GG_STR("h+"));
    gg_buf_append(&text, GG_STR("h"));
    assert_true(gg_str_is(inferred(&k, gg_buf_str(&text)), "unknown"));
    gg_buf_clear(&text);
    gg_arena_free(k.arena);
}

int main(int argc, char **argv) {
    /* `-`: what each line is; `ranges`: between which values it lies */
    if (argc > 1) return (int)(read_lines(stdin, true, strcmp(argv[1], "ranges") == 0) != 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_nested_deep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
