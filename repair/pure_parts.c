/* Code whose values depend on constants alone.  See pure_parts.h.  Any thread. */
#include "repair/pure_parts.h"

/* ---- functions that give the same for the same --------------------------------------------------------------------------------- */

static const char *const drawing[] = {"torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.normal"};
static const char *const machines[] = {"numpy.random.RandomState", "numpy.random.default_rng", "random.Random"};
static const char *const digests[] = {"hashlib.md5",    "hashlib.sha1",   "hashlib.sha224",  "hashlib.sha256",
                                      "hashlib.sha384", "hashlib.sha512", "hashlib.blake2b", "hashlib.blake2s"};
static const char *const counting[] = {
    "bisect.bisect",     "bisect.bisect_left", "bisect.bisect_right", "zlib.crc32",          "zlib.adler32",
    "binascii.crc32",    "binascii.hexlify",   "base64.b64encode",    "struct.calcsize",     "statistics.mean",
    "statistics.median", "statistics.stdev",   "statistics.pstdev",   "statistics.variance", "json.dumps"};
static const char *const factories[] = {"torch.arange", "torch.linspace", "torch.logspace", "torch.zeros", "torch.ones",
                                        "torch.full",   "torch.eye",      "torch.empty",    "torch.tensor"};
static const char *const making[] = {"torch.from_numpy",
                                     "torch.sqrt",
                                     "torch.exp",
                                     "torch.log",
                                     "torch.sin",
                                     "torch.cos",
                                     "torch.tanh",
                                     "torch.sign",
                                     "torch.where",
                                     "torch.cat",
                                     "torch.stack",
                                     "torch.sort",
                                     "torch.argsort",
                                     "torch.cumsum",
                                     "torch.triu",
                                     "torch.tril",
                                     "torch.flip",
                                     "torch.outer",
                                     "torch.abs",
                                     "torch.clamp",
                                     "torch.floor",
                                     "torch.round",
                                     "torch.matmul",
                                     "torch.softmax",
                                     "torch.linalg.qr",
                                     "torch.linalg.norm",
                                     "torch.nn.functional.normalize",
                                     "torch.nn.functional.softmax"};
/* of NumPy, behind "numpy." */
static const char *const arrays[] = {
    "abs",     "arange",  "argmax",      "argmin", "argsort", "array",   "asarray", "bartlett", "blackman",
    "ceil",    "clip",    "concatenate", "cos",    "cumprod", "cumsum",  "diag",    "diff",     "digitize",
    "dot",     "exp",     "eye",         "flip",   "float32", "float64", "floor",   "full",     "geomspace",
    "hamming", "hanning", "hstack",      "int64",  "interp",  "kaiser",  "kron",    "linspace", "log",
    "log10",   "log2",    "logspace",    "max",    "maximum", "mean",    "min",     "minimum",  "ones",
    "outer",   "polyfit", "polyval",     "power",  "prod",    "repeat",  "reshape", "round",    "sign",
    "sin",     "sort",    "sqrt",        "stack",  "std",     "sum",     "tanh",    "tile",     "transpose",
    "tril",    "triu",    "unique",      "vstack", "where",   "zeros"};

static bool is_of(const gg_tree *tree, TSNode function, const char *const *paths, size_t count) {
    const gg_str name = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
    for (size_t i = 0; i < count; i++) { /* `from hashlib import md5 as digest` has another name, and is refused */
        const char *dot = strrchr(paths[i], '.');
        if (gg_str_is(name, dot + 1) && gg__refers_to(tree, function, paths[i])) return true;
    }
    return false;
}

#define IS_OF(tree, function, paths) is_of(tree, function, paths, GG_COUNT(paths))

static bool is_of_numpy(const gg_tree *tree, TSNode function) {
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    return gg__is_one_of(name, arrays, GG_COUNT(arrays)) && gg__refers_to(tree, gg__field(function, "object"), "numpy");
}

static bool is_of_math(const gg_tree *tree, TSNode function) {
    return gg__refers_to(tree, gg__field(function, "object"), "math");
}

/* ---- what comes from outside ----------------------------------------------------------------------------------------------------- */

