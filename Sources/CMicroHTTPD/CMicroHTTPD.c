#include "CMicroHTTPD.h"
#include "Request.h"
#include "Waiting.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct larder_http {
    struct MHD_Daemon *daemon;
    larder_http_handler handler;
    void *context;
    larder_http_limit limit;
    struct larder_waiting waiting;
};

const char *larder_http_method(const larder_http_request *request) { return request->method; }

const char *larder_http_path(const larder_http_request *request) { return request->path; }

const char *larder_http_header(larder_http_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *larder_http_argument(larder_http_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool larder_http_is_too_long(const larder_http_request *request) { return request->is_too_long; }

const void *larder_http_body(const larder_http_request *request, size_t *length) {
    *length = request->length;
    return request->body;
}

void larder_http_begin_answer(larder_http_request *request, unsigned status, const void *body, size_t length) {
    request->response = MHD_create_response_from_buffer(length, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    request->status = status;
}

void larder_http_begin_file(larder_http_request *request, unsigned status, int file, size_t offset, size_t length) {
    request->response = MHD_create_response_from_fd_at_offset64(length, file, offset);
    request->status = status;
    if (request->response == NULL) close(file);
}

void larder_http_add_header(larder_http_request *request, const char *name, const char *value) {
    if (request->response != NULL) MHD_add_response_header(request->response, name, value);
}

void larder_http_end_answer(larder_http_request *request) {
    pthread_mutex_lock(&request->lock);
    request->is_answered = true;
    if (request->is_suspended) MHD_resume_connection(request->connection);
    pthread_mutex_unlock(&request->lock);
}

static void destroy(larder_http_request *request) {
    if (request == NULL) return;
    // Waits for the thread that has just answered.
    pthread_mutex_lock(&request->lock);
    pthread_mutex_unlock(&request->lock);
    pthread_mutex_destroy(&request->lock);
    if (request->response != NULL) MHD_destroy_response(request->response);
    free(request->path);
    free(request->method);
    free(request->body);
    free(request);
}

static larder_http_request *create(struct MHD_Connection *connection, const char *path, const char *method) {
    larder_http_request *request = calloc(1, sizeof *request);
    if (request == NULL) return NULL;
    request->connection = connection;
    request->path = strdup(path);
    request->method = strdup(method);
    pthread_mutex_init(&request->lock, NULL);
    if (request->path != NULL && request->method != NULL) return request;
    destroy(request);
    return NULL;
}

static struct larder_place *place(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void opened(void *context, struct MHD_Connection *connection, void **state,
                   enum MHD_ConnectionNotificationCode code) {
    larder_http *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        int socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *state = larder_waiting_enter(&server->waiting, socket);
    } else if (*state != NULL) {
        ((struct larder_place *)*state)->is_used = false;
    }
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code) {
    (void)code;
    larder_http *server = context;
    if (place(connection) != NULL) larder_waiting_again(&server->waiting, place(connection));
    destroy(*state);
    *state = NULL;
}

/// Keeps a part of the body; a body that is too long is read and dropped.
static void append(larder_http_request *request, const char *bytes, size_t length) {
    if (request->is_too_long) return;
    bool fits = length <= request->limit - request->length;
    char *body = fits ? realloc(request->body, request->length + length) : NULL;
    if (body == NULL) {
        request->is_too_long = true;
        free(request->body);
        request->body = NULL;
        request->length = 0;
        return;
    }
    memcpy(body + request->length, bytes, length);
    request->body = body;
    request->length += length;
}

static enum MHD_Result count_length(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind, (void)value;
    unsigned *count = context;
    // A name with a space before the colon is another one to this library, and the same to other servers.
    if (strpbrk(name, " \t") != NULL) *count += 2;
    if (strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0) *count += 1;
    return MHD_YES;
}

/// Whether a proxy before this server may read another length of the body in the headers (RFC 9112, section 6.3). The
/// library takes the first one.
static bool is_ambiguous(struct MHD_Connection *connection) {
    unsigned count = 0;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_length, &count);
    return count > 1;
}

static enum MHD_Result refuse(struct MHD_Connection *connection) {
    static const char text[] = "the length of the body is ambiguous\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof text - 1, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_BAD_REQUEST, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state) {
    (void)version;
    larder_http *server = context;
    larder_http_request *request = *state;
    // The first call of a request comes before its body.
    if (request == NULL) {
        if (is_ambiguous(connection)) return refuse(connection);
        *state = create(connection, path, method);
        return *state == NULL ? MHD_NO : MHD_YES;
    }
    if (*upload_size != 0) {
        if (!request->has_limit) request->limit = server->limit(server->context, request);
        request->has_limit = true;
        append(request, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (!request->is_asked) {
        request->is_asked = true;
        if (place(connection) != NULL) place(connection)->is_waiting = false;
        server->handler(server->context, request);
        pthread_mutex_lock(&request->lock);
        request->is_suspended = !request->is_answered;
        if (request->is_suspended) MHD_suspend_connection(connection);
        bool is_suspended = request->is_suspended;
        pthread_mutex_unlock(&request->lock);
        if (is_suspended) return MHD_YES;
    }
    return request->response == NULL ? MHD_NO : MHD_queue_response(connection, request->status, request->response);
}

larder_http *larder_http_start(int socket, unsigned connections, unsigned timeout, unsigned longest,
                               larder_http_limit limit, larder_http_handler handler, void *context) {
    larder_http *server = malloc(sizeof *server);
    if (server == NULL || !larder_waiting_start(&server->waiting, connections, longest)) {
        free(server);
        close(socket);
        return NULL;
    }
    server->handler = handler;
    server->context = context;
    server->limit = limit;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
        timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_CONNECTION, opened, server, MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_END);
    if (server->daemon != NULL) return server;
    close(socket);
    larder_waiting_stop(&server->waiting);
    free(server);
    return NULL;
}

void larder_http_stop(larder_http *server) {
    MHD_stop_daemon(server->daemon);
    larder_waiting_stop(&server->waiting);
    free(server);
}
