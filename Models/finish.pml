/* Two producers with savepoints, two batches, a spare row: an enqueue into a batch against seal, finish and progress.

   larder_data.start_adding locks a row of `adding` of the batch, else the spare one, which counts for every batch; only
   then it reads whether the batch is open. A producer may do so in a savepoint, release it or roll it back, and add
   again, to the other batch. Sealing waits for nobody. A worker completes what is committed. The server crashes at any
   step: every open transaction is gone.

   Properties: 1 atomic enqueue, 16 never finished (maintenance_finish) nor shown finished (the view progress) while an
   enqueue into it is open, 6 exact totals. At the end: all batches are finished. */

#define ADDING(b) (b)
#define SPARE 2
#define BATCH(b) (3 + (b))
#define ROWS 5
#define TOTAL(b) (b)
#define FINISHED(b) (2 + (b))
#define COUNTS 4
#define NONE 255
#define SEALED 1
#define IS_FINISHED 4
#define WORKER 3
#define SEALER 4
#define FINISH 5
#define savepoint(t) ((t) + 5)
#define OWNERS 8

#include "core.pml"

hidden byte a_; hidden byte b_;
byte accepted[2] = 0;   /* items of committed transactions, counted apart from the ledger */

byte shown = NONE;      /* the items of batch 0 when it was shown finished: no more come */

inline audit() {
    holds(16, shown == NONE || total[TOTAL(0)] == shown);
    for (a_ : 0 .. 1) {
        holds(6, total[FINISHED(a_)] <= total[TOTAL(a_)]);
        if
        :: row[BATCH(a_)] & IS_FINISHED ->
            holds(16, total[FINISHED(a_)] == total[TOTAL(a_)]);
            for (b_ : 0 .. OWNERS - 1) { holds(16, added[b_].n[TOTAL(a_)] == 0) }
        :: else
        fi
    }
    a_ = 0; b_ = 0
}

/* The transaction that has a row of adding locked, also in a savepoint: pg_xact_status 'in progress'. */
#ifdef BUG_SAVEPOINTS
#define is_added_to(b) (locker[ADDING(b)] != 0 && locker[ADDING(b)] < savepoint(1) || locker[SPARE] != 0 && locker[SPARE] < savepoint(1))
#else
#ifdef BUG_SPARE
#define is_added_to(b) (locker[ADDING(b)] != 0)
#else
#define is_added_to(b) (locker[ADDING(b)] != 0 || locker[SPARE] != 0)
#endif
#endif

/* Rows of adding (bits 0, 1; 2: the spare one) that were locked at the reader's snapshot or later: their ids are not
   older than its oldest transaction, whether they were committed, rolled back or replaced since. */
byte since = 0;

/* One enqueue by owner o (t or its savepoint) into a batch; refused: LA001. */
inline enqueue(top, who, to_batch, refused) {
#ifdef BUG_LOCK_LATE
    refused = (row[BATCH(to_batch)] != 0);
#endif
    /* larder_data.start_adding: FOR UPDATE SKIP LOCKED; a row that the transaction has locked stays as it is. */
    atomic {
        if
        :: locker[ADDING(to_batch)] == top || locker[ADDING(to_batch)] == savepoint(top)
        :: locker[ADDING(to_batch)] == 0 -> locker[ADDING(to_batch)] = who; since = since | (1 << to_batch)
        :: locker[ADDING(to_batch)] != 0 && locker[ADDING(to_batch)] != top && locker[ADDING(to_batch)] != savepoint(top) ->
            if
            :: locker[SPARE] == top || locker[SPARE] == savepoint(top)
            :: locker[SPARE] == 0 -> locker[SPARE] = who; since = since | 4
            fi
        fi
    }
    /* larder_data.batch_for_enqueue: a statement after it. */
#ifndef BUG_LOCK_LATE
    refused = (row[BATCH(to_batch)] != 0);
#endif
    if
    :: !refused -> d_step { added[who].n[TOTAL(to_batch)] = added[who].n[TOTAL(to_batch)] + 1 }
    :: else
    fi
}

