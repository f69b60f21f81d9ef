/* See libcurl.h. */
#include "server/llm/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/gg_base.h"

static gg__curl loaded;
static bool usable;

static bool find(void *library, const char *name, void *out, size_t size) {
    void *found = dlsym(library, name);
    if (found) memcpy(out, &found, size); /* ISO C has no other way from an object's pointer to a function's */
    return found != NULL;
}

static void load(void) {
    /* Of one ABI; Debian's flavours differ in what they take TLS from. */
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"};
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < GG_COUNT(names); i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    usable = true;
#define GG__FIND(name) usable = find(library, #name, &loaded.name, sizeof(loaded.name)) && usable;
    GG__CURL_FUNCTIONS(GG__FIND)
#undef GG__FIND
    usable = usable && loaded.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const gg__curl *gg__curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return usable ? &loaded : NULL;
}
