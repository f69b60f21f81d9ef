/* links: gg_analysis */
/* The registry, the three categories, and explanations: true words in the right place, foreign text escaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static const char *const our_ids[] = {
    "GB0003", "GB0007", "GB0014", "GB0025", "GB0033", "GB0036", "GB0059", "GB0066", "GB0098",
    "GB0109", "GB0123", "GB0124", "GB0142", "GB0170", "GB0208", "GB0246", "GB0264", "GB0291",
    "GB0363", "GB4198", "GB4297", "GB4841", "GB6215", "GB7000", "GB8977",
};

static const char registry_json[] =
    "{\"GB0146\":[{\"Gb_type\":\"Unsupported event "
    "method\",\"Context\":\"{name}\",\"Explanation\":\"_explanation\",\"Hints\":[]},"
    "{\"Gb_type\":\"Unsupported event method\",\"Context\":\"\",\"Explanation\":\"Dynamo doesn't support *tracing* the "
    "`{name}` "
    "method.\",\"Hints\":[\"Avoid `{name}` or \",\"set <x>.\",\"Please report an issue to PyTorch.\"]}],"
    "\"GB9999\":[{\"Gb_type\":\"From the future\",\"Context\":\"\",\"Explanation\":\"\",\"Hints\":[]}],\"GB1\":[]}";

static gg_registry *load(const char *json) {
    char path[] = "/tmp/gg_registry_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    gg_registry *registry;
    int rc = gg_registry_load(&registry, path, NULL);
    unlink(path);
    return rc == 0 ? registry : NULL;
}

static void assert_has(gg_str text, const char *part) {
    if (!gg_str_contains(text, gg_str_from(part))) fail_msg("no \"%s\" in:\n%.*s", part, GG_STR_ARG(text));
}

static void assert_lacks(gg_str text, const char *part) {
    if (gg_str_contains(text, gg_str_from(part))) fail_msg("\"%s\" in:\n%.*s", part, GG_STR_ARG(text));
}

static void test_registry(void **state) {
    (void)state;
    gg_registry *registry = load(registry_json);
    assert_non_null(registry);
    gg_registry_row row;
    assert_true(gg_registry_find(registry, GG_STR("GB0146"), &row));
    assert_true(gg_str_is(row.type, "Unsupported event method"));
    assert_has(row.explanation, "doesn't support"); /* words, not the variant that is a name */
    assert_int_equal(row.hint_count, 2);
    assert_true(gg_str_is(row.hints[0], "Avoid `{name}` or set <x>."));
    assert_false(gg_registry_find(registry, GG_STR("GB1"), &row));
    assert_false(gg_registry_find(registry, GG_STR("GB0000"), &row));
    assert_false(gg_registry_find(NULL, GG_STR("GB0146"), &row));
    gg_registry_free(registry);
    gg_registry_free(NULL);
    assert_null(load("[]"));
    assert_null(load("{\"GB"));
    gg_error err;
    assert_int_equal(gg_registry_load(&registry, "/nowhere.json", &err), GG_ENOTFOUND);
}

static void test_categories(void **state) {
    (void)state;
    static const struct {
        const char *id, *type, *category;
    } rows[] = {
        {"GB0170", "", "dynamic_control_flow"},
        {"GB0124", "", "tensor_tracing_disruption"},
        {"GB0007", "", "unsupported_operation"},
        {"GB0059", "Failed to trace builtin operator", "unsupported_operation"},
        {"GB0125", "Unsupported Tensor.requires_grad_() call", "tensor_tracing_disruption"},
        {"GB0171", "assert with non-string message", "dynamic_control_flow"},
        {"GB0309", "torch.cond: improper args/kwargs", "dynamic_control_flow"},
        {"GB7650", "torch.Generator method", "unsupported_operation"},
        {"GB0152", "Unsupported key type for itertools.groupby", "dynamic_control_flow"},
        {"GB0207", "", "dynamic_control_flow"},
        {"GB6622", "list_richcompare_nonconst", "dynamic_control_flow"},
        {"GB0190", "getattr() with non-constant name argument", "tensor_tracing_disruption"},
        {"GB0254", "non-const setattr name on user-defined object", "tensor_tracing_disruption"},
        {"GB0185", "failed to convert numpy.ndarray to Tensor", "unsupported_operation"},
        {"GB8888", "Data-dependent branching of a new kind", "dynamic_control_flow"},
        {"GB8888", "Unsupported Tensor.frobnicate() call", "tensor_tracing_disruption"},
        {"", "", "unsupported_operation"},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++)
        assert_string_equal(gg_break_category(gg_str_from(rows[i].id), gg_str_from(rows[i].type)), rows[i].category);
}

