/* Calls that only pass time or free memory: nothing is computed by them.  See texts.h.  Any thread. */
#include "repair/scalar.h"
#include "repair/texts.h"

/* The wait is for nobody: what others do meanwhile, in threads, processes or on the way of a signal, would be seen too early. */
static bool waits(const gg_tree *tree, TSNode argument, uint32_t count) {
    static const char *const others[] = {"threading",
                                         "Thread",
                                         "_thread",
                                         "concurrent",
                                         "multiprocessing",
                                         "queue",
                                         "asyncio",
                                         "subprocess",
                                         "signal",
                                         "socket",
                                         "sched",
                                         "Popen",
                                         "multiprocess",
                                         "futures",
                                         "ThreadPoolExecutor",
                                         "Process",
                                         "Timer",
                                         "distributed",
                                         "dist",
                                         "Event",
                                         "Queue",
                                         "ProcessPoolExecutor"};
    double seconds = -1;
    return count == 1 && gg__literal_value(tree, argument, &seconds) && seconds >= 0 && seconds <= 1e6 &&
           !gg__has_word(tree, gg_tree_root(tree), others, GG_COUNT(others));
}

/* Nobody asks what there still is, or is called when it goes. */
static bool frees(const gg_tree *tree, TSNode argument, uint32_t count) {
    static const char *const asking[] = {
        "weakref",       "WeakValueDictionary", "WeakKeyDictionary", "WeakSet", "__del__",   "finalize", "get_objects",
        "get_referrers", "get_count",           "get_stats",         "garbage", "callbacks", "ref",      "proxy",
        "tracemalloc",   "get_referents"};
    double generation = -1;
    bool known = count == 0 || (count == 1 && gg_node_is(argument, "integer") &&
                                gg__literal_value(tree, argument, &generation) && generation <= 2);
    return known && !gg__has_word(tree, gg_tree_root(tree), asking, GG_COUNT(asking));
}

bool gg__is_idle(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           argument = gg__child(arguments, 0);
    uint32_t count = gg__child_count(arguments);
    bool sleeps = gg__refers_to(tree, function, "time.sleep");
    if ((!sleeps && !gg__refers_to(tree, function, "gc.collect")) || !gg_node_is(arguments, "argument_list") ||
        gg__has_star_import(tree))
        return false;
    return sleeps ? waits(tree, argument, count) : frees(tree, argument, count);
}
