/* parse_only THREADS FILE…: reads and parses each file with the grammar the server uses, and drops the tree.  What bench/scan.py holds
 * `check --static` against. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/gg_analysis.h"

static struct {
    char **files;
    size_t count;
    atomic_size_t next, failures;
} work;

static void *parse_some(void *unused) {
    (void)unused;
    for (size_t i = atomic_fetch_add(&work.next, 1); i < work.count; i = atomic_fetch_add(&work.next, 1)) {
        gg_text *text = NULL;
        gg_tree *tree = NULL;
        if (gg_text_read(&text, work.files[i], NULL) != 0 || gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL) != 0)
            atomic_fetch_add(&work.failures, 1);
        gg_tree_unref(&tree);
        gg_text_unref(&text);
    }
    return NULL;
}

int main(int argc, char **argv) {
    enum { MAX_THREADS = 64 };
    long threads = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    if (threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: parse_only THREADS FILE...\n");
        return 2;
    }
    work.files = argv + 2;
    work.count = (size_t)argc - 2;
    pthread_t ids[MAX_THREADS];
    long begun = 0;
    while (begun < threads && pthread_create(&ids[begun], NULL, parse_some, NULL) == 0) begun++;
    for (long i = 0; i < begun; i++) pthread_join(ids[i], NULL);
    return begun == 0 || atomic_load(&work.failures) ? 1 : 0;
}
