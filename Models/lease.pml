/* Claims, heartbeats, leases and rescue: two workers, a crash of each at every step, a worker that is stopped and goes
   on, a crash of the server at every step and an outage of any length.

   Time is counted in ticks, of which a lease has LEASE. A tick passes only when each statement has ended, each running
   worker has sent a heartbeat, the task rescue has run and the WAL writer has flushed: that is what "while any worker
   runs" promises; a stopped or dead worker and a server that is down promise nothing. Claims and heartbeats commit
   without waiting for the disk (larder_data.skip_flush): a crash of the server takes back what was not flushed.
   Completions and rescues flush everything before them (wait_for_flush).

   Publishing, which is a rename after a look at the lease, is one step.

   Properties: 2 one record, 3 whole files and at least one execution, 4 stale runs, 7 rescue in time, 14 outages. */

#ifndef J
#define J 2
#endif
#define W 2
#define LEASE 3
#define MARGIN 1
#define LONG 8      /* ages are not counted further */
#ifndef CLAIMS
#define CLAIMS 2    /* of each worker */
#endif
#define READY(j) (j)
#define RUNNING(j) (J + (j))
#define CLAIM_LOCK(w) (2 * J + (w))
#define WORKER(w) (2 * J + W + (w))
#define ROWS (2 * J + 2 * W)
#define RECORDS(j) (j)
#define COUNTS J
#define CLAIM(w) (1 + (w))
#define RESCUE 3
#define OWNERS 4
#define HAS_ENDED 1
#define NONE 255
/* (worker_id, claim_no) */
#define claim_of(w, n) (1 + 4 * (w) + (n))
#define worker_of(v) (((v) - 1) / 4)

#include "core.pml"

hidden byte a_;

/* What has reached the disk. */
byte disk[ROWS]; byte disk_total[COUNTS]; byte disk_age[W];

bool up = true; bool crashed = false; byte epoch = 0;
byte age[W];            /* ticks since heartbeat_at of the worker's row */
byte rescue_age = 0;    /* ticks since the task rescue ran */
byte away_age = LONG;   /* ticks since larder_data.server.away_until */
byte away_length = 0;   /* from away_from to away_until */
byte valid[W];          /* how long the worker takes its lease for valid: by its own clock */
bool alive[W] = true; bool stopped[W] = false; bool beaten[W] = false; bool has_rescued = false;
byte faults = 0;        /* deaths and stops of workers */
byte file[J] = 0;       /* under the real name: 0 none, 1 partial, 2 whole */
bool taken[J * W] = false;      /* the claim of this worker was rescued */
bool answered[J] = false;       /* a worker knows that its completion was recorded */
byte late[J] = 0;       /* ticks since the end of the lease of the dead worker that holds the job */

inline audit() {
    for (a_ : 0 .. J - 1) {
        holds(2, total[RECORDS(a_)] + (row[READY(a_)] != 0) + (row[RUNNING(a_)] != 0) == 1);
        holds(14, !answered[a_] || total[RECORDS(a_)] == 1)
    }
    a_ = 0
}

inline flush() {
    for (a_ : 0 .. ROWS - 1) { disk[a_] = row[a_] };
    for (a_ : 0 .. J - 1) { disk_total[a_] = total[a_] };
    for (a_ : 0 .. W - 1) { disk_age[a_] = age[a_] };
    a_ = 0
}

/* larder_data.lease_end */
#define had_lease_before(w) (age[w] < LEASE + away_age + away_length)
#ifdef BUG_OUTAGE
#define lease_is_over(w) (age[w] >= LEASE)
#else
#define lease_is_over(w) (age[w] >= LEASE && !(had_lease_before(w) && away_age < LEASE))
#endif
/* larder_data.has_lease: also while no rescue has run since the lease ended. */
#define has_lease(w) (!lease_is_over(w) || rescue_age + LEASE > age[w])

#define is_ready(j) (row[READY(j)] && locker[READY(j)] == 0)
#if J > 2
#define some_ready() (is_ready(0) || is_ready(1) || is_ready(2))
#else
#define some_ready() (is_ready(0) || is_ready(1))
#endif