/* ---- sites ---- */
typedef struct fixture {
    gg_arena *arena;
    gg_tree *tree;
    gg_break record;
    gg_site site;
} fixture;

/* A site at the first occurrence of `code` in the program. */
static fixture site_at(const char *program, const char *code, const char *id) {
    fixture f = {.arena = gg_arena_new()};
    gg_text *text;
    assert_int_equal(gg_text_new(&text, gg_str_from(program), NULL), 0);
    assert_int_equal(gg_tree_parse(&f.tree, text, NULL, NULL, 0, NULL, NULL), 0);
    gg_text_unref(&text);
    size_t at = gg_str_find(gg_str_from(program), gg_str_from(code), 0);
    assert_true(at != SIZE_MAX);
    f.record.id = gg_str_from(id);
    f.site = (gg_site){.id = gg_str_from(id), .count = 1, .in_workspace = true};
    f.site.span = (gg_span){(uint32_t)at, (uint32_t)(at + strlen(code))};
    f.site.enclosing = gg_enclosing_name(f.tree, f.site.span.start, f.arena);
    return f;
}

static gg_str explain(fixture *f, bool markdown) {
    f->site.first = &f->record;
    return gg_explain_site(&f->site, f->tree, NULL, markdown, f->arena);
}

static gg_str explain_short(fixture *f) {
    gg_entry entry = {.name = GG_STR("e"), .breaks = &f->record, .break_count = 1};
    gg_frame frame = {.file = GG_STR("/w.py"), .origin = GG_ORIGIN_WORKSPACE};
    gg_position start = gg_text_position(gg_tree_text(f->tree), f->site.span.start, GG_UTF8);
    gg_position end = gg_text_position(gg_tree_text(f->tree), f->site.span.end, GG_UTF8);
    frame.line = start.line + 1;
    frame.end_line = end.line + 1;
    frame.col = (int32_t)start.character;
    frame.end_col = (int32_t)end.character;
    f->record.stack = &frame;
    f->record.stack_len = 1;
    gg_sources *sources = gg_sources_new();
    gg_sources_put(sources, frame.file, gg_tree_text(f->tree), f->tree);
    gg_site_list sites = gg_sites_group(&entry, 1, sources, NULL, f->arena);
    assert_int_equal(sites.len, 1);
    gg_str words = gg_explain_short(&sites.items[0], f->arena);
    gg_sources_free(sources);
    return words;
}

static void done(fixture *f) {
    gg_tree_unref(&f->tree);
    gg_arena_free(f->arena);
}

