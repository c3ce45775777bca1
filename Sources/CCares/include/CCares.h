#pragma once
// c-ares without its headers: those bring the system's socket types, which Swift has from elsewhere already.

/// Questions to name servers, and the sockets they go over. Confined to one thread.
typedef struct larder_ares larder_ares;

enum { LARDER_ARES_FOUND = 0, LARDER_ARES_NOT_FOUND = 1, LARDER_ARES_TIMED_OUT = 2 };

/// An answer: `count` addresses of 17 bytes each, 4 or 6 and then the address in network order, IPv4's in the first 4.
typedef void (*larder_ares_done)(void *context, int outcome, const unsigned char *addresses, int count);

/// A server has `timeout_ms` to answer, twice as long in each further round of `tries`. NULL when memory is short.
larder_ares *larder_ares_new(int timeout_ms, int tries);

/// Ends all questions, which are answered.
void larder_ares_free(larder_ares *ares);

/// Asks for a name's addresses of both kinds; `done` is called once, perhaps before this returns.
void larder_ares_ask(larder_ares *ares, const char *host, larder_ares_done done, void *context);

/// Sleeps until the bell rings, an answer comes or a question's time is up, or for `longest_ms` (-1: for ever), and does
/// what is due.
void larder_ares_wait(larder_ares *ares, int bell, int longest_ms);

/// A descriptor that ends the sleep; below 0 when there is none.
int larder_ares_bell(void);

/// Rings, from any thread.
void larder_ares_ring(int bell);