static bool is_known_iteration(TSNode node, void *data) {
    static const char *const going[] = {"enumerate", "zip", "range", "reversed", "sorted", "list", "tuple", "len"};
    const gg_rule_input *in = data;
    if (gg_node_is(node, "attribute")) {
        gg__known known = gg__known_attribute(in, node);
        return known == GG__ONE || known == GG__SEVERAL;
    }
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || gg_node_is(gg__parent(node), "attribute"))
        return true;
    for (size_t i = 0; i < GG_COUNT(going); i++)
        if (gg__names_builtin(in->tree, node, going[i])) return true;
    return false;
}

/* A name that a loop through attributes of `self`, or through what is written there, binds. */
static bool is_of_such_a_loop(const gg__pure_parts *p, TSNode name) {
    TSNode binding = gg__only_binding(p->in->tree, name);
    while (gg_node_is(binding, "identifier") || gg_node_is(binding, "pattern_list") ||
           gg_node_is(binding, "tuple_pattern"))
        binding = gg__parent(binding);
    if (!gg_node_is(binding, "for_statement") && !gg_node_is(binding, "for_in_clause")) return false;
    return gg__visit(gg__field(binding, "right"), is_known_iteration, (void *)p->in);
}

static bool is_tensors_place(gg_str attribute) {
    return gg_str_is(attribute, "device") || gg_str_is(attribute, "dtype");
}

static bool is_chain_of(const gg_tree *tree, TSNode node, gg_str *root) {
    while (gg_node_is(node, "attribute")) node = gg__field(node, "object");
    *root = gg__text(tree, node);
    return gg_node_is(node, "identifier");
}

static gg__purity from_outside(gg__pure_parts *p, TSNode node, const char *as) {
    if (p->given_count == GG__MAX_PARTS) return GG__IMPURE;
    p->given[p->given_count++] = (gg__given){node, as};
    return GG__GIVEN;
}

static gg__purity of_self(gg__pure_parts *p, TSNode attribute) {
    const gg_fact *fact = gg__fact_of(p->in, gg__text(p->in->tree, attribute));
    gg__known known = gg__known_attribute(p->in, attribute);
    if (known == GG__ONE) return from_outside(p, attribute, NULL);
    if (known == GG__SEVERAL) return from_outside(p, attribute, NULL) == GG__GIVEN ? GG__LISTED : GG__IMPURE;
    bool whole = fact && fact->kind == GG_VALUE_INT, real = fact && fact->kind == GG_VALUE_FLOAT;
    if (known != GG__SOMETHING || (!whole && !real)) return GG__IMPURE;
    return from_outside(p, attribute, whole ? "int" : "float");
}

static gg__purity of_name(gg__pure_parts *p, TSNode node) {
    gg_str name = gg__text(p->in->tree, node);
    const gg__pure_name *bound = gg__pure_bound(p, name);
    if (bound) return bound->purity;
    return gg__is_local(p->in->tree, node, name) && is_of_such_a_loop(p, node) ? from_outside(p, node, NULL)
                                                                               : GG__IMPURE;
}

static gg__purity of_attribute(gg__pure_parts *p, TSNode node) {
    static const char *const parts[] = {"T", "mT", "shape", "values", "indices", "Q", "R", "size"};
    const gg_tree *tree = p->in->tree;
    gg_str name = gg__text(tree, gg__field(node, "attribute")), root;
    TSNode object = gg__field(node, "object");
    bool plain = is_chain_of(tree, node, &root);
    if (plain && gg__pure_bound(p, root) == NULL) {
        TSNode parameters = gg__field(p->function, "parameters");
        bool own = gg_str_is(root, "self") && gg_str_is(gg__text(tree, gg__child(parameters, 0)), "self");
        if (own) return of_self(p, node);
        if (gg__is_local(tree, node, root))
            return is_tensors_place(name) && gg_node_is(object, "identifier") ? from_outside(p, node, NULL)
                                                                              : GG__IMPURE;
        bool constant = gg__refers_to(tree, object, "torch") || gg__refers_to(tree, object, "math") ||
                        gg__refers_to(tree, object, "numpy");
        return constant ? GG__NUMBER : GG__IMPURE; /* torch.float64, math.pi */
    }
    gg__purity of = gg__pure_value(p, object);
    return of == GG__MADE && gg__is_one_of(name, parts, GG_COUNT(parts)) ? GG__MADE : GG__IMPURE;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------------------- */

/* What the arguments are together: IMPURE where one is, NUMBER where all are numbers.  out_machine: is one a generator? */
static gg__purity of_arguments(gg__pure_parts *p, TSNode call, bool *out_machine) {
    TSNode arguments = gg__field(call, "arguments");
    gg__purity all = GG__NUMBER;
    if (!gg_node_is(arguments, "argument_list")) return GG__IMPURE;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        bool named = gg_node_is(argument, "keyword_argument");
        gg__purity one = gg_node_is(argument, "comment")
                             ? GG__NUMBER
                             : gg__pure_value(p, named ? gg__field(argument, "value") : argument);
        if (one == GG__IMPURE) return GG__IMPURE;
        bool generator = named && gg_str_is(gg__text(p->in->tree, gg__field(argument, "name")), "generator");
        if ((one == GG__MACHINE) != generator) return GG__IMPURE;
        *out_machine = *out_machine || generator;
        if (one == GG__MADE || one == GG__LISTED) all = one;
    }
    return all;
}