static void test_short(void **state) {
    (void)state;
    static const struct {
        const char *program, *code, *id, *context, *want;
    } rows[] = {
        {"def f(h):\n    if h.sum() > 0:\n        pass\n", "h.sum() > 0", "GB0170", "",
         "`if h.sum() > 0` branches on a tensor's value: the graph splits here"},
        {"def f(h):\n    if a and not (h > 0):\n        pass\n", "h > 0", "GB0170", "",
         "`if a and not (h > 0)` branches on a tensor's value: the graph splits here"},
        {"def f(h):\n    y = 1 if h.any() else 2\n", "h.any()", "GB0170", "",
         "`… if h.any()` branches on a tensor's value: the graph splits here"},
        {"def f(h):\n    return any(h)\n", "any(h)", "GB0170", "",
         "`any(h)` needs the truth of a tensor: the graph splits here"},
        {"print(h)\n", "print(h)", "GB0059", "builtin print [X] False",
         "`print(h)` writes to the terminal, which a graph cannot do: the graph splits here"},
        {"y = x[mask]\n", "x[mask]", "GB0036", "aten.nonzero.default",
         "`x[mask]` selects a number of elements that depends on the data: the graph splits here"},
        {"w('x')\n", "w('x')", "GB0007", "module: warnings, qualname: warn, skip reason: …",
         "`w('x')` issues a warning, which a graph cannot do: the graph splits here"},
        {"if r == 5: pass\n", "r == 5", "GB0170", "attempted to jump with SymNodeVariable()",
         "`if r == 5` branches on a number that is known only at run time: the graph splits here"},
        {"time.sleep(1)\n", "time.sleep(1)", "GB0007", "module: time, qualname: sleep, skip reason: c",
         "`time.sleep(1)` waits, which a graph cannot do: the graph splits here"},
        {"try:\n    y = x @ w\nexcept RuntimeError:\n    y = x\n", "x @ w", "GB4315", "",
         "`x @ w` raises an error while it is traced: the compiled call fails, also where this is caught"},
        {"y = x[:n]\n", ":n", "GB0124", "", "`x[:n]` turns a tensor into a Python number: the graph splits here"},
        {"y = 3 in x\n", "3 in x", "GB0124", "",
         "`3 in x` searches a tensor, for which its values must be known: the graph splits here"},
        {"with fork_rng() as g:\n    pass\n", "fork_rng()", "GB0208", "",
         "`with fork_rng()` cannot be entered in a graph: the graph splits here"},
        {"q.go(1)\n", "q.go(1)", "GB0146", "", "`q.go(1)` cannot be traced (GB0146): the graph splits here"},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        fixture f = site_at(rows[i].program, rows[i].code, rows[i].id);
        f.record.context = gg_str_from(rows[i].context);
        gg_str got = explain_short(&f);
        if (!gg_str_is(got, rows[i].want)) fail_msg("got  %.*s\nwant %s", GG_STR_ARG(got), rows[i].want);
        done(&f);
    }
}

static void test_variants(void **state) {
    (void)state;
    static const struct {
        const char *code, *id, *context, *has;
    } rows[] = {
        {"time.time()", "GB0007", "module: time, qualname: time, skip reason: c", "reads the clock"},
        {"random.random()", "GB0007", "module: <unknown module>, qualname: Random.random, skip reason: c",
         "torch.rand"},
        {"Variable(x)", "GB0007", "", "since torch 0.4"},
        {"os.path.exists(p)", "GB0007", "module: posix, qualname: stat, skip reason: c", "operating system"},
        {"whatever(x)", "GB0007", "module: mine, qualname: whatever, skip reason: c", "told not to trace"},
        {"torch.equal(a, b)", "GB0033", "aten.equal.default", "(a == b).all()"},
        {"x.tolist()", "GB0033", "aten._local_scalar_dense.default", "unbind"},
        {"math.sqrt(x)", "GB0033", "aten._local_scalar_dense.default", "torch.sqrt"},
        {"x.unique()", "GB0036", "aten._unique2.default", "scatter_add_"},
        {"items[t]", "GB0124", "", "torch.index_select"},
        {"d[k]", "GB0088", "raised exception KeyError(X)", "`__eq__` and `__hash__`"},
        {"f(k)", "GB0088", "raised exception ValueError(X)", "comes to an exception"},
        {"e.set()", "GB0142", "SETUP_WITH on X(Condition)", "or calls code that does"},
        {"r.choice(x)", "GB0156", "call_method RandomVariable() choice []", "generator that is not torch's"},
        {"torch.combinations(x)", "GB0036", "aten.masked_select.default", "depends on the shape alone"},
        {"ctx()", "GB0142", "SETUP_WITH on X(_GeneratorContextManager)", "the call that makes it"},
        {"s.startswith(t)", "GB0156", "call_method ConstantVariable(str: 'a') startswith []", "methods of strings"},
        {"'%s' % t", "GB0208", "", "f-string"},
        {"open(p)", "GB0059", "builtin open [x] False", "pass the data in"},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        fixture f = site_at(rows[i].code, rows[i].code, rows[i].id);
        f.record.context = gg_str_from(rows[i].context);
        gg_str got = explain(&f, true);
        assert_has(got, rows[i].has);
        assert_lacks(got, "{code");
        done(&f);
    }
}

