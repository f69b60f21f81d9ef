/* What code does where nothing is chosen: `x[i] += f(x[i])` of an empty i.  Private to repair/.  Any thread.
 *
 * An author who asks first whether anything is chosen, or goes over those only for which something is, saves work and breaks the graph.  Where the code
 * does nothing then, it need not be asked. */
#ifndef GG_REPAIR_NOTHING_H
#define GG_REPAIR_NOTHING_H

#include "repair/syntax.h"

enum { GG__MAX_NOTHING = 12 };

typedef struct gg__nothing {
    const gg_rule_input *in;
    TSNode block;                    /* what need not run: names that it binds have to be its own */
    gg_str masks[GG__MAX_NOTHING];   /* expressions without a true element, as they are written */
    gg_str indices[GG__MAX_NOTHING]; /* names of indices without an element */
    size_t mask_count, index_count;
    bool bools; /* the masks are of bools, by which elements are chosen: numbers would be indices */
} gg__nothing;

/* False where there is no room. */
bool gg__is_no_mask(gg__nothing *n, gg_str text);
/* Learns what a binding chooses by one of the masks: `i, j = torch.where(m)`. */
bool gg__learn_nothing(gg__nothing *n, TSNode statement);
/* … by whatever mask, which is known to choose nothing. */
bool gg__learn_indices(gg__nothing *n, TSNode statement);
bool gg__is_no_index(const gg__nothing *n, TSNode name);
/* Do the statements from that one on, to the end of their block, nothing but compute with no rows and store none? */
bool gg__does_nothing(gg__nothing *n, TSNode first);

/* quiet.c: reading, arithmetic and calls that change nothing, draw nothing and do not fail where tensors have no rows: of torch's functions, and of modules
 * whose classes the file shows to be so. */
bool gg__is_quiet(const gg_rule_input *in, TSNode expression);

/* hits.c: a loop over the indices for which a mask has a true element, `for i in m.sum((1, 2)).nonzero(as_tuple=True)[0].tolist():`, in ascending order */
typedef struct gg__hits {
    TSNode loop,
        statement; /* statement: which gives the indices a name in front of the loop; null where they have none */
    TSNode sized;  /* the name of a tensor; how many indices there are is the size of its first dimension */
    TSNode mask;   /* the name of the mask, of which an index chooses along `axis` */
    int32_t rank, axis;
    bool tensors, rows; /* the indices are tensors without dimensions; with one dimension */
} gg__hits;
bool gg__read_hits(const gg_rule_input *in, TSNode loop, gg__hits *out);

#endif
