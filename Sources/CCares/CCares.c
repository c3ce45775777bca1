#include "CCares.h"

#include <ares.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAXIMUM_ADDRESSES = 64, ADDRESS_BYTES = 17 };

struct larder_ares {
    ares_channel channel;
    /// How many times a name server sent bytes.
    unsigned long received;
};

struct query {
    larder_ares_done done;
    void *context;
    larder_ares *ares;
    /// `received` when the query began.
    unsigned long received;
};

// The sockets of c-ares as it would make them itself, so that it is known whether a name server sent anything.

static ares_socket_t open_socket(int family, int type, int protocol, void *ares) {
    (void)ares;
    return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int close_socket(ares_socket_t socket, void *ares) {
    (void)ares;
    return close(socket);
}

static int connect_socket(ares_socket_t socket, const struct sockaddr *address, ares_socklen_t length, void *ares) {
    (void)ares;
    return connect(socket, address, length);
}

static ares_ssize_t receive(ares_socket_t socket, void *bytes, size_t size, int flags, struct sockaddr *sender,
                            ares_socklen_t *length, void *ares) {
    ares_ssize_t count = recvfrom(socket, bytes, size, flags, sender, length);
    if (count > 0) ((larder_ares *)ares)->received++;
    return count;
}

static ares_ssize_t send_vector(ares_socket_t socket, const struct iovec *vector, int count, void *ares) {
    (void)ares;
    return writev(socket, vector, count);
}

static const struct ares_socket_functions socket_functions = {open_socket, close_socket, connect_socket, receive, send_vector};

larder_ares *larder_ares_new(int timeout_ms, int tries, const char *servers) {
    struct ares_options options = {.timeout = timeout_ms, .tries = tries};
    larder_ares *ares = calloc(1, sizeof *ares);
    if (!ares) return NULL;
    if (ares_library_init(ARES_LIB_INIT_NONE) == ARES_SUCCESS &&
        ares_init_options(&ares->channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES) == ARES_SUCCESS) {
        ares_set_socket_functions(ares->channel, &socket_functions, ares);
        if (!servers || ares_set_servers_ports_csv(ares->channel, servers) == ARES_SUCCESS) return ares;
        ares_destroy(ares->channel);
    }
    free(ares);
    return NULL;
}

void larder_ares_free(larder_ares *ares) {
    ares_destroy(ares->channel);
    free(ares);
}

static void respond(void *argument, int status, int timeouts, struct ares_addrinfo *found) {
    (void)timeouts;
    struct query query = *(struct query *)argument;
    free(argument);
    unsigned char addresses[MAXIMUM_ADDRESSES * ADDRESS_BYTES] = {0};
    int count = 0;
    for (struct ares_addrinfo_node *node = found ? found->nodes : NULL; node && count < MAXIMUM_ADDRESSES; node = node->ai_next) {
        unsigned char *address = addresses + count * ADDRESS_BYTES;
        if (node->ai_family == AF_INET) {
            address[0] = 4;
            memcpy(address + 1, &((struct sockaddr_in *)(void *)node->ai_addr)->sin_addr, 4);
        } else if (node->ai_family == AF_INET6) {
            address[0] = 6;
            memcpy(address + 1, &((struct sockaddr_in6 *)(void *)node->ai_addr)->sin6_addr, 16);
        } else {
            continue;
        }
        count++;
    }
    if (found) ares_freeaddrinfo(found);
    // c-ares returns ARES_ECONNREFUSED when no socket to a name server can be opened, whatever the reason, and version
    // 1.18 also when every one answered SERVFAIL, NOTIMP or REFUSED.
    int is_refused = status == ARES_ECONNREFUSED && query.ares->received != query.received;
    int outcome = status == ARES_SUCCESS && count > 0                    ? LARDER_ARES_FOUND
                  : status == ARES_ETIMEOUT                              ? LARDER_ARES_TIMED_OUT
                  : is_refused || status == ARES_ESERVFAIL || status == ARES_ENOTIMP || status == ARES_EREFUSED
                      ? LARDER_ARES_SERVER_FAILED
                  : status == ARES_ECONNREFUSED || status == ARES_ENOMEM ? LARDER_ARES_UNREACHABLE
                                                                         : LARDER_ARES_NOT_FOUND;
    query.done(query.context, outcome, addresses, count);
}

void larder_ares_query(larder_ares *ares, const char *host, int family, larder_ares_done done, void *context) {
    struct ares_addrinfo_hints hints = {
        .ai_family = family == 4 ? AF_INET : family == 6 ? AF_INET6 : AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct query *query = malloc(sizeof *query);
    if (!query) {
        done(context, LARDER_ARES_UNREACHABLE, NULL, 0);
        return;
    }
    *query = (struct query){done, context, ares, ares->received};
    ares_getaddrinfo(ares->channel, host, NULL, &hints, respond, query);
}

void larder_ares_wait(larder_ares *ares, int event, int maximum_ms) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd polled[ARES_GETSOCK_MAXNUM + 1] = {{.fd = event, .events = POLLIN}};
    nfds_t count = 1;
    int interest = ares_getsock(ares->channel, sockets, ARES_GETSOCK_MAXNUM);
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        short events = (ARES_GETSOCK_READABLE(interest, i) ? POLLIN : 0) | (ARES_GETSOCK_WRITABLE(interest, i) ? POLLOUT : 0);
        if (events) polled[count++] = (struct pollfd){.fd = sockets[i], .events = events};
    }
    struct timeval next;
    if (ares_timeout(ares->channel, NULL, &next)) {
        long due = next.tv_sec * 1000 + (next.tv_usec + 999) / 1000;
        if (maximum_ms < 0 || due < maximum_ms) maximum_ms = (int)due;
    }
    if (poll(polled, count, maximum_ms) > 0) {
        eventfd_t signals;
        if (polled[0].revents) eventfd_read(event, &signals);
        for (nfds_t i = 1; i < count; i++) {
            if (!polled[i].revents) continue;
            ares_process_fd(ares->channel, polled[i].revents & ~POLLOUT ? polled[i].fd : ARES_SOCKET_BAD,
                            polled[i].revents & POLLOUT ? polled[i].fd : ARES_SOCKET_BAD);
        }
    }
    ares_process_fd(ares->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

int larder_ares_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void larder_ares_signal(int event) { eventfd_write(event, 1); }
