#pragma once
// libcurl's setters and getters are variadic, which Swift cannot call: one function for each type of argument.
#include <curl/curl.h>
#include <stdbool.h>

static inline CURLcode larder_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

/// libcurl copies the text, except for CURLOPT_ERRORBUFFER, which is set by larder_curl_set_pointer.
static inline CURLcode larder_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

/// The list must live until the option is set again or the handle is released.
static inline CURLcode larder_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

/// libcurl copies the data (CURLOPT_COPYPOSTFIELDS).
static inline CURLcode larder_curl_set_data(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

/// Basic or Digest, as the origin requests.
static inline long larder_curl_auth_basic_or_digest(void) { return (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST); }

/// A list that the caller frees; NULL when libcurl has none.
static inline struct curl_slist *larder_curl_get_list(CURL *handle, CURLINFO info) {
    struct curl_slist *value = NULL;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : NULL;
}

/// Whether there was no memory for something, or, since libcurl 8.6, a limit of its own (CURLE_TOO_LARGE, 100).
static inline bool larder_curl_lacks_room(CURLcode code) { return code == CURLE_OUT_OF_MEMORY || (int)code == 100; }

/// The four callbacks of a transfer, all with the same `context`.
static inline void larder_curl_set_callbacks(CURL *handle, curl_write_callback on_header, curl_write_callback on_body,
                                             curl_opensocket_callback on_socket, curl_prereq_callback on_request,
                                             void *context) {
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, on_request);
    curl_easy_setopt(handle, CURLOPT_PREREQDATA, context);
}

/// The callbacks of a request body and its position, both with the same `context`.
static inline void larder_curl_set_upload(CURL *handle, curl_read_callback on_read, curl_seek_callback on_seek,
                                          void *context) {
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(handle, CURLOPT_READDATA, context);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, context);
}

/// The length of the request body in bytes.
static inline void larder_curl_set_upload_size(CURL *handle, int64_t size) {
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
}

/// 0 when libcurl has no value.
static inline long larder_curl_get_long(CURL *handle, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

/// For sizes in bytes and times in microseconds; -1 when libcurl has no value.
static inline curl_off_t larder_curl_get_offset(CURL *handle, CURLINFO info) {
    curl_off_t value = -1;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : -1;
}

static inline CURLMcode larder_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