static bool has_a_seed(TSNode call) {
    TSNode first = gg__child(gg__field(call, "arguments"), 0);
    return !ts_node_is_null(first) && !gg_node_is(first, "none");
}

/* NumPy and random take another seed each time where there is none. */
static bool has_its_own_seed(const gg__pure_parts *p, TSNode call) {
    TSNode first = gg__child(gg__field(call, "arguments"), 0);
    bool known =
        gg_node_is(first, "attribute") ? gg__known_attribute(p->in, first) == GG__ONE : gg_node_is(first, "integer");
    return known || (gg_node_is(first, "identifier") && gg__pure_bound(p, gg__text(p->in->tree, first)) == NULL);
}

/* Is it said on which device it is made, which may be any by default? */
static bool says_device(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++)
        if (gg_str_is(gg__text(tree, gg__field(gg__child(arguments, i), "name")), "device")) return true;
    return false;
}

static gg__purity of_function(gg__pure_parts *p, TSNode call, TSNode function, gg__purity given, bool machine) {
    static const char *const plain[] = {"int", "float", "bool", "str", "len", "ord", "chr", "hex", "bin"};
    static const char *const kept[] = {"abs", "round", "min", "max", "sum", "pow"};
    static const char *const listed[] = {"sorted", "tuple", "list", "range", "divmod"};
    const gg_tree *tree = p->in->tree;
    gg_str name = gg__text(tree, function);
    if (IS_OF(tree, function, drawing)) /* a generator of the CPU's takes no other device */
        return machine || (p->seeded && says_device(tree, call)) ? GG__MADE : GG__IMPURE;
    if (machine) return GG__IMPURE;
    if (gg__refers_to(tree, function, "torch.Generator")) return GG__MACHINE;
    if (IS_OF(tree, function, machines)) return has_its_own_seed(p, call) ? GG__MACHINE : GG__IMPURE;
    if (IS_OF(tree, function, digests)) return GG__MACHINE;
    if (IS_OF(tree, function, counting) || is_of_math(tree, function)) return GG__NUMBER;
    if (IS_OF(tree, function, factories)) return says_device(tree, call) ? GG__MADE : GG__IMPURE;
    if (gg__refers_to(tree, function, "numpy.meshgrid")) return GG__LISTED;
    if (IS_OF(tree, function, making) || is_of_numpy(tree, function)) return GG__MADE;
    if (!gg_node_is(function, "identifier")) return GG__IMPURE;
    for (size_t i = 0; i < GG_COUNT(plain); i++)
        if (gg_str_is(name, plain[i]) && gg__names_builtin(tree, function, plain[i])) return GG__NUMBER;
    for (size_t i = 0; i < GG_COUNT(kept); i++)
        if (gg_str_is(name, kept[i]) && gg__names_builtin(tree, function, kept[i])) return given;
    for (size_t i = 0; i < GG_COUNT(listed); i++)
        if (gg_str_is(name, listed[i]) && gg__names_builtin(tree, function, listed[i])) return GG__LISTED;
    return GG__IMPURE;
}

static gg__purity of_machines_method(gg_str name) {
    static const char *const draws[] = {"permutation", "rand",    "randn",   "randint", "integers",
                                        "normal",      "uniform", "choice",  "random",  "standard_normal",
                                        "sample",      "choices", "binomial"};
    if (gg_str_is(name, "hexdigest") || gg_str_is(name, "digest")) return GG__NUMBER;
    return gg__is_one_of(name, draws, GG_COUNT(draws)) ? GG__MADE : GG__IMPURE;
}

