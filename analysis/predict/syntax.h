/* Python's syntax nodes by number: a walk over a tree asks for a node's type at every step, and a string comparison is dear there.
 * Private to analysis/predict.  Any thread. */
#ifndef GG_PREDICT_SYNTAX_H
#define GG_PREDICT_SYNTAX_H

#include "analysis/gg_analysis.h"

#define GG__NODES(X)                                                                                                   \
    X(module)                                                                                                          \
    X(block)                                                                                                           \
    X(function_definition)                                                                                             \
    X(class_definition)                                                                                                \
    X(decorated_definition)                                                                                            \
    X(decorator)                                                                                                       \
    X(expression_statement)                                                                                            \
    X(assignment) X(augmented_assignment) X(return_statement) X(if_statement) X(elif_clause) X(else_clause) X(         \
        for_statement) X(while_statement) X(try_statement) X(except_clause) X(except_group_clause) X(finally_clause)   \
        X(with_statement) X(with_clause) X(with_item) X(raise_statement) X(assert_statement) X(delete_statement) X(    \
            pass_statement) X(break_statement) X(continue_statement) X(import_statement) X(import_from_statement)      \
            X(wildcard_import) X(dotted_name) X(aliased_import) X(relative_import) X(global_statement) X(              \
                nonlocal_statement) X(match_statement) X(case_clause) X(identifier) X(attribute) X(subscript) X(slice) \
                X(call) X(argument_list) X(keyword_argument) X(list_splat) X(dictionary_splat) X(binary_operator)      \
                    X(boolean_operator) X(not_operator) X(unary_operator) X(comparison_operator)                       \
                        X(conditional_expression) X(lambda) X(list) X(tuple) X(set) X(dictionary) X(pair)              \
                            X(list_comprehension) X(set_comprehension) X(dictionary_comprehension)                     \
                                X(generator_expression) X(for_in_clause) X(if_clause) X(string) X(concatenated_string) \
                                    X(interpolation) X(integer) X(float) X(true) X(false) X(none) X(ellipsis)          \
                                        X(parenthesized_expression) X(named_expression) X(await) X(yield)              \
                                            X(as_pattern) X(as_pattern_target) X(expression_list) X(pattern_list)      \
                                                X(tuple_pattern) X(list_pattern) X(list_splat_pattern) X(parameters)   \
                                                    X(lambda_parameters) X(typed_parameter) X(default_parameter)       \
                                                        X(typed_default_parameter) X(dictionary_splat_pattern)         \
                                                            X(keyword_separator) X(positional_separator) X(type)       \
                                                                X(comment) X(format_expression) X(type_conversion)     \
                                                                    X(string_content) X(print_statement)               \
                                                                        X(exec_statement) X(future_import_statement)

typedef enum gg__node {
    GG__NODE_OTHER,
#define X(name) GG__NODE_##name,
    GG__NODES(X)
#undef X
} gg__node;

#define GG__FIELDS(X)                                                                                            \
    X(name)                                                                                                      \
    X(body)                                                                                                      \
    X(parameters)                                                                                                \
    X(return_type)                                                                                               \
    X(superclasses)                                                                                              \
    X(definition)                                                                                                \
    X(left)                                                                                                      \
    X(right) X(type) X(operator) X(condition) X(consequence) X(alternative) X(value) X(object) X(attribute)      \
        X(subscript) X(function) X(arguments) X(argument) X(key) X(alias) X(module_name) X(operators) X(subject) \
            X(expression)

typedef enum gg__field_name {
#define X(name) GG__FIELD_##name,
    GG__FIELDS(X)
#undef X
        GG__FIELD_COUNT
} gg__field_name;

gg__node gg__node_of(TSNode node); /* GG__NODE_OTHER for a null node too */
/* A null node's field is null. */
TSNode gg__field_of(TSNode node, gg__field_name field);
#define GG__FIELD(node, name) gg__field_of((node), GG__FIELD_##name)

typedef struct gg__nodes {
    TSNode *items;
    uint32_t len;
} gg__nodes;
/* The named children but comments. */
gg__nodes gg__children(TSNode parent, gg_arena *arena);

#endif