static void test_cost(void **state) {
    (void)state;
    const char *program =
        "def f(x):\n    for i in y:\n        print(x)\n    try:\n        open(x)\n    except E:\n        pass\n";
    fixture f = site_at(program, "print(x)", "GB0059");
    gg_str loop[] = {GG_STR("GB7000")};
    assert_has(explain(&f, true), "the graph is split here");
    f.site.nothing_compiled = true;
    assert_has(explain(&f, true), "it compiled nothing");
    assert_has(gg_explain_short(&f.site, f.arena), "nothing around it is compiled");
    f.site.skip = f.site.in_loop = true;
    f.site.aggravations = loop;
    f.site.aggravation_count = 1;
    f.site.eager_function = GG_STR("f");
    f.site.count = 4;
    gg_str words = explain(&f, true);
    assert_has(words, "it lies in a loop");
    assert_has(words, "all of `f` runs in plain Python");
    assert_has(words, "4 times");
    f.site.eager_rest = true;
    assert_has(explain(&f, true), "everything in `f` after the previous break");
    done(&f);

    f = site_at(program, "open(x)", "GB0059"); /* the loop is before it: it must be a caller's */
    f.site.aggravations = loop;
    f.site.aggravation_count = 1;
    assert_has(explain(&f, true), "a caller reaches it from a loop");
    f.site.eager_function = GG_STR("g");
    f.site.skip = true;
    assert_has(explain(&f, true), "all of `g` runs in plain Python");
    f.site.eager_function = GG_STR("f");
    f.site.aggravation_count = 0;
    assert_has(explain(&f, true), "`try` block, and Dynamo cannot go on from the middle of one. So all of `f` runs");
    f.site.skip = false;
    assert_has(explain(&f, true), "So what follows in `f` runs");
    f.site.skip = f.site.eager_rest = true;
    assert_has(explain(&f, true), "So everything in `f` after the previous break runs");
    done(&f);

    f = site_at("def f(x):\n    return [print(i) for i in x]\n", "print(i)", "GB0059");
    f.site.skip = f.site.in_loop = true;
    f.site.aggravations = loop;
    f.site.aggravation_count = 1;
    assert_has(explain(&f, true), "it lies in a loop");
    done(&f);
}

static void test_values(void **state) {
    (void)state;
    static const int64_t shape[] = {4, -1};
    fixture f = site_at("h.item()\n", "h.item()", "GB0124");
    gg_fact facts[] = {
        {.name = GG_STR("g"), .kind = GG_VALUE_INT, .rank = -1},
        {.name = GG_STR("h"), .kind = GG_VALUE_TENSOR, .dtype = GG_STR("torch.float32"), .shape = shape, .rank = 2}};
    f.record.facts = facts;
    f.record.fact_count = 2;
    assert_has(explain(&f, true), "a `torch.float32` tensor of shape `[4, ?]`");
    f.record.fact_count = 1;
    assert_lacks(explain(&f, true), "torch.float32");
    done(&f);
}

/* Text from the user's program must not become markup. */
static void test_escapes(void **state) {
    (void)state;
    fixture f = site_at("print('``` **x** <b>')\n", "print('``` **x** <b>')", "GB0059");
    f.site.reason = GG_STR("first ````\n**second** <script>\nthird");
    gg_str words = explain(&f, true);
    assert_has(words, "````print('``` **x** <b>')````");
    assert_has(words, "> `````text\n> first ````\n> **second** <script>\n> third\n> `````");
    assert_true(gg_str_ends_with(words, GG_STR("> `````"))); /* Dynamo's words are last */
    words = explain(&f, false);
    assert_has(words, "`print('``` **x** <b>')`");
    assert_lacks(words, "**What");
    done(&f);

    f = site_at("a.b(\n    c,\n    'd')\n", "a.b(\n    c,\n    'd')", "GB0146");
    f.site.type = GG_STR("A [link](http://x) *type*\nwith a line");
    gg_str hints[] = {GG_STR("Use <b>that</b> or `this_*` now"), GG_STR("Please report an issue to PyTorch.")};
    f.record.explanation = GG_STR("# no heading `unbalanced");
    f.record.hints = hints;
    f.record.hint_count = 2;
    words = explain(&f, true);
    assert_has(words, "A \\[link\\](http://x) \\*type\\* with a line");
    assert_has(words, "Python calls `a.b( c, 'd')`. # no heading \\`unbalanced");
    assert_has(words, "Use \\<b\\>that\\</b\\> or `this_*` now.");
    assert_lacks(words, "report an issue");
    done(&f);
}

