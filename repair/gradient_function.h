/* `torch.autograd.grad(s, x)` as the gradient of a function of x: for GG116.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_GRADIENT_FUNCTION_H
#define GG_REPAIR_GRADIENT_FUNCTION_H

#include "repair/outline.h"

typedef struct gg__gradient {
    TSNode call, statement; /* torch.autograd.grad(…); where it stands */
    TSNode taken;           /* what is replaced: `….grad(…)[0]`, or the call where it is unpacked */
    TSNode target;          /* the name that gets it; null where it is part of an expression */
    TSNode unpacked;        /* `(g,)`, `g,`: the pattern around the name; null */
    TSNode output;          /* s */
    gg__names inputs;       /* x */
    gg__names also;         /* names bound on the way that are read behind it */
    gg__stretch body;       /* the statements that make s of x */
    TSNode mark;            /* the statement, or the call, that sets requires_grad of x; null */
    TSNode marked; /* what the call marks, `E` of `E.requires_grad_(True)`; null where the mark is a statement */
    bool summed;   /* grad_outputs is ones */
    bool attached; /* create_graph=True */
    bool plain;    /* the statement is `g = torch.autograd.grad(s, x, create_graph=True)[0]`, and nothing else */
} gg__gradient;

/* The gradient whose making breaks at the site. */
bool gg__find_gradient(const gg_rule_input *in, gg__gradient *out);

/* gradient_body.c: the statements from a number on, in front of the `at`th, which takes the gradient: fills in `body` and `also`. */
bool gg__read_gradient_body(const gg_rule_input *in, gg__gradient *g, uint32_t from, uint32_t at);

#endif