proctype worker(byte w) {
    byte j = NONE; byte n = 0; byte e = 0; bool published = false;
idle:
end_idle:
    atomic {
        if
        :: !alive[w] -> goto gone
        /* larder.claim_v1: claim_lock, claim_context, pick_of_queue with SKIP LOCKED */
        :: up && !stopped[w] && locker[CLAIM_LOCK(w)] == 0 && !(row[CLAIM_LOCK(w)] & HAS_ENDED) && has_lease(w) && n < CLAIMS &&
            valid[w] > 0 && some_ready() ->
            e = epoch;
            if
            :: is_ready(0) -> j = 0
            :: is_ready(1) -> j = 1
#if J > 2
            :: is_ready(2) -> j = 2
#endif
            fi;
#ifndef BUG_CLAIM_LOCK
            locker[CLAIM_LOCK(w)] = CLAIM(w); own[CLAIM_LOCK(w)] = row[CLAIM_LOCK(w)];
#endif
            lock(READY(j), CLAIM(w))
        fi
    }
    /* larder_data.take_jobs and the commit, which the disk may not have. A worker that dies here may have claimed. */
    atomic {
        if
        :: epoch != e -> j = NONE; goto idle
        :: up && epoch == e ->
            change(READY(j), CLAIM(w), 0);
            change(RUNNING(j), CLAIM(w), claim_of(w, n));
            commit(CLAIM(w))
        fi
    }
    /* The attempt: writes a temporary file, looks at the lease and renames. */
    atomic {
        if
        :: !alive[w] -> goto gone
        :: alive[w] && !stopped[w] && valid[w] == 0 -> skip     /* publishes nothing */
#ifdef BUG_NO_LEASE_CHECK
        :: alive[w] && !stopped[w] ->
#else
        :: alive[w] && !stopped[w] && valid[w] > 0 ->
#endif
            holds(4, !taken[w * J + j]);
#ifdef BUG_NO_RENAME
            if :: file[j] == 0 -> file[j] = 1 :: else fi;
#else
            file[j] = 2;
#endif
            published = true
#ifdef BUG_COMPLETE_EARLY
        :: alive[w] && !stopped[w] -> published = true
#endif
        fi
    }
#ifdef BUG_NO_RENAME
    atomic {
        if
        :: !alive[w] -> goto gone
        :: alive[w] && !stopped[w] -> if :: file[j] == 1 -> file[j] = 2 :: else fi
        fi
    }
#endif
    if
    :: !published -> goto over
    :: else
    fi;
complete:
    /* larder.complete_v1, larder_data.complete_succeeded: the fence. */
    atomic {
        if
        :: !alive[w] -> goto gone
        :: alive[w] && !stopped[w] && up && locker[RUNNING(j)] == 0 ->
            e = epoch;
#ifdef BUG_FENCE
            if
            :: row[RUNNING(j)] == 0 -> goto answer
            :: else
            fi;
#else
            if
            :: row[RUNNING(j)] != claim_of(w, n) -> goto answer     /* stale, or what history says */
            :: else
            fi;
#endif
            holds(4, row[RUNNING(j)] == claim_of(w, n));
            holds(3, file[j] == 2);
            change(RUNNING(j), CLAIM(w), 0);
            add(RECORDS(j), CLAIM(w), 1)
        fi
    }
    atomic {
        if
        :: epoch != e -> goto complete          /* sent again */
        :: up && epoch == e ->
            d_step {
                publish(CLAIM(w));
#ifndef BUG_ASYNC_COMPLETE
                flush();
#endif
                audit()
            }
        fi
    }
answer:
    atomic {
        if
        :: !alive[w] -> goto gone
        :: alive[w] && epoch == e && total[RECORDS(j)] == 1 -> answered[j] = true
        :: alive[w] && total[RECORDS(j)] != 1
        :: alive[w] && epoch != e && up -> goto complete        /* the answer was lost with the connection */
        fi
    }
over:
    atomic { j = NONE; published = false; n++; goto idle };
gone:
    skip
}

/* A late one waits for the disk: a crash of the server cannot take it back from a worker that relies on it. */
inline beat(w) {
    beaten[w] = true;
    if
    :: !(row[CLAIM_LOCK(w)] & HAS_ENDED) && has_lease(w) ->
        d_step {
#ifndef BUG_LATE_HEARTBEAT
            if
            :: age[w] > MARGIN -> age[w] = 0; flush()
            :: else -> age[w] = 0
            fi;
#endif
            age[w] = 0;
            valid[w] = LEASE - MARGIN
        }
    :: else -> valid[w] = 0     /* lease_expired: the worker starts anew, under another id */
    fi
}
/* Its statement waits for the row of the worker, which rescue locks. */
#define beats(w) (alive[w] && !stopped[w] && up && !beaten[w] && locker[WORKER(w)] == 0)
/* larder.heartbeat_v1: refused for a worker that was rescued or whose lease has ended. */
proctype heartbeats() {
end_idle:
    do
    :: atomic { beats(0) -> beat(0) }
    :: atomic { beats(1) -> beat(1) }
    od
}
#if J > 2
#define holds_job(w) (has_claim(0, w) || has_claim(1, w) || has_claim(2, w))
#else
#define holds_job(w) (has_claim(0, w) || has_claim(1, w))
#endif
#define has_claim(j, w) (row[RUNNING(j)] != 0 && worker_of(row[RUNNING(j)]) == w)

