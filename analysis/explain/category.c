/* GraphGlue's three categories, for every id.
 *
 *   dynamic control flow        which code runs next, or in which order, depends on what Dynamo cannot know: branches, loops,
 *                               assertions, generators, exceptions; sorting, grouping and comparing collections, which ask
 *                               their elements for a truth value
 *   tensor tracing disruption   a tensor leaves the graph or changes behind its back: its values (also as a part of a name),
 *                               its size, its storage, its gradient state
 *   unsupported operation       everything else: a call or an object Dynamo has no rule for
 *
 * The break's type says which by its words; ids whose words mislead stand in the table before.  The words also sort the ids of
 * a later torch.  Threads: any. */
#include <ctype.h>
#include <string.h>

#include "analysis/explain/explain.h"

static const char control_flow[] = "dynamic_control_flow";
static const char tensor_tracing[] = "tensor_tracing_disruption";
static const char unsupported[] = "unsupported_operation";

static const struct {
    const char *id, *category;
} rows[] = {
    /* Known without the registry, for static findings, or misleading by their words. */
    {"GB0002", control_flow},                               /* an assertion on symbolic shapes */
    {"GB0003", control_flow},                               /* a generator */
    {"GB0033", tensor_tracing},                             /* a data-dependent operator */
    {"GB0034", control_flow},                               /* a data-dependent assertion */
    {"GB0035", control_flow},                               /* a data-dependent branch on an object's __bool__ */
    {"GB0036", tensor_tracing},                             /* a data-dependent shape */
    {"GB0037", tensor_tracing},                             /* the same, no meta kernel */
    {"GB0043", unsupported},                                /* an operator that does not comply */
    {"GB0049", unsupported},    {"GB0072", tensor_tracing}, /* an in-place operator on an input */
    {"GB0087", unsupported}, /* an operator without a fake implementation: NotImplementedError */
    {"GB0090", unsupported}, /* an operator that does not run with fake tensors */
    {"GB0109", tensor_tracing}, {"GB0112", unsupported},  /* a TypeError the operator raises */
    {"GB0123", tensor_tracing},                           /* backward() */
    {"GB0124", tensor_tracing},                           /* .item() */
    {"GB0170", control_flow},   {"GB0207", control_flow}, /* sorting by tensors */
    {"GB0208", tensor_tracing},                           /* a torch function that leaves the world of tensors */
    {"GB0219", unsupported},                              /* the backend failed */
    {"GB0221", unsupported},                              /* a context manager, whatever it is made of */
    {"GB0222", unsupported},                              /* a set with tensors in it */
    {"GB0246", tensor_tracing},                           /* one_hot without num_classes */
    {"GB0264", tensor_tracing},                           /* a parameter made while tracing */
    {"GB0273", unsupported},                              /* keyword arguments to an exception's constructor */
    {"GB4315", unsupported},                              /* a RuntimeError the operator raises */
    {"GB5976", tensor_tracing},                           /* data pointers */
    {"GB4198", tensor_tracing},                           /* deepcopy of a tensor */
    {"GB7000", control_flow},                             /* a break in a loop */
    {"GB7650", unsupported},                              /* a method of torch.Generator */
    {"GB9672", unsupported},
};

static const struct {
    const char *word, *category;
} words[] = {
    /* lower case; the first that occurs decides */
    {"opaque", unsupported},
    {"branch", control_flow},
    {"assert", control_flow},
    {"generator", control_flow},
    {"comprehension", control_flow},
    {"torch.cond", control_flow},
    {"while_loop", control_flow},
    {"torch._check", control_flow},
    {"in loop", control_flow},
    {"observed exception", control_flow},
    {"cleanup_throw", control_flow},
    {"except_handler", control_flow},
    {"next() call", control_flow},
    {"bytecode send", control_flow},
    {"send with", control_flow},
    {"bad expected type", control_flow},
    {"non-type expectation", control_flow},
    {"caught non-exception", control_flow},
    {"raise exception", control_flow},
    {"sort with", control_flow},
    {"key type for itertools", control_flow},
    {"list_richcompare", control_flow},
    {"failed to convert", unsupported}, /* an argument, an array of a kind that torch does not have */
    {"attr() with non-constant name", tensor_tracing},
    {"non-const setattr name", tensor_tracing},
    {"autograd.function", unsupported},
    {"subclass", unsupported},
    {"associative_scan", unsupported},
    {"torch.scan", unsupported},
    {"hop", unsupported},
    {"fake tensor", tensor_tracing},
    {"tensor", tensor_tracing},
    {".item", tensor_tracing},
    {"dynamic shape", tensor_tracing},
    {"data dependent", tensor_tracing},
    {"data-dependent", tensor_tracing},
    {"symint", tensor_tracing},
    {"symnode", tensor_tracing},
    {"symbolic", tensor_tracing},
    {"requires_grad", tensor_tracing},
    {"retain_grad", tensor_tracing},
    {"grad_fn", tensor_tracing},
    {"autograd.grad", tensor_tracing},
    {"autograd_grad", tensor_tracing},
    {"backward()", tensor_tracing},
    {"nn.parameter", tensor_tracing},
    {"`out=`", tensor_tracing},
    {"out= ", tensor_tracing},
    {"inference", tensor_tracing},
    {"stride", tensor_tracing},
};

static bool contains_lowered(gg_str s, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= s.len; i++) {
        size_t j = 0;
        while (j < len && tolower((unsigned char)s.ptr[i + j]) == word[j]) j++;
        if (j == len) return true;
    }
    return false;
}

const char *gg_break_category(gg_str id, gg_str type) {
    for (size_t i = 0; i < GG_COUNT(rows); i++)
        if (gg_str_is(id, rows[i].id)) return rows[i].category;
    for (size_t i = 0; i < GG_COUNT(words); i++)
        if (contains_lowered(type, words[i].word)) return words[i].category;
    return unsupported;
}
