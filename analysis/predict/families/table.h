/* Calls that are found by the name of what is called: one row each.  Private to analysis/predict/families. */
#ifndef GG_PREDICT_TABLE_H
#define GG_PREDICT_TABLE_H

#include "analysis/predict/predict.h"

enum {
    GG__OF_TENSOR = 1,    /* a method of a tensor; without any of these four: a function, by its whole path */
    GG__OF_MODULE = 2,    /* … of a module */
    GG__OF_ARRAY = 4,     /* … of a NumPy array */
    GG__OF_OBJECT = 8,    /* … of an object of a library's class: "threading.Lock.acquire" */
    GG__ON_INPUT = 16,    /* … of a tensor that came in as it is */
    GG__WITH_TENSOR = 32, /* some argument is a tensor */
    GG__WITH_MODULE = 64, /* … or a module */
    GG__BARE = 128,       /* no argument is given */
    GG__STRIDED = 1024,   /* no layout is given */
    GG__WITH_ARRAY = 512, /* some argument is an array that the graph computes, or a tensor */
    GG__TRACED = 256,     /* nothing is found: Dynamo traces it, unlike what a row behind it says of others */
};

typedef struct gg__call_row {
    const char *path; /* "time.*": all that begins so */
    const char *id;   /* NULL: the rule's own */
    gg__rule rule;
    unsigned flags;
} gg__call_row;

/* Finds the first row that fits the call. */
void gg__find_row(gg__walk *w, const gg__call *call, const gg__call_row *rows, size_t count);

#endif
