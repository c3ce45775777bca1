#pragma once
#include <stdbool.h>
#include <stddef.h>

/// An HTTP/1.1 server with a thread of its own. MHD_start_daemon takes a variable number of arguments, which Swift
/// cannot pass.
typedef struct larder_http larder_http;

/// A request that is to be answered once. It is valid until larder_http_end_answer.
typedef struct larder_http_request larder_http_request;

/// Called on the thread of the server for each request. It returns at once and answers then or later, on any thread, by
/// larder_http_begin_answer or larder_http_begin_file, larder_http_add_header and larder_http_end_answer.
typedef void (*larder_http_handler)(void *context, larder_http_request *request);

/// Called on the thread of the server before the body of a request: how many bytes of it are kept. The request has no
/// body then, and is not to be answered.
typedef size_t (*larder_http_limit)(void *context, larder_http_request *request);

/// Serves on a listening socket, which it closes at its end, also when it fails: then NULL. At most `connections` at
/// once, each closed after `timeout` seconds without a byte. A new connection closes those that have not sent their
/// request for `longest` seconds, and, when few are left, the one that has waited longest.
larder_http *larder_http_start(int socket, unsigned connections, unsigned timeout, unsigned longest,
                               larder_http_limit limit, larder_http_handler handler, void *context);

const char *larder_http_method(const larder_http_request *request);
/// Unescaped, without the query.
const char *larder_http_path(const larder_http_request *request);
/// A header of the request, or NULL. Valid until the handler returns.
const char *larder_http_header(larder_http_request *request, const char *name);
/// A parameter of the query, unescaped, or NULL. Valid until the handler returns.
const char *larder_http_argument(larder_http_request *request, const char *name);
/// Whether the body was longer than its limit, or than the memory; then it was dropped.
bool larder_http_is_too_long(const larder_http_request *request);
const void *larder_http_body(const larder_http_request *request, size_t *length);

/// Whether the client has closed its side of the connection. The library does not look for that while a request waits
/// for its answer. Not after larder_http_begin_answer.
bool larder_http_has_gone(const larder_http_request *request);

/// Copies the body.
void larder_http_begin_answer(larder_http_request *request, unsigned status, const void *body, size_t length);
/// Sends `length` bytes of a file from `offset`; closes the descriptor, also when it fails.
void larder_http_begin_file(larder_http_request *request, unsigned status, int file, size_t offset, size_t length);
void larder_http_add_header(larder_http_request *request, const char *name, const char *value);
/// Sends the answer. The request is invalid afterwards.
void larder_http_end_answer(larder_http_request *request);

/// An answer whose end is not known when it begins. It has two owners: who sends, and the connection.
typedef struct larder_http_stream larder_http_stream;

/// Begins an answer that larder_http_push continues, in place of larder_http_begin_answer; NULL without memory. It must
/// be ended by larder_http_end_stream.
larder_http_stream *larder_http_begin_stream(larder_http_request *request, unsigned status);
/// Sends bytes, on any thread, without waiting: they are copied. False when the client has gone, or when it has not
/// read the last megabyte. No bytes only ask that.
bool larder_http_push(larder_http_stream *stream, const void *bytes, size_t length);

/// How many bytes the stream takes now; -1 when the client has gone.
ptrdiff_t larder_http_room(larder_http_stream *stream);
/// Ends the answer after the bytes pushed. The stream is invalid afterwards.
void larder_http_end_stream(larder_http_stream *stream);

/// Closes all connections and waits for the thread. All requests must be answered.
void larder_http_stop(larder_http *server);
