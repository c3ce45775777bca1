#pragma once
// c-ares without its headers, which redeclare socket types that Swift imports from Glibc.

/// Queries to name servers and their sockets. Confined to one thread.
typedef struct larder_ares larder_ares;

enum {
    LARDER_ARES_FOUND = 0,
    LARDER_ARES_NOT_FOUND = 1,
    LARDER_ARES_TIMED_OUT = 2,
    LARDER_ARES_UNREACHABLE = 3,
    LARDER_ARES_SERVER_FAILED = 4
};

/// The result: `count` addresses of 17 bytes each, the byte 4 or 6 and then the address in network order.
typedef void (*larder_ares_done)(void *context, int outcome, const unsigned char *addresses, int count);

/// A server has `timeout_ms` to respond, twice as long in each further one of `tries`. `servers` replaces the ones of
/// `/etc/resolv.conf`: `address:port,…`, NULL to keep them. NULL when memory is short or `servers` is malformed.
larder_ares *larder_ares_new(int timeout_ms, int tries, const char *servers);

/// Ends all queries; their callbacks are called.
void larder_ares_free(larder_ares *ares);

/// Queries the addresses of a name, only of `family` 4 or 6, or of both (0); `done` is called once, possibly
/// before the return.
void larder_ares_query(larder_ares *ares, const char *host, int family, larder_ares_done done, void *context);

/// Sleeps until `event` is signalled, a response arrives or a query times out, at most `maximum_ms` (-1: no limit), and
/// runs what is due.
void larder_ares_wait(larder_ares *ares, int event, int maximum_ms);

/// A descriptor that ends the sleep; below 0 when the process has none left.
int larder_ares_event(void);

/// Signals the descriptor, from any thread.
void larder_ares_signal(int event);
