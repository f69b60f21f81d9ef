/* The units of a text: what is compared to know whether an edit touched it.  Private to analysis/predict.
 *
 * Each statement of a module is a unit, and so is, apart from it, the body of each function: of the function that the statement is, or of the methods
 * of the class that it is.  A unit is known by its names, so that it is the same one wherever it moves, and two units of one key and one print have the
 * same tree.  Immutable once made.  Any thread. */
#ifndef GG_PREDICT_UNITS_H
#define GG_PREDICT_UNITS_H

#include "analysis/predict/syntax.h"

typedef struct gg__unit {
    uint64_t name;  /* of its names, which several may share */
    uint64_t key;   /* of its names, and which of those that share them it is */
    uint64_t print; /* of its text; of a text with syntax errors: as no other */
    gg_span span;   /* of a statement: with the bodies in it */
    uint32_t statement;
    uint32_t alike; /* that came behind the first of this key, and are told apart by a number */
    bool body;
} gg__unit;

typedef struct gg__statement {
    TSNode node; /* for as long as there is its tree */
    gg_span span;
    gg_span defines; /* a class or function that nothing decorates: its name; else empty */
    TSSymbol type;
    bool broken;           /* a syntax error in it */
    bool compiles;         /* it says "compile(" */
    uint32_t first, count; /* its units: itself, then its bodies from top to bottom */
} gg__statement;

typedef struct gg__units gg__units;

/* `before`: those of an earlier text, or NULL: what reads as it did there is not looked into again.  Nothing is found in them from then on. */
gg__units *gg__units_new(const gg_tree *tree, gg__units *before);
void gg__units_free(gg__units *units); /* NULL is fine */
uint32_t gg__units_count(const gg__units *units);
const gg__unit *gg__units_get(const gg__units *units, uint32_t index);
uint32_t gg__units_statements(const gg__units *units, const gg__statement **out);
uint32_t gg__units_find(const gg__units *units, uint64_t key, uint32_t near); /* UINT32_MAX: there is none */
uint32_t gg__units_at(const gg__units *units, uint32_t offset);               /* UINT32_MAX: between the statements */

/* Where an offset lies in its unit, counted without the bodies in it, and back. */
uint32_t gg__units_inside(const gg__units *units, uint32_t unit, uint32_t offset);
uint32_t gg__units_outside(const gg__units *units, uint32_t unit, uint32_t inside);

uint64_t gg__mix(uint64_t a, uint64_t b);
uint64_t gg__print_of(gg_str text);

#endif
