#include "CMicroHTTPD.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct larder_http {
    struct MHD_Daemon *daemon;
    larder_http_handler handler;
    void *context;
};

struct larder_http_request {
    struct MHD_Connection *connection;
    enum MHD_Result result;
};

void larder_http_answer(larder_http_request *request, unsigned status, const char *content_type, const void *body,
                        size_t length) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) return;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    request->result = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state) {
    (void)version, (void)upload;
    larder_http *server = context;
    // The first call of a request comes before its body, which is dropped.
    if (*state == NULL) {
        *state = server;
        return MHD_YES;
    }
    if (*upload_size != 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    larder_http_request request = {connection, MHD_NO};
    if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0) {
        server->handler(server->context, &request, path);
    } else {
        static const char text[] = "only GET and HEAD\n";
        larder_http_answer(&request, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", text, sizeof text - 1);
    }
    return request.result;
}

larder_http *larder_http_start(int socket, unsigned connections, unsigned timeout, larder_http_handler handler,
                               void *context) {
    larder_http *server = malloc(sizeof *server);
    if (server == NULL) {
        close(socket);
        return NULL;
    }
    server->handler = handler;
    server->context = context;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, socket,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
    if (server->daemon != NULL) return server;
    close(socket);
    free(server);
    return NULL;
}

void larder_http_stop(larder_http *server) {
    MHD_stop_daemon(server->daemon);
    free(server);
}
