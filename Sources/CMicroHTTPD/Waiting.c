#include "Waiting.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

bool larder_waiting_start(struct larder_waiting *all, unsigned room, unsigned seconds) {
    *all = (struct larder_waiting){.room = room, .seconds = seconds};
    all->places = calloc(room, sizeof *all->places);
    return all->places != NULL;
}

void larder_waiting_stop(struct larder_waiting *all) { free(all->places); }

/// The connection sees the end of its input then, and the library closes it.
static void end(struct larder_place *place) {
    shutdown(place->socket, SHUT_RDWR);
    place->is_waiting = false;
}

struct larder_place *larder_waiting_enter(struct larder_waiting *all, int socket) {
    struct larder_place *free_place = NULL, *oldest = NULL;
    unsigned used = 1;
    time_t time = now();
    for (unsigned index = 0; index < all->room; index++) {
        struct larder_place *place = &all->places[index];
        if (!place->is_used) {
            free_place = place;
            continue;
        }
        used++;
        if (!place->is_waiting) continue;
        if (time - place->since > (time_t)all->seconds)
            end(place);
        else if (oldest == NULL || place->number < oldest->number)
            oldest = place;
    }
    if (used + larder_waiting_reserve > all->room && oldest != NULL) end(oldest);
    if (free_place == NULL) return NULL;
    *free_place = (struct larder_place){.is_used = true, .socket = socket};
    larder_waiting_again(all, free_place);
    return free_place;
}

void larder_waiting_again(struct larder_waiting *all, struct larder_place *place) {
    place->is_waiting = true;
    place->since = now();
    place->number = ++all->last;
}
