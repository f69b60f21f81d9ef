/* What a capture found of an entry, in a few words: the line above its class or function in an editor.
 * Threads: any. */
#include "analysis/private.h"

static gg_str counted(uint64_t count, const char *what, gg_arena *arena) {
    return gg_arena_printf(arena, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
}

static gg_str graphs_and_breaks(const gg_entry *entry, size_t sites, gg_arena *arena) {
    gg_str graphs = entry->graphs == 0   ? GG_STR("no graph")
                    : entry->graphs == 1 ? GG_STR("one graph")
                                         : counted((uint64_t)entry->graphs, "graph", arena);
    gg_str breaks = entry->break_count ? counted(entry->break_count, "break", arena) : GG_STR("no break");
    if (sites == 0 || sites == entry->break_count)
        return gg_arena_printf(arena, "%.*s, %.*s", GG_STR_ARG(graphs), GG_STR_ARG(breaks));
    gg_str places = counted(sites, "site", arena);
    return gg_arena_printf(arena, "%.*s, %.*s at %.*s", GG_STR_ARG(graphs), GG_STR_ARG(breaks), GG_STR_ARG(places));
}

static gg_str state_of(const gg_entry *entry, const gg_site_list *sites, gg_arena *arena) {
    size_t hit = 0;
    for (size_t i = 0; i < sites->len; i++)
        for (size_t j = 0; j < sites->items[i].entry_count; j++)
            if (gg_str_equal(sites->items[i].entries[j], entry->name)) {
                hit++;
                break;
            }
    switch (entry->status) {
    case GG_ENTRY_CAPTURED:
        return GG_STR("one graph");
    case GG_ENTRY_BREAKS:
        return graphs_and_breaks(entry, hit, arena);
    case GG_ENTRY_NOTHING:
        return GG_STR("nothing to capture");
    case GG_ENTRY_NO_INPUTS:
        return GG_STR("no example inputs");
    case GG_ENTRY_EAGER_ERROR:
        return GG_STR("fails, also without torch.compile");
    case GG_ENTRY_CAPTURE_ERROR:
        return GG_STR("fails under torch.compile");
    case GG_ENTRY_TIMEOUT:
        return GG_STR("timed out");
    case GG_ENTRY_CRASHED:
        return GG_STR("crashed");
    }
    return GG_STR("unknown");
}

gg_str gg_entry_summary(const gg_entry *entry, const gg_site_list *sites, gg_arena *arena) {
    const gg_cuda_use *cuda = &entry->cuda;
    gg_str state = state_of(entry, sites, arena);
    if (!cuda->asked) return state;
    if (gg_entry_lacks_device(entry)) return gg_arena_printf(arena, "%.*s (no CUDA device)", GG_STR_ARG(state));
    if (cuda->elapsed_ms < 0)
        return gg_arena_printf(arena, "%.*s, on %.*s", GG_STR_ARG(state), GG_STR_ARG(cuda->device));
    return gg_arena_printf(arena, "%.*s, %.3g ms on %.*s", GG_STR_ARG(state), cuda->elapsed_ms,
                           GG_STR_ARG(cuda->device));
}
