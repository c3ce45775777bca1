#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct larder_http_request {
    struct MHD_Connection *connection;
    char *method, *path, *body;
    size_t length, limit;
    bool has_limit, is_too_long, is_asked;
    struct MHD_Response *response;
    unsigned status;
    /// Protects the following: the answer may come from another thread while the handler returns.
    pthread_mutex_t lock;
    bool is_answered, is_suspended;
};
