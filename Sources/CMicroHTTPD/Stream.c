#include "CMicroHTTPD.h"
#include "Request.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/// Bytes that a client may leave unread.
static const size_t most = 1 << 20;

struct larder_http_stream {
    struct MHD_Connection *connection;
    /// Of the connection; valid until it is closed.
    int socket;
    /// Protects the following.
    pthread_mutex_t lock;
    char *bytes;
    size_t length;
    /// The library waits for bytes.
    bool is_suspended;
    /// No byte follows.
    bool is_ended;
    /// The connection is closed.
    bool is_closed;
};

/// Ends one of the two ownerships, under the lock; the last one frees.
static void release(larder_http_stream *stream, bool is_last) {
    pthread_mutex_unlock(&stream->lock);
    if (!is_last) return;
    pthread_mutex_destroy(&stream->lock);
    free(stream->bytes);
    free(stream);
}

/// Called on the thread of the server when the client can take bytes.
static ssize_t next(void *context, uint64_t position, char *place, size_t space) {
    (void)position;
    larder_http_stream *stream = context;
    ssize_t count = 0;
    pthread_mutex_lock(&stream->lock);
    if (stream->length > 0) {
        count = (ssize_t)(stream->length < space ? stream->length : space);
        memcpy(place, stream->bytes, (size_t)count);
        stream->length -= (size_t)count;
        memmove(stream->bytes, stream->bytes + count, stream->length);
    } else if (stream->is_ended) {
        count = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        // Otherwise the library asks again at once, and for ever.
        stream->is_suspended = true;
        MHD_suspend_connection(stream->connection);
    }
    pthread_mutex_unlock(&stream->lock);
    return count;
}

/// Called when the response is destroyed, after the end of the connection.
static void closed(void *context) {
    larder_http_stream *stream = context;
    pthread_mutex_lock(&stream->lock);
    stream->is_closed = true;
    release(stream, stream->is_ended);
}

/// Under the lock.
static void resume(larder_http_stream *stream) {
    if (!stream->is_suspended || stream->is_closed) return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->connection);
}

larder_http_stream *larder_http_begin_stream(larder_http_request *request, unsigned status) {
    larder_http_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->connection = request->connection;
    stream->socket = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    pthread_mutex_init(&stream->lock, NULL);
    request->status = status;
    request->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, next, stream, closed);
    if (request->response != NULL) return stream;
    pthread_mutex_lock(&stream->lock);
    release(stream, true);
    return NULL;
}

/// Whether the client has closed its side. The library does not look while the connection is suspended.
static bool has_gone(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool larder_http_has_gone(const larder_http_request *request) {
    return has_gone(MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
}

bool larder_http_push(larder_http_stream *stream, const void *bytes, size_t length) {
    pthread_mutex_lock(&stream->lock);
    bool is_wanted = !stream->is_closed && length <= most - stream->length && !has_gone(stream->socket);
    // realloc() to no bytes would free them.
    if (is_wanted && length > 0) {
        char *grown = realloc(stream->bytes, stream->length + length);
        is_wanted = grown != NULL;
        if (is_wanted) {
            stream->bytes = grown;
            memcpy(grown + stream->length, bytes, length);
            stream->length += length;
            resume(stream);
        }
    }
    pthread_mutex_unlock(&stream->lock);
    return is_wanted;
}

ptrdiff_t larder_http_room(larder_http_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    ptrdiff_t room = stream->is_closed || has_gone(stream->socket) ? -1 : (ptrdiff_t)(most - stream->length);
    pthread_mutex_unlock(&stream->lock);
    return room;
}

void larder_http_end_stream(larder_http_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->is_ended = true;
    resume(stream);
    release(stream, stream->is_closed);
}
