#pragma once
#include <stddef.h>

/// An HTTP/1.1 server with a thread of its own. MHD_start_daemon takes a variable number of arguments, which Swift
/// cannot pass.
typedef struct larder_http larder_http;

/// A request that is answered.
typedef struct larder_http_request larder_http_request;

/// Called on the thread of the server for each GET; it answers by one call of larder_http_answer.
typedef void (*larder_http_handler)(void *context, larder_http_request *request, const char *path);

/// Serves on a listening socket, which it closes at its end, also when it fails: then NULL. At most `connections` at
/// once, each closed after `timeout` seconds without a byte. Other methods than GET and HEAD are answered 405.
larder_http *larder_http_start(int socket, unsigned connections, unsigned timeout, larder_http_handler handler,
                               void *context);

/// Copies the body.
void larder_http_answer(larder_http_request *request, unsigned status, const char *content_type, const void *body,
                        size_t length);

/// Closes all connections and waits for the thread.
void larder_http_stop(larder_http *server);