static void test_long_code_is_cut(void **state) {
    (void)state;
    char program[3000] = "f('";
    for (size_t i = 3; i < 2400; i += 2) memcpy(program + i, "\xC3\xA9", 2);
    memcpy(program + 2403, "')", 3);
    fixture f = site_at(program, program, "GB0007");
    gg_str words = explain(&f, true);
    assert_int_equal(gg_utf8_valid_prefix(words), words.len);
    assert_true(words.len < 3000);
    assert_has(words, "…");
    done(&f);
}

/* ---- ids ---- */
static void test_ids(void **state) {
    (void)state;
    gg_registry *registry = load(registry_json);
    gg_buf out;
    gg_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < GG_COUNT(our_ids); i++)
        for (int markdown = 0; markdown < 2; markdown++) {
            gg_buf_reset(&out);
            assert_int_equal(gg_explain_id(&out, gg_str_from(our_ids[i]), NULL, markdown, NULL), 0);
            gg_str words = gg_buf_str(&out);
            assert_true(gg_str_starts_with(words, gg_str_from(markdown ? "# GB" : our_ids[i])));
            assert_lacks(words, "{code");
            assert_lacks(words, "{value");
            assert_has(words, markdown ? "## Before\n\n```python\nimport" : "Before:\n    import");
            assert_has(words, "What happens");
            assert_has(words, "Why it breaks");
            assert_has(words, "How to fix");
        }
    static const char *const spellings[] = {"gb0170", "170", " GB170", "0170"};
    for (size_t i = 0; i < GG_COUNT(spellings); i++) {
        gg_buf_reset(&out);
        assert_int_equal(gg_explain_id(&out, gg_str_from(spellings[i]), NULL, true, NULL), 0);
        assert_true(gg_str_starts_with(gg_buf_str(&out), GG_STR("# GB0170: Data-dependent branching")));
    }
    gg_buf_reset(&out);
    assert_int_equal(gg_explain_id(&out, GG_STR("GB0146"), registry, true, NULL), 0);
    assert_has(gg_buf_str(&out), "Dynamo doesn't support \\*tracing\\* the `…` method.");
    assert_has(gg_buf_str(&out), "Avoid `…` or set \\<x\\>.");
    assert_has(gg_buf_str(&out), "gb/gb0146.html");
    gg_buf_reset(&out);
    assert_int_equal(gg_explain_id(&out, GG_STR("GB9999"), registry, false, NULL), 0);
    gg_error err;
    assert_int_equal(gg_explain_id(&out, GG_STR("GB0146"), NULL, true, &err), GG_ENOTFOUND);
    assert_int_equal(gg_explain_id(&out, GG_STR("nonsense"), registry, true, &err), GG_ENOTFOUND);
    assert_int_equal(gg_explain_id(&out, GG_STR(""), registry, true, &err), GG_ENOTFOUND);
    gg_arena *arena = gg_arena_new();
    assert_true(gg_str_is(gg_explain_url(GG_STR("GB0170"), arena),
                          "https://meta-pytorch.org/compile-graph-break-site/gb/gb0170.html"));
    gg_arena_free(arena);
    gg_registry_free(registry);
    gg_buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry), cmocka_unit_test(test_categories), cmocka_unit_test(test_short),
        cmocka_unit_test(test_variants), cmocka_unit_test(test_cost),       cmocka_unit_test(test_values),
        cmocka_unit_test(test_escapes),  cmocka_unit_test(test_ids),        cmocka_unit_test(test_long_code_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