static gg__purity of_method(gg__pure_parts *p, TSNode call, TSNode function, bool machine) {
    static const char *const texts[] = {"encode", "decode", "lower", "upper",     "strip",
                                        "join",   "format", "item",  "bit_length"};
    static const char *const tensors[] = {"view",   "reshape", "t",      "transpose", "permute", "unsqueeze", "squeeze",
                                          "to",     "float",   "long",   "double",    "int",     "sign",      "abs",
                                          "sqrt",   "exp",     "cumsum", "sum",       "mean",    "argsort",   "flip",
                                          "repeat", "clone",   "astype", "copy",      "numpy",   "min",       "max",
                                          "std",    "norm",    "round",  "floor",     "clamp",   "contiguous"};
    static const char *const filling[] = {"normal_", "uniform_", "random_", "bernoulli_", "exponential_"};
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(p->in->tree, gg__field(function, "attribute"));
    gg__purity of = gg__pure_value(p, object);
    if (gg__is_one_of(name, filling, GG_COUNT(filling))) /* what was made on the spot */
        return of == GG__MADE && gg_node_is(object, "call") && (machine || p->seeded) ? GG__MADE : GG__IMPURE;
    if (machine || of == GG__IMPURE) return GG__IMPURE;
    if (of == GG__MACHINE) /* Generator().manual_seed(3) is the generator */
        return gg_str_is(name, "manual_seed") && has_a_seed(call) ? GG__MACHINE : of_machines_method(name);
    if (gg_str_is(name, "tolist")) return of == GG__MADE ? GG__LISTED : GG__IMPURE;
    if (gg__is_one_of(name, texts, GG_COUNT(texts))) return GG__NUMBER;
    return of == GG__MADE && gg__is_one_of(name, tensors, GG_COUNT(tensors)) ? GG__MADE : GG__IMPURE;
}

static gg__purity of_call(gg__pure_parts *p, TSNode call) {
    const gg_tree *tree = p->in->tree;
    TSNode function = gg__field(call, "function");
    bool machine = false;
    gg_str root;
    gg__purity given = of_arguments(p, call, &machine);
    if (given == GG__IMPURE) return GG__IMPURE;
    bool modules =
        is_chain_of(tree, function, &root) && gg__pure_bound(p, root) == NULL && !gg__is_local(tree, call, root);
    return modules ? of_function(p, call, function, given, machine) : of_method(p, call, function, machine);
}

/* ---- expressions ----------------------------------------------------------------------------------------------------------------- */

static gg__purity of_operands(gg__pure_parts *p, TSNode node) {
    gg__purity all = GG__GIVEN;
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        gg__purity one = gg__pure_value(p, gg__child(node, i));
        if (one == GG__IMPURE || one == GG__MACHINE) return GG__IMPURE;
        if (one == GG__LISTED || all == GG__LISTED)
            all = GG__LISTED; /* `l + []` has the elements of l */
        else if (one > all)
            all = one;
    }
    return all;
}

/* Of a list it may be anything. */
static gg__purity of_subscript(gg__pure_parts *p, TSNode node) {
    gg__purity of = gg__pure_value(p, gg__field(node, "value"));
    for (uint32_t i = 1; i < gg__child_count(node); i++) {
        gg__purity index = gg__pure_value(p, gg__child(node, i));
        if (index == GG__IMPURE || index == GG__MACHINE) return GG__IMPURE;
    }
    return of == GG__IMPURE || of == GG__MACHINE ? GG__IMPURE : of == GG__MADE ? GG__MADE : GG__LISTED;
}

static bool has_no_interpolation(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "interpolation");
}

