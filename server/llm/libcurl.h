/* libcurl, loaded when a model is first asked: its thirty libraries would take every start 6 ms and some MB.  Private to server/llm/.  Any thread. */
#ifndef GG_LIBCURL_H
#define GG_LIBCURL_H

#define CURL_DISABLE_TYPECHECK /* its macros call the functions by name */
#include <curl/curl.h>

#define GG__CURL_FUNCTIONS(X)   \
    X(curl_easy_cleanup)        \
    X(curl_easy_getinfo)        \
    X(curl_easy_init)           \
    X(curl_easy_setopt)         \
    X(curl_easy_strerror)       \
    X(curl_global_init)         \
    X(curl_multi_add_handle)    \
    X(curl_multi_cleanup)       \
    X(curl_multi_info_read)     \
    X(curl_multi_init)          \
    X(curl_multi_perform)       \
    X(curl_multi_poll)          \
    X(curl_multi_remove_handle) \
    X(curl_multi_wakeup)        \
    X(curl_slist_append)        \
    X(curl_slist_free_all)

typedef struct gg__curl {
#define GG__MEMBER(name) __typeof__(name) *name; /* NOLINT(bugprone-macro-parentheses): it is what is declared */
    GG__CURL_FUNCTIONS(GG__MEMBER)
#undef GG__MEMBER
} gg__curl;

/* Loaded and set up; NULL when there is none on this machine.  May take 100 ms: not for the loop. */
const gg__curl *gg__curl_load(void);

#endif