#define runs(w) (alive[w] && !stopped[w])
/* larder_data.maintenance_rescue, called by any running worker. */
proctype rescue() {
    byte e = 0; byte gone_ = 0;
end_idle:
    atomic {
        up && !has_rescued && (runs(0) || runs(1));
        e = epoch;
        /* note_outage: no run for two thirds of a lease. */
        if
        :: rescue_age >= LEASE * 2 / 3 -> away_age = 0; away_length = rescue_age
        :: else
        fi;
        /* dead_workers: those whose lease has ended. */
        gone_ = lease_is_over(0) + 2 * lease_is_over(1);
#ifndef BUG_WORKER_LOCK
        if :: gone_ & 1 -> lock(WORKER(0), RESCUE) :: else fi;
        if :: gone_ & 2 -> lock(WORKER(1), RESCUE) :: else fi;
#endif
        /* One that holds no job, and no claim of it is under way, is not looked at again. */
        for (a_ : 0 .. W - 1) {
            if
            :: ((gone_ >> a_) & 1) && locker[CLAIM_LOCK(a_)] == 0 && !holds_job(a_) -> change(CLAIM_LOCK(a_), RESCUE, HAS_ENDED)
            :: else
            fi
        };
        for (a_ : 0 .. J - 1) {
            if
            :: row[RUNNING(a_)] != 0 && locker[RUNNING(a_)] == 0 && ((gone_ >> worker_of(row[RUNNING(a_)])) & 1) &&
                !(row[CLAIM_LOCK(worker_of(row[RUNNING(a_)]))] & HAS_ENDED) ->
                lock(RUNNING(a_), RESCUE)
            :: else
            fi
        };
        a_ = 0
    }
    atomic {
        if
        :: epoch != e
        :: up && epoch == e ->
            d_step {
                for (a_ : 0 .. J - 1) {
                    if
                    :: locker[RUNNING(a_)] == RESCUE ->
                        gone_ = worker_of(row[RUNNING(a_)]);
                        /* An outage counts against no job: only a worker that died or was stopped loses one. */
                        holds(14, !alive[gone_] || stopped[gone_] || faults > 0);
                        taken[gone_ * J + a_] = true;
                        late[a_] = 0;
                        change(RUNNING(a_), RESCUE, 0); change(READY(a_), RESCUE, 1)
                    :: else
                    fi
                };
                a_ = 0
            }
            d_step { publish(RESCUE); audit(); flush(); rescue_age = 0; has_rescued = true }
        fi;
        gone_ = 0;
        goto end_idle
    }
}
inline older(x) { if :: x < LONG -> x++ :: else fi }

/* A claim may take longer than a tick. */
#define is_quiet() (locker[RUNNING(0)] == 0 && locker[RUNNING(1)] == 0 && locker[RUNNING(J - 1)] == 0)

/* A tick. An outage takes up to four, more than a lease: nothing depends on how much more. */
proctype time() {
end_idle:
    do
    :: atomic { (!up && rescue_age <= LEASE || (up && is_quiet() && (beaten[0] || !runs(0)) && (beaten[1] || !runs(1)) &&
        (has_rescued || !(runs(0) || runs(1))))) ->
        d_step {
            if :: up -> flush() :: else fi;
            for (a_ : 0 .. W - 1) {
                older(age[a_]); older(disk_age[a_]);
                if :: valid[a_] > 0 -> valid[a_]-- :: else fi;
                beaten[a_] = false
            };
            older(rescue_age); older(away_age);
            for (a_ : 0 .. J - 1) {
                if
                :: up && row[RUNNING(a_)] != 0 && !alive[worker_of(row[RUNNING(a_)])] && (runs(0) || runs(1)) &&
                    lease_is_over(worker_of(row[RUNNING(a_)])) -> late[a_]++
                :: else -> late[a_] = 0
                fi;
                /* Within lease + 2 s: at the first run of the task after the end of the lease. */
                holds(7, late[a_] <= 1)
            };
            a_ = 0;
            has_rescued = false
        } }
    od
}
/* Faults: a worker dies or is stopped and goes on, the server crashes and starts. */
proctype fault() {
end_idle:
    do
    :: atomic { faults < FAULTS && alive[0] -> alive[0] = false; faults++; holds(3, file[0] != 1 && file[1] != 1) }
    :: atomic { faults < FAULTS && alive[1] && !stopped[1] -> stopped[1] = true; faults++ }
    :: atomic { stopped[1] -> stopped[1] = false }
    :: atomic { up && !crashed && CRASHES ->
        d_step {
            crashed = true; up = false; epoch++;
            for (a_ : 0 .. ROWS - 1) { row[a_] = disk[a_]; own[a_] = 0; locker[a_] = 0 };
            for (a_ : 0 .. J - 1) {
                total[a_] = disk_total[a_];
                added[1].n[a_] = 0; added[2].n[a_] = 0; added[3].n[a_] = 0
            };
            for (a_ : 0 .. W - 1) { age[a_] = disk_age[a_] };
            a_ = 0;
            audit()
        } }
    :: atomic { !up -> up = true }
    od
}

init {
    atomic {
        d_step {
            for (a_ : 0 .. J - 1) { row[READY(a_)] = 1; disk[READY(a_)] = 1 };
            for (a_ : 0 .. W - 1) { valid[a_] = LEASE - MARGIN };
            a_ = 0
        }
#ifndef ONE_CLAIMS
        run worker(0);
#endif
        run worker(1);
        run heartbeats();
        run rescue();
        run time();
        run fault()
    }
}