gg__purity gg__pure_value(gg__pure_parts *p, TSNode node) {
    static const char *const literals[] = {"integer", "float", "true", "false", "none"};
    static const char *const operations[] = {"binary_operator", "unary_operator", "not_operator",
                                             "comparison_operator"};
    static const char *const displays[] = {"list", "tuple", "slice"};
    if (ts_node_is_null(node)) return GG__IMPURE;
    for (size_t i = 0; i < GG_COUNT(literals); i++)
        if (gg_node_is(node, literals[i])) return GG__NUMBER;
    if (gg_node_is(node, "string")) return gg__visit(node, has_no_interpolation, NULL) ? GG__NUMBER : GG__IMPURE;
    if (gg_node_is(node, "parenthesized_expression")) { /* itself, where a comment is in them */
        TSNode inner = gg__strip_parentheses(node);
        return gg_node_is(inner, "parenthesized_expression") ? GG__IMPURE : gg__pure_value(p, inner);
    }
    for (size_t i = 0; i < GG_COUNT(operations); i++)
        if (gg_node_is(node, operations[i])) return of_operands(p, node);
    for (size_t i = 0; i < GG_COUNT(displays); i++)
        if (gg_node_is(node, displays[i]))
            return of_operands(p, node) == GG__IMPURE && gg__child_count(node) ? GG__IMPURE : GG__LISTED;
    if (gg_node_is(node, "subscript")) return of_subscript(p, node);
    if (gg_node_is(node, "identifier")) return of_name(p, node);
    if (gg_node_is(node, "attribute")) return of_attribute(p, node);
    return gg_node_is(node, "call") ? of_call(p, node) : GG__IMPURE;
}

/* ---- statements ------------------------------------------------------------------------------------------------------------------ */

const gg__pure_name *gg__pure_bound(const gg__pure_parts *p, gg_str name) {
    for (size_t i = p->bound_count; i-- > 0;)
        if (gg_str_equal(p->bound[i].name, name)) return &p->bound[i];
    return NULL;
}

static bool bind(gg__pure_parts *p, TSNode target, gg__purity purity) {
    if (!gg_node_is(target, "identifier") || p->bound_count == GG__MAX_PARTS) return false;
    p->bound[p->bound_count++] = (gg__pure_name){gg__text(p->in->tree, target), purity};
    return true;
}

static bool seeds(gg__pure_parts *p, TSNode call) {
    const gg_tree *tree = p->in->tree;
    TSNode function = gg__field(call, "function"), seed = gg__child(gg__field(call, "arguments"), 0);
    if (!gg__refers_to(tree, function, "torch.manual_seed") || !has_a_seed(call)) return false;
    gg__purity of = gg__child_count(gg__field(call, "arguments")) == 1 ? gg__pure_value(p, seed) : GG__IMPURE;
    return of != GG__IMPURE && of != GG__MACHINE;
}

bool gg__pure_statement(gg__pure_parts *p, TSNode statement) {
    TSNode inner = gg__child(statement, 0);
    if (gg_node_is(statement, "comment")) return true;
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    if (gg_node_is(inner, "call")) /* g.manual_seed(3) */
        return gg__pure_value(p, inner) == GG__MACHINE;
    if (!gg_node_is(inner, "assignment") || !ts_node_is_null(gg__field(inner, "type"))) return false;
    TSNode left = gg__field(inner, "left");
    gg__purity made = gg__pure_value(p, gg__field(inner, "right"));
    if (made == GG__IMPURE) return false;
    if (gg_node_is(left, "identifier")) return bind(p, left, made == GG__GIVEN ? GG__NUMBER : made);
    if (!gg_node_is(left, "pattern_list") || made == GG__MACHINE) return false;
    for (uint32_t i = 0; i < gg__child_count(left); i++)
        if (!bind(p, gg__child(left, i), GG__MADE)) return false;
    return true;
}

bool gg__pure_fork(gg__pure_parts *p, TSNode with) {
    TSNode clause = gg__child(with, 0), item = gg__child(clause, 0), call = gg__field(item, "value"),
           body = gg__field(with, "body");
    bool seeded = false;
    if (!gg_node_is(with, "with_statement") || gg__child_count(clause) != 1 || !gg_node_is(call, "call")) return false;
    if (!gg__refers_to(p->in->tree, gg__field(call, "function"), "torch.random.fork_rng")) return false;
    if (gg__child_count(gg__field(call, "arguments")) > 0) return false; /* `devices=[]` leaves the seed of others */
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i);
        if (gg_node_is(gg__child(statement, 0), "call") && seeds(p, gg__child(statement, 0)))
            seeded = p->seeded = true;
        else if (!gg__pure_statement(p, statement))
            return false;
    }
    p->seeded = false;
    return seeded;
}
