/* Sizes that were one in the capture, and that another call may give one tensor alone.  See grown.h. */
#include "repair/grown.h"
#include "repair/alias.h"
#include "repair/infer.h"

enum { MAX_SIZES = 5, MAX_GROWN = 160, PASSES = 3 };

static const int64_t other_size = 7919; /* one that nothing else has */

static bool is_in(const int64_t *sizes, size_t count, int64_t size) {
    for (size_t i = 0; i < count; i++)
        if (sizes[i] == size) return true;
    return false;
}

/* The sizes that one may become: those that others have, which it may meet, too. First the ones that are as far from the last dimension: broadcasting lets
 * these meet. */
static size_t sizes_of(const gg_break *record, int32_t behind, int64_t out[MAX_SIZES]) {
    size_t count = 0;
    out[count++] = other_size;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < record->fact_count; i++)
            for (int32_t j = 0; j < record->facts[i].rank; j++) {
                int64_t size = record->facts[i].shape[j];
                if (pass == 0 && record->facts[i].rank - 1 - j != behind) continue;
                if (size > 1 && count < MAX_SIZES && !is_in(out, count, size)) out[count++] = size;
            }
    return count;
}

static bool same_sizes(gg__meta m, const gg_fact *fact) {
    bool same = m.sort == GG__TENSOR && m.rank == fact->rank;
    for (int32_t i = 0; same && i < m.rank; i++) same = m.shape[i] == fact->shape[i];
    return same;
}

/* What a name was given in front of the statement, of which its sizes follow; null when they do not. */
static TSNode made_of(const gg_rule_input *in, TSNode statement, const gg_fact *fact) {
    TSNode value = gg__value_at(in->tree, statement, fact->name), none = {0};
    bool known = !ts_node_is_null(value) && !gg__reads(in->tree, value, fact->name);
    return known && same_sizes(gg__infer(in, value), fact) ? value : none;
}

static bool may_grow(const gg_rule_input *in, TSNode statement, const gg_fact *fact) {
    return fact->kind == GG_VALUE_TENSOR && fact->rank > 0 && fact->rank <= GG__MAX_RANK &&
           !gg_str_is(fact->type, "Parameter") && ts_node_is_null(made_of(in, statement, fact));
}

typedef struct trial {
    size_t fact;
    int32_t dim;
    int64_t size;
} trial;

static void set_shape(gg_fact *fact, const int64_t *shape, gg_arena *arena) {
    int64_t *own = gg_arena_alloc(arena, sizeof(*own) * (size_t)fact->rank);
    for (int32_t i = 0; i < fact->rank; i++) own[i] = shape[i];
    fact->shape = own;
}

/* The names that are made of the one that has grown. */
static void follow(const gg_rule_input *in, TSNode statement, gg__grown *out, gg_arena *arena) {
    const gg_break *record = in->site->first;
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < record->fact_count; i++) {
            const gg_fact *fact = &record->facts[i];
            if (fact->kind != GG_VALUE_TENSOR || fact->rank < 1 || fact->rank > GG__MAX_RANK) continue;
            TSNode value = made_of(in, statement, fact);
            if (ts_node_is_null(value)) continue;
            gg__meta m = gg__infer(&out->in, value);
            if (m.sort == GG__TENSOR && m.rank == fact->rank) set_shape(&out->facts[i], m.shape, arena);
        }
}

/* Where the `number`th trial takes place. */
static bool find(const gg_rule_input *in, TSNode statement, size_t number, trial *out) {
    const gg_break *record = in->site->first;
    size_t seen = 0;
    for (size_t i = 0; record && i < record->fact_count; i++) {
        const gg_fact *fact = &record->facts[i];
        for (int32_t dim = 0; dim < fact->rank; dim++) {
            if (fact->shape[dim] != 1 || !may_grow(in, statement, fact)) continue;
            int64_t sizes[MAX_SIZES];
            size_t count = sizes_of(record, fact->rank - 1 - dim, sizes);
            if (number < seen + count) {
                *out = (trial){i, dim, sizes[number - seen]};
                return true;
            }
            seen += count;
        }
    }
    return false;
}

bool gg__grow_too_often(const gg_rule_input *in, TSNode statement) {
    trial next;
    return find(in, statement, MAX_GROWN, &next);
}

bool gg__grow(const gg_rule_input *in, TSNode statement, size_t number, gg_arena *arena, gg__grown *out) {
    const gg_break *record = in->site->first;
    trial t;
    if (number >= MAX_GROWN || !find(in, statement, number, &t)) return false;
    const gg_fact *fact = &record->facts[t.fact];
    out->facts = gg_arena_alloc(arena, sizeof(*out->facts) * record->fact_count);
    for (size_t j = 0; j < record->fact_count; j++) out->facts[j] = record->facts[j];
    int64_t shape[GG__MAX_RANK] = {0};
    for (int32_t j = 0; j < fact->rank; j++) shape[j] = fact->shape[j];
    shape[t.dim] = t.size;
    set_shape(&out->facts[t.fact], shape, arena);
    out->record = *record;
    out->record.facts = out->facts;
    out->site = *in->site;
    out->site.first = &out->record;
    out->in = *in;
    out->in.site = &out->site;
    out->in.hindrance = NULL;
    follow(in, statement, out, arena);
    return true;
}

bool gg__have_other_sizes(gg__meta a, gg__meta b) {
    return a.sort == GG__TENSOR && b.sort == GG__TENSOR && !gg__same_shape(a, b);
}

bool gg__grow_apart(const gg_rule_input *in, TSNode a, TSNode b) {
    gg_arena *arena = gg_arena_new();
    TSNode statement = gg__statement(a);
    while (gg_node_is(gg__parent(statement), "block") && gg_node_is(gg__parent(gg__parent(statement)), "if_statement"))
        statement = gg__parent(gg__parent(statement)); /* in front of the branch */
    gg__grown grown;
    bool apart = gg__grow_too_often(in, statement);
    for (size_t i = 0; !apart && gg__grow(in, statement, i, arena, &grown); i++)
        apart = gg__have_other_sizes(gg__infer(&grown.in, a), gg__infer(&grown.in, b));
    gg_arena_free(arena);
    return apart;
}
