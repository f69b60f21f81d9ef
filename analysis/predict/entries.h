/* The entries of a file, as Dynamo would be given them, in pieces that are walked one apart from the other.  Private to analysis/predict. */
#ifndef GG_PREDICT_ENTRIES_H
#define GG_PREDICT_ENTRIES_H

#include "analysis/predict/predict.h"

typedef GG_LIST(TSNode) gg__definitions;

/* What is declared of a file's inputs.  Each walks what it declares and adds the classes and functions that this covers. */
void gg__walk_yielded(gg__walk *w, gg__definitions *covered);    /* graphglue_inputs() */
void gg__walk_get_inputs(gg__walk *w, gg__definitions *covered); /* Model, get_init_inputs(), get_inputs() */
void gg__walk_testcases(gg__walk *w, gg__definitions *covered);  /* TESTCASES */
/* A class or function that the module calls `name`, of which no inputs are declared: its parameters' declarations must do. */
void gg__walk_undeclared(gg__walk *w, gg_str name, const gg__value *value);
/* A function, or the methods of a class, that none of the others go into: other files may call them from compiled code. */
void gg__walk_uncalled(gg__walk *w, gg_str name, const gg__value *value);

#endif
