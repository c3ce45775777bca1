#pragma once
// libcurl's setters and getters are variadic, which Swift cannot call: each shape of argument gets one typed door.
#include <curl/curl.h>

static inline CURLcode larder_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