/* COMMIT, or ROLLBACK, a crash of the client, of the session or of the server. */
proctype producer(byte t; byte first; byte second) {
    bool refused = false;
    if
    :: enqueue(t, t, first, refused)
    :: enqueue(t, savepoint(t), first, refused);
        if
        :: release(savepoint(t), t)
        :: rollback(savepoint(t))     /* its locks are gone, too */
        fi
    fi;
    if
    :: enqueue(t, t, second, refused)
    :: skip
    fi;
    if
    :: d_step {
        for (a_ : 0 .. 1) { accepted[a_] = accepted[a_] + added[t].n[TOTAL(a_)] };
        publish(t); audit() }
    :: rollback(t)
    fi
}

/* larder.complete_v1 of an item, as far as the ledger sees it. */
proctype worker(byte t) {
end_idle:
    do
    :: d_step { total[FINISHED(0)] < total[TOTAL(0)] -> total[FINISHED(0)] = total[FINISHED(0)] + 1; audit() }
    :: d_step { total[FINISHED(1)] < total[TOTAL(1)] -> total[FINISHED(1)] = total[FINISHED(1)] + 1; audit() }
    od
}

/* larder.batch_seal */
proctype sealer(byte t) {
    byte b = 0;
    do
    :: b < 2 -> atomic { is_free(BATCH(b), t) -> set(BATCH(b), t, SEALED); commit(t); b++ }
    :: else -> break
    od
}

#define may_finish(b) (locker[BATCH(b)] == 0 && row[BATCH(b)] == SEALED && total[FINISHED(b)] == total[TOTAL(b)])
/* larder_data.maintenance_finish: three statements. */
proctype finish(byte t) {
    byte b = NONE; bool blocked = false;
end_idle:
#ifdef BUG_CHECK_FIRST
    atomic {
        if
        :: !(row[BATCH(0)] & IS_FINISHED) -> b = 0
        :: !(row[BATCH(1)] & IS_FINISHED) -> b = 1
        fi;
        blocked = is_added_to(b)
    }
    if
    :: may_finish(b) -> lock(BATCH(b), t)
    :: else -> goto over
    fi;
#else
    atomic {
        if
        :: may_finish(0) -> b = 0
        :: may_finish(1) -> b = 1
        fi;
        lock(BATCH(b), t)
    }
    blocked = is_added_to(b);
#endif
    if
#ifdef BUG_FINISH_ONCE
    :: !blocked -> d_step { set(BATCH(b), t, IS_FINISHED) }
#else
    :: atomic { !blocked && total[FINISHED(b)] == total[TOTAL(b)] -> set(BATCH(b), t, IS_FINISHED) }
#endif
    :: else
    fi;
over:
    atomic { commit(t); b = NONE; blocked = false; goto end_idle }
}

/* The view progress: one snapshot of the batch and its counts, and after it the row locks of that moment.
   larder_data.is_being_added_to with the snapshot. */
proctype reader(byte b) {
    bool over; byte items;
    d_step {
        over = (row[BATCH(b)] & SEALED) && total[FINISHED(b)] == total[TOTAL(b)];
        items = total[TOTAL(b)];
        since = (locker[ADDING(0)] != 0) + 2 * (locker[ADDING(1)] != 0) + 4 * (locker[SPARE] != 0)
    }
    atomic {
#ifdef BUG_SHOWN
        over = over && !is_added_to(b);
#else
        over = over && !is_added_to(b) && !(since & ((1 << b) | 4));
#endif
        if
        :: over -> shown = items; audit()
        :: else
        fi
    }
}

proctype quiet() {
    atomic {
        timeout;
        for (a_ : 0 .. 1) {
            holds(16, row[BATCH(a_)] & IS_FINISHED);
            holds(1, total[TOTAL(a_)] == accepted[a_])
        }
    }
}

init {
    atomic {
        run producer(1, 0, 1);
        run producer(2, 0, 0);
        run worker(WORKER);
        run sealer(SEALER);
        run finish(FINISH);
        run reader(0);
        run quiet()
    }
}
