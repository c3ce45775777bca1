#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// Which connections wait for the rest of a request. The library limits the silence of a connection, not the time of a
/// request: some clients that send a byte now and then would take all connections, also from probes.
/// All is called on the thread of the server.

/// A connection.
struct larder_place {
    bool is_used, is_waiting;
    int socket;
    /// When it began to wait, in seconds, and in which order.
    time_t since;
    uint64_t number;
};

struct larder_waiting {
    struct larder_place *places;
    unsigned room, seconds;
    uint64_t last;
};

/// Connections that are kept free for new clients.
enum { larder_waiting_reserve = 4 };

/// For `room` connections, each of which has `seconds` for the head and body of a request. False without memory.
bool larder_waiting_start(struct larder_waiting *all, unsigned room, unsigned seconds);
void larder_waiting_stop(struct larder_waiting *all);

/// A new connection. Ends the connections that have waited too long, and the one that has waited longest where only the
/// reserve is left. NULL without room.
struct larder_place *larder_waiting_enter(struct larder_waiting *all, int socket);

/// Its request is answered: it waits for the next one from now on.
void larder_waiting_again(struct larder_waiting *all, struct larder_place *place);
