/* links: gg_analysis */
/* Prediction: any text that parses at all ends soon, and its findings lie in it, in order, with words. */
#include "analysis/gg_analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    gg_str bytes = {(const char *)data, size < 65536 ? size : 65536};
    if (gg_text_new(&text, bytes, NULL) == 0 && gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL) == 0) {
        gg_arena *arena = gg_arena_new();
        gg_prediction_list list = gg_predict(tree, arena);
        for (size_t i = 0; i < list.len; i++) {
            const gg_prediction *p = &list.items[i];
            if (p->span.start > p->span.end || p->span.end > gg_text_bytes(text).len) __builtin_trap();
            if (p->message.len == 0 || p->id.len == 0 || p->certain == (p->guard.len > 0)) __builtin_trap();
            if (gg_utf8_valid_prefix(p->message) != p->message.len) __builtin_trap();
            if (i && list.items[i - 1].span.start > p->span.start) __builtin_trap();
        }
        gg_arena_free(arena);
    }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return 0;
}
