/* Rows that a mask chooses, which go through a module and are stored back: for GG115.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_ROUTED_H
#define GG_REPAIR_ROUTED_H

#include "repair/syntax.h"

enum { GG__MAX_TEMPORARIES = 8 };

typedef struct gg__temporary {
    gg_str name;
    int32_t rank;
} gg__temporary;

typedef struct gg__routing {
    const gg_rule_input *in;
    gg_arena *arena;
    TSNode binding;           /* `i = torch.where(c)[0]`; null where a mask is read by its name */
    TSNode mask;              /* c, or that name */
    TSNode pair;              /* `w, selected` of torch.topk(…), where rows have several places; null */
    TSNode guard;             /* `if len(i) == 0: continue`, `if len(i) > 0:` around the rest; null */
    bool skips;               /* the former */
    gg_str row, place;        /* i, and n of `i, n = torch.where(c)`: the column */
    gg_str places, rows_text; /* which places of each row are chosen, and which rows */
    gg_str chosen;            /* the mask's name in the edit */
    gg_str torch;
    int64_t rows, columns; /* of the mask */
    TSNode first, last;    /* the statements that read the chosen rows */
    TSNode target;         /* what is stored into, the first */
    gg__temporary temporaries[GG__MAX_TEMPORARIES];
    size_t temporary_count, store_count;
    bool takes;      /* a module or an activation of chosen rows: else other rules do */
    gg_edits *edits; /* NULL: it is only looked at */
} gg__routing;

typedef struct gg__rows { /* of the expression for all rows */
    gg_str text;
    int32_t rank;
    bool loose; /* an operator's */
} gg__rows;

/* routed_mask.c: `i = torch.where(c)[0]`, or the mask that the statement reads by its name.  Fills in what is known of it. */
bool gg__routed_binding(gg__routing *r, TSNode statement);
bool gg__routed_mask(gg__routing *r, TSNode statement);
bool gg__is_routed_name(const gg__routing *r, TSNode node, gg_str name);
/* What was made of chosen rows, by its name; NULL: it is none. */
const gg__temporary *gg__routed_temporary(const gg__routing *r, TSNode node);
/* Does it read none of the chosen rows, nor which they are? */
bool gg__reads_no_chosen(const gg__routing *r, TSNode node);

/* routed_rows.c: the expression, of chosen rows, for all of them. */
bool gg__routed_rows(gg__routing *r, TSNode node, gg__rows *out);
gg_str
gg__routed_mask_text(const gg__routing *r,
                     int32_t rank); /* `chosen`, for tensors with as many dimensions as the target, or with one */
gg_str gg__routed_where(const gg__routing *r, gg_str mask, gg_str value, gg_str other);

#endif
