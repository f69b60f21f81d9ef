/* Which language model is asked, and where: settings, the environment, pyproject.toml, in this order.  Private to server/.  Any thread that may read
 * the environment. */
#ifndef GG_ENDPOINT_H
#define GG_ENDPOINT_H

#include "server/llm/api.h"
#include "server/options.h"

typedef struct gg_endpoint {
    const gg_api *api;
    char *url;   /* base: the API's path comes behind it */
    char *shown; /* the same without a query: what messages say */
    char *model;
    char *key_env;        /* the variable that has the key; NULL: there is none to send */
    bool key_asked;       /* a setting named it: without it nothing is sent */
    gg_words key_command; /* goes before the variable */
    char *ca_file, *proxy;
    bool loopback, plain; /* the host is this machine; http:// */
    uint32_t connect_ms, idle_ms, total_ms;
    double input_price, output_price; /* of a million tokens; negative: not said */
    const char *from;                 /* where the URL comes from, in words; static */
} gg_endpoint;

/* GG_ENOTFOUND: none is configured; GG_EPARAMS: it cannot be used so.  Words say what to set.  `trusted`: what pyproject.toml says of where the code and
 * the key go holds, too.  On an error *out is empty. */
int gg_endpoint_read(gg_endpoint *out, const gg_options *options, bool trusted, gg_error *err) GG_MUST_USE;
void gg_endpoint_clear(gg_endpoint *endpoint);
/* The cost of an exchange; negative where a price is not known. */
double gg_endpoint_cost(const gg_endpoint *endpoint, uint64_t input_tokens, uint64_t output_tokens);
/* Where requests go; the caller frees. */
char *gg_endpoint_target(const gg_endpoint *endpoint);
/* scheme://host[:port]/path, for people; "" when it is no URL.  The caller frees. */
char *gg_url_shown(const char *url);

#endif
