/* One URL, two batches, three jobs after each other: enqueue, join, claim, complete, cancel, retry, rescue, seal, finish.

   Two producers enqueue the URL, each into its batch, and may roll back. Two workers claim, complete as succeeded,
   failed for good, failed for now or cancelled, or die with the job. An operator cancels a batch (CANCEL), cancels the
   job (CANCEL_JOB) or retries failures (RETRY). Each task of maintenance is a session of its own. Any transaction may be
   rolled back by a lock_timeout; what a crash of a session or of the server leaves is the same, as everything here
   commits to disk. The queue with asynchronous commits is in lease.pml, savepoints are in finish.pml.

   Properties: 2 one record, 5 one live job, 6 exact totals, 16 finished; 20: what docs/guarantees.md#invariants says of
   states and items. At the end: every item has ended, both batches are finished. */

#define J 3
#define I 4
#define JOB(j) (j)
#define READY(j) (J + (j))
#define RUNNING(j) (2 * J + (j))
#define SCHEDULED(j) (3 * J + (j))
#define SUSPENDED(j) (4 * J + (j))
#define HISTORY(j) (5 * J + (j))
#define FAILED(j) (6 * J + (j))
#define ITEM(i) (7 * J + (i))
#define FAILED_ITEM(i) (7 * J + I + (i))
#define BATCH(b) (7 * J + 2 * I + (b))
#define ADDING(b) (7 * J + 2 * I + 2 + (b))
#define ROWS (7 * J + 2 * I + 4)
#define TOTAL(b) (b)
#define FINISHED(b) (2 + (b))
#define COUNTS 4
#define NONE 255

/* Owners: the producers, the workers, the operator, the tasks. */
#define PRODUCER(n) (1 + (n))
#define WORKER(n) (3 + (n))
#define OPERATOR 5
#define SEALER 6
#define ITEMS 7
#define CANCELLED_TASK 8
#define RESCUE 9
#define FINISH 10
#define PROMOTE 11
#define OWNERS 12

/* A row of job: its own items, its batch, cancelled_at, is_revived. */
#define LIVE 1
#define CANCELLED 2
#define REVIVED 4
#define job(items, b) (LIVE + 8 * (items) + 32 * (b))
#define items_of(v) (((v) >> 3) & 3)
#define batch_of(v) (((v) >> 5) & 1)
/* A row of job_item: is_new, job_id, batch_id. One item each. */
#define NEW 2
#define item(is_new, j, b) (1 + NEW * (is_new) + 4 * (j) + 16 * (b))
#define job_of_item(v) (((v) >> 2) & 3)
#define batch_of_item(v) (((v) >> 4) & 1)
/* A row of batch. */
#define SEALED 1
#define IS_CANCELLED 2
#define IS_FINISHED 4
/* The outcome of a record. */
#define SUCCEEDED 1
#define FAILURE 2
#define CANCELLATION 3

#include "core.pml"

hidden byte a_; hidden byte b_; hidden byte c_; hidden byte d_;

inline audit() {
    c_ = 0;
    for (a_ : 0 .. J - 1) {
        d_ = (row[READY(a_)] != 0) + (row[RUNNING(a_)] != 0) + (row[SCHEDULED(a_)] != 0) + (row[SUSPENDED(a_)] != 0);
        holds(20, d_ == (row[JOB(a_)] != 0));
        holds(2, row[JOB(a_)] == 0 || row[HISTORY(a_)] == 0);
        c_ = c_ + (row[JOB(a_)] != 0)
    }
    holds(5, c_ <= 1);
    for (a_ : 0 .. 1) {
        c_ = 0;
        for (b_ : 0 .. J - 1) {
            if
            :: row[JOB(b_)] != 0 && batch_of(row[JOB(b_)]) == a_ -> c_ = c_ + items_of(row[JOB(b_)])
            :: else
            fi
        }
        for (b_ : 0 .. I - 1) {
            if
            :: row[ITEM(b_)] != 0 && batch_of_item(row[ITEM(b_)]) == a_ -> c_++
            :: else
            fi
        }
        /* total = open + finished, and the open ones are there. */
        holds(6, total[TOTAL(a_)] == total[FINISHED(a_)] + c_);
        if
        :: row[BATCH(a_)] & IS_FINISHED ->
            holds(16, c_ == 0);
            for (b_ : 0 .. OWNERS - 1) { holds(16, added[b_].n[TOTAL(a_)] == 0) }
        :: else
        fi
    }
    for (a_ : 0 .. I - 1) {
        /* An item that maintenance has met belongs to a live job. */
        holds(20, row[ITEM(a_)] == 0 || (row[ITEM(a_)] & NEW) || row[JOB(job_of_item(row[ITEM(a_)]))] != 0)
    }
    a_ = 0; b_ = 0; c_ = 0; d_ = 0
}

byte dead = 0;      /* the workers that died, as bits */
byte deaths = 0;
byte retries = 0;   /* failures that were retried by their rule */

/* The live job that t sees, NONE without one. */
inline find_live(t, j) {
    d_step {
        j = 0;
        do
        :: j < J && seen(JOB(j), t) == 0 -> j++
        :: else -> break
        od;
        if :: j == J -> j = NONE :: else fi
    }
}

/* Another transaction has inserted or deleted the key and is open: an insert waits at the unique index. */
#define key_waits(j, t) (locker[JOB(j)] != 0 && locker[JOB(j)] != t && (row[JOB(j)] == 0) != (own[JOB(j)] == 0))
#define key_is_waited(t) (key_waits(0, t) || key_waits(1, t) || key_waits(2, t))
#define is_live(j, t) (seen(JOB(j), t) != 0)
#define some_live(t) (is_live(0, t) || is_live(1, t) || is_live(2, t))

/* The lowest id that was not used. nextval() gives a new one each time; ids of rolled-back inserts are given again here,
   as nothing refers to them. */
inline new_job(j) {
    j = 0;
    do
    :: j < J && (row[JOB(j)] || locker[JOB(j)] || row[HISTORY(j)] || locker[HISTORY(j)]) -> j++
    :: else -> break
    od;
    assert(j < J)
}

inline new_item(i) {
    i = 0;
    do
    :: i < I && (row[ITEM(i)] || locker[ITEM(i)] || row[FAILED_ITEM(i)] || locker[FAILED_ITEM(i)]) -> i++
    :: else -> break
    od;
    assert(i < I)
}

#define item_is(i, t, j) (seen(ITEM(i), t) != 0 && job_of_item(seen(ITEM(i), t)) == j)
#define has_item(i, t, j, b) (item_is(i, t, j) && batch_of_item(seen(ITEM(i), t)) == b)
#define batch_has_item(t, j, b) (has_item(0, t, j, b) || has_item(1, t, j, b) || has_item(2, t, j, b) || has_item(3, t, j, b))
#define is_cancelled(b, t) (seen(BATCH(b), t) & IS_CANCELLED)
#define has_new(i, t, j) (item_is(i, t, j) && (seen(ITEM(i), t) & NEW))
#define some_new(t, j) (has_new(0, t, j) || has_new(1, t, j) || has_new(2, t, j) || has_new(3, t, j))

/* The record of a job: the one that ends it. */
inline record(t, j, outcome) {
    holds(2, seen(HISTORY(j), t) == 0 && is_free(HISTORY(j), t));
    change(HISTORY(j), t, outcome)
}

/* larder_data.accept_items; the caller has the row of the job. */
inline accept_items(t, j, did) {
    atomic {
        d_step {
            did = 0;
            for (a_ : 0 .. I - 1) {
                if
                :: has_new(a_, t, j) && is_live(j, t) ->
                    clear(ITEM(a_), t, NEW); did = 1
                :: else
                fi
            }
            a_ = 0;
            if
            :: did && (seen(JOB(j), t) & CANCELLED) -> clear(JOB(j), t, CANCELLED); set(JOB(j), t, REVIVED)
            :: else
            fi
        }
    }
    if
    :: did -> promote_joined(t, j)
    :: else
    fi
}

/* larder_data.promote_joined: SKIP LOCKED. */
inline promote_joined(t, j) {
    d_step {
        if
        :: seen(SUSPENDED(j), t) && is_free(SUSPENDED(j), t) ->
            change(SUSPENDED(j), t, 0); change(READY(j), t, 1)
        :: else
        fi
    }
}

/* larder_data.end_joined: the items of a job that has ended, as its record says; those that came after the job was
   cancelled stay. Rows of items that another transaction has are awaited. */
#define item_waits(i, t, j) (row[ITEM(i)] != 0 && job_of_item(row[ITEM(i)]) == j && !is_free(ITEM(i), t))
inline end_joined(t, j) {
    atomic {
        !(item_waits(0, t, j) || item_waits(1, t, j) || item_waits(2, t, j) || item_waits(3, t, j));
        d_step {
            for (a_ : 0 .. I - 1) {
                if
                :: item_is(a_, t, j) && (is_cancelled(batch_of_item(seen(ITEM(a_), t)), t) ||
                    seen(HISTORY(j), t) != CANCELLATION || !(seen(ITEM(a_), t) & NEW)) ->
                    b_ = batch_of_item(seen(ITEM(a_), t));
                    add(FINISHED(b_), t, 1);
                    if
                    :: !is_cancelled(b_, t) && seen(HISTORY(j), t) == FAILURE -> change(FAILED_ITEM(a_), t, 1 + b_)
                    :: else
                    fi;
                    change(ITEM(a_), t, 0)
                :: else
                fi
            }
            a_ = 0; b_ = 0
        }
    }
}

/* larder_data.end_items of one job, whose row the caller has. */
inline end_items(t, b, j, unshared, taken) {
    accept_items(t, j, taken);
    d_step {
#ifdef BUG_END_SHARED
        unshared = batch_of(seen(JOB(j), t)) == b || items_of(seen(JOB(j), t)) == 0;
#else
        unshared = (batch_of(seen(JOB(j), t)) == b || items_of(seen(JOB(j), t)) == 0) && !batch_has_item(t, j, 1 - b);
#endif
        taken = 0
    }
    /* larder_data.take_from_state: SKIP LOCKED. */
    d_step {
        if
        :: unshared && seen(READY(j), t) && is_free(READY(j), t) -> change(READY(j), t, 0); taken = 1
        :: unshared && seen(SCHEDULED(j), t) && is_free(SCHEDULED(j), t) -> change(SCHEDULED(j), t, 0); taken = 1
        :: unshared && seen(SUSPENDED(j), t) && is_free(SUSPENDED(j), t) -> change(SUSPENDED(j), t, 0); taken = 1
        :: else
        fi
    }
    d_step {
        if
        :: !unshared || taken || seen(RUNNING(j), t) != 0 ->
            b_ = seen(JOB(j), t);
            if
            :: batch_of(b_) == b -> add(FINISHED(b), t, items_of(b_))
            :: else
            fi;
            if
            :: taken ->
                record(t, j, CANCELLATION); change(JOB(j), t, 0)
            :: else ->
                if :: batch_of(b_) == b -> b_ = b_ - 8 * items_of(b_) :: else fi;
                if :: unshared -> b_ = (b_ | CANCELLED) & (255 - REVIVED) :: else fi;
                change(JOB(j), t, b_)
            fi;
            for (a_ : 0 .. I - 1) {
                if
                :: has_item(a_, t, j, b) -> add(FINISHED(b), t, 1); change(ITEM(a_), t, 0)
                :: else
                fi
            }
        :: else
        fi;
        a_ = 0; b_ = 0; unshared = 0; taken = 0
    }
}

/* The job that a batch has, locked with SKIP LOCKED; NONE without one. larder_data.end_portion */
inline lock_of_batch(t, b, j) {
    d_step {
        j = 0;
        do
        :: j < J && !(is_live(j, t) && is_free(JOB(j), t) && (batch_of(seen(JOB(j), t)) == b && items_of(seen(JOB(j), t)) > 0 ||
                batch_has_item(t, j, b))) -> j++
        :: else -> break
        od;
        if
        :: j == J -> j = NONE
        :: else -> lock(JOB(j), t)
        fi
    }
}

/* larder.enqueue_many of one URL. */
proctype producer(byte t; byte b) {
    byte j = NONE; byte i = NONE;
    /* larder_data.start_adding */
    d_step { lock(ADDING(b), t) }
    /* larder_data.batch_for_enqueue: reads the batch after it. */
    if
    :: seen(BATCH(b), t) != 0 -> goto undo
    :: else
    fi;
put:
    /* larder_data.put_jobs: the live job of the key, else larder_data.insert_jobs. */
    find_live(t, j);
    if
    :: j == NONE ->
        atomic {
#ifndef BUG_NO_UNIQUE_KEY
            !key_is_waited(t);
            if
            :: some_live(t) -> goto put     /* unique_violation: starts over */
            :: else
            fi;
#endif
            d_step { new_job(j); change(JOB(j), t, job(1, b)); change(READY(j), t, 1) }
        }
    :: else ->
        d_step { new_item(i); change(ITEM(i), t, item(1, j, b)) }
    fi;
    /* larder_data.count_items */
    d_step { add(TOTAL(b), t, 1); i = NONE; j = NONE }
    if
    :: commit(t); goto done
    :: skip
    fi;
undo:
    rollback(t);
done:
    skip
}

#define claimable(j, t) (seen(READY(j), t) != 0 && is_free(READY(j), t))
#define wanted(j, t, b) ((batch_of(seen(JOB(j), t)) == b && items_of(seen(JOB(j), t)) > 0 || batch_has_item(t, j, b)) && \
    !is_cancelled(b, t))

proctype worker(byte n; byte t) {
    byte j = NONE; byte other = 0; byte result = 0; byte held = 0; byte did = 0;
end_idle:
    /* larder.claim_v1, larder_data.pick_of_queue: SKIP LOCKED. */
    atomic {
        if
        :: claimable(0, t) -> j = 0
        :: claimable(1, t) -> j = 1
        :: claimable(2, t) -> j = 2
        fi;
        lock(READY(j), t)
    }
    /* larder_data.put_off_held, hold_reason */
    held = !(wanted(j, t, 0) || wanted(j, t, 1));
    atomic {
        change(READY(j), t, 0);
        if
        :: held ->      /* larder_data.suspend_held */
            change(SUSPENDED(j), t, CANCELLATION);
            held = 0;
            commit(t);
            j = NONE;
            goto end_idle
        :: else ->      /* larder_data.take_jobs */
            change(RUNNING(j), t, 1 + n);
            commit(t)
        fi
    }
    /* The attempt. */
    if
#ifdef DEATH
    :: atomic { deaths == 0 -> deaths = 1; dead = dead | (1 << n); goto gone }
#endif
    :: result = SUCCEEDED
#ifdef FAIL
    :: result = FAILURE
    :: atomic { retries == 0 -> retries = 1; result = FAILURE + 8 }
#endif
    :: atomic { (row[JOB(j)] & CANCELLED) -> result = CANCELLATION }    /* heartbeat_v1 has named it */
    fi;
complete:
    skip;
    /* larder.complete_v1, larder_data.end_cancelled_items: which cancelled batches have the job. */
#ifndef BUG_COMPLETE_CANCELLED
    d_step {
        other = 0;
        if
        :: seen(RUNNING(j), t) == 1 + n ->
            for (a_ : 0 .. 1) {
                if
                :: is_cancelled(a_, t) && !(seen(BATCH(a_), t) & IS_FINISHED) &&
                    (batch_of(seen(JOB(j), t)) == a_ && items_of(seen(JOB(j), t)) > 0 || batch_has_item(t, j, a_)) ->
                    other = other | (1 << a_)
                :: else
                fi
            };
            a_ = 0
        :: else
        fi
    }
    if
    :: atomic { (other & 1) && is_live(j, t) && is_free(JOB(j), t) -> lock(JOB(j), t); held = 0 };
        end_items(t, 0, j, held, did)
    :: else
    fi;
    if
    :: atomic { (other & 2) && is_live(j, t) && is_free(JOB(j), t) -> lock(JOB(j), t); held = 0 };
        end_items(t, 1, j, held, did)
    :: else
    fi;
#endif
    atomic {
        other = 0;
        if
        :: result == SUCCEEDED -> goto succeeded
        :: else -> goto others
        fi
    }
succeeded:
    /* larder_data.complete_succeeded: one statement that deletes the claim, then the job in its newest version. */
    atomic {
        if
        :: seen(RUNNING(j), t) != 1 + n -> goto over        /* stale */
        :: else
        fi
    }
    if
    :: atomic { is_free(RUNNING(j), t) ->
        if
        :: seen(RUNNING(j), t) != 1 + n -> goto over
        :: else -> change(RUNNING(j), t, 0)
        fi }
    :: atomic { !is_free(RUNNING(j), t) -> rollback(t); goto complete }     /* lock_timeout */
    fi;
    if
    :: atomic { is_free(JOB(j), t) ->
        record(t, j, SUCCEEDED);
#ifdef BUG_OLD_VERSION
        b_ = batch_of(seen(JOB(j), t));
        add(FINISHED(b_), t, 1);
        b_ = 0;
#else
        b_ = seen(JOB(j), t);
        add(FINISHED(batch_of(b_)), t, items_of(b_));
        b_ = 0;
#endif
        change(JOB(j), t, 0) }
    :: atomic { !is_free(JOB(j), t) -> rollback(t); goto complete }
    fi;
#ifndef BUG_FORGET_ITEMS
    end_joined(t, j);
#endif
    goto over;
others:
    /* larder_data.complete_others: the row of the job first, with SKIP LOCKED. */
    atomic {
        if
        :: seen(RUNNING(j), t) == 1 + n && is_live(j, t) && is_free(JOB(j), t) -> lock(JOB(j), t)
        :: seen(RUNNING(j), t) == 1 + n && is_live(j, t) && !is_free(JOB(j), t) -> rollback(t); goto complete   /* busy */
        :: else -> goto over
        fi
    }
    /* held_results again, in a statement of its own */
    atomic {
        if
        :: seen(RUNNING(j), t) != 1 + n -> goto over
        :: else
        fi
    }
    accept_items(t, j, did);
    /* larder_data.decide */
    d_step {
        other = seen(JOB(j), t);
        if
        :: result == CANCELLATION && (other & REVIVED) -> result = CANCELLATION + 8
        :: result == CANCELLATION && !(other & REVIVED) -> result = CANCELLATION
        :: result == FAILURE + 8 && (other & CANCELLED) -> result = CANCELLATION
        :: else
        fi;
        other = 0
    }
    if
    :: atomic { is_free(RUNNING(j), t) -> change(RUNNING(j), t, 0) }
    :: atomic { !is_free(RUNNING(j), t) -> rollback(t);
        /* the result is sent again as it was */
        if
        :: result == CANCELLATION + 8 -> result = CANCELLATION
        :: else
        fi;
        goto complete }
    fi;
    if
    :: result == FAILURE || result == CANCELLATION ->
        /* larder_data.end_decided */
        d_step {
            b_ = seen(JOB(j), t);
            record(t, j, result);
            add(FINISHED(batch_of(b_)), t, items_of(b_));
            if
            :: result == FAILURE && items_of(b_) > 0 -> change(FAILED(j), t, 4 * batch_of(b_) + items_of(b_))
            :: else
            fi;
            change(JOB(j), t, 0);
            b_ = 0
        }
        end_joined(t, j)
    :: else ->
        /* larder_data.reschedule_decided: retried or returned */
        d_step {
            clear(JOB(j), t, REVIVED);
            if
            :: result == FAILURE + 8 -> change(SCHEDULED(j), t, 1)
            :: else -> change(READY(j), t, 1)
            fi
        }
    fi;
over:
    atomic { commit(t); j = NONE; result = 0; did = 0; held = 0; goto end_idle };
gone:
    skip
}

/* larder_data.maintenance_rescue: the jobs of the dead workers, the row of running and then that of the job with SKIP
   LOCKED; return_rescued. */
#define is_lost(j, t) (seen(RUNNING(j), t) != 0 && ((dead >> (seen(RUNNING(j), t) - 1)) & 1))
#define is_rescuable(j, t) (is_lost(j, t) && is_free(RUNNING(j), t) && is_live(j, t) && is_free(JOB(j), t))
proctype rescue(byte t) {
    byte j = NONE;
end_idle:
    atomic {
        if
        :: is_rescuable(0, t) -> j = 0
        :: is_rescuable(1, t) -> j = 1
        :: is_rescuable(2, t) -> j = 2
        fi;
        lock(JOB(j), t); change(RUNNING(j), t, 0)
    }
    atomic {
        if
        :: seen(JOB(j), t) & CANCELLED -> change(SUSPENDED(j), t, CANCELLATION)
        :: else -> change(READY(j), t, 1)
        fi;
        commit(t);
        j = NONE;
        goto end_idle
    }
}

/* larder_data.maintenance_promote */
proctype promote(byte t) {
    byte j = NONE;
end_idle:
    atomic {
        if
        :: seen(SCHEDULED(0), t) && is_free(SCHEDULED(0), t) -> j = 0
        :: seen(SCHEDULED(1), t) && is_free(SCHEDULED(1), t) -> j = 1
        :: seen(SCHEDULED(2), t) && is_free(SCHEDULED(2), t) -> j = 2
        fi;
        change(SCHEDULED(j), t, 0)
    }
    atomic { change(READY(j), t, 1); commit(t); j = NONE; goto end_idle }
}

/* larder_data.maintenance_items, for one job with new items. */
#ifdef BUG_GONE_ITEMS
#define meets(j, t) (some_new(t, j) && is_live(j, t))
#else
#define meets(j, t) some_new(t, j)
#endif
proctype items(byte t) {
    byte j = NONE; byte k = NONE; byte did = 0; bool is_gone = false;
end_idle:
    atomic {
        if
        :: meets(0, t) -> j = 0
        :: meets(1, t) -> j = 1
        :: meets(2, t) -> j = 2
        fi
    }
    d_step {
        did = 0;
        if
        :: is_live(j, t) && is_free(JOB(j), t) -> lock(JOB(j), t); did = 1
        :: else
        fi
    }
    if
    :: did -> accept_items(t, j, did); goto over
    :: else
    fi;
    /* gone, read after the locks */
    is_gone = !is_live(j, t);
    if
    :: is_gone ->
        end_joined(t, j);
        /* larder_data.renew_items */
        if
        :: atomic { !(some_new(t, j)) -> goto over }
        :: else
        fi;
        if
        :: atomic { key_is_waited(t) -> rollback(t); goto again }   /* lock_timeout: left for a later call */
        :: atomic { !key_is_waited(t) ->
            k = NONE;
            if
            :: some_live(t)     /* ON CONFLICT DO NOTHING */
            :: else ->
                d_step {
                    new_job(k);
                    a_ = 0;
                    do
                    :: !has_new(a_, t, j) -> a_++
                    :: else -> break
                    od;
                    b_ = batch_of_item(seen(ITEM(a_), t));
                    change(JOB(k), t, job(0, b_));
                    b_ = 0;
                    a_ = 0
                }
            fi }
        fi;
        /* The items move to the live job of the key. */
        d_step {
            for (b_ : 0 .. J - 1) {
                if
                :: is_live(b_, t) ->
                    for (a_ : 0 .. I - 1) {
                        if
                        :: item_is(a_, t, j) && is_free(ITEM(a_), t) ->
                            clear(ITEM(a_), t, 12); set(ITEM(a_), t, 4 * b_)
                        :: else
                        fi
                    }
                :: else
                fi
            };
            a_ = 0; b_ = 0
        }
        if
        :: k != NONE -> d_step { change(READY(k), t, 1) } ; accept_items(t, k, did)
        :: else
        fi
    :: else
    fi;
over:
    commit(t);
again:
    atomic { j = NONE; k = NONE; did = 0; is_gone = false; goto end_idle }
}

/* larder_data.maintenance_cancelled: what cancelled batches have, and jobs that are suspended as cancelled. */
#define is_held(b, t, j) (is_live(j, t) && (batch_of(seen(JOB(j), t)) == b && items_of(seen(JOB(j), t)) > 0 || batch_has_item(t, j, b)))
#define needs_end(b, t) ((seen(BATCH(b), t) & (IS_CANCELLED + IS_FINISHED)) == IS_CANCELLED && \
    (is_held(b, t, 0) || is_held(b, t, 1) || is_held(b, t, 2)))
#define is_put_off(j, t) (seen(SUSPENDED(j), t) != 0 && is_live(j, t) && is_free(JOB(j), t))
#define may_end(b, t, j) (is_held(b, t, j) && is_free(JOB(j), t) && is_free(READY(j), t))
#define may_end_some(b, t) (needs_end(b, t) && (may_end(b, t, 0) || may_end(b, t, 1) || may_end(b, t, 2)))
proctype cancelled(byte t) {
    byte j = NONE; byte did = 0; byte unshared = 0; byte b = NONE; byte away = NONE;
end_idle:
    atomic {
        if
        :: may_end_some(0, t) -> b = 0; lock_of_batch(t, 0, j)
        :: may_end_some(1, t) -> b = 1; lock_of_batch(t, 1, j)
        :: is_put_off(0, t) -> j = 0; lock(JOB(0), t)
        :: is_put_off(1, t) -> j = 1; lock(JOB(1), t)
        :: is_put_off(2, t) -> j = 2; lock(JOB(2), t)
        fi
    }
    if
    :: b != NONE -> end_items(t, b, j, unshared, did)
    :: else ->
        accept_items(t, j, did);
        /* larder_data.resume_jobs */
        d_step {
            if
            :: seen(SUSPENDED(j), t) && is_free(SUSPENDED(j), t) && !(seen(JOB(j), t) & CANCELLED) &&
                (wanted(j, t, 0) || wanted(j, t, 1)) ->
                change(SUSPENDED(j), t, 0); change(READY(j), t, 1)
            :: else
            fi
        }
        /* larder_data.end_jobs of those that were cancelled or that no batch has. */
        d_step {
            unshared = is_live(j, t) && seen(RUNNING(j), t) == 0 && ((seen(JOB(j), t) & CANCELLED) ||
                (items_of(seen(JOB(j), t)) == 0 && !batch_has_item(t, j, 0) && !batch_has_item(t, j, 1)));
            b = batch_of(seen(JOB(j), t));
            away = 1 - b
        }
        if
        :: unshared ->
            if
            :: batch_has_item(t, j, away) -> end_items(t, away, j, unshared, did)
            :: else
            fi;
            end_items(t, b, j, unshared, did)
        :: else
        fi
    fi;
    atomic { commit(t); j = NONE; did = 0; b = NONE; away = NONE; unshared = 0; goto end_idle }
}

/* larder_data.maintenance_finish */
#define is_open(b, t) (is_held(b, t, 0) || is_held(b, t, 1) || is_held(b, t, 2) || late(0, b, t) || late(1, b, t) || late(2, b, t) || late(3, b, t))
#define late(i, b, t) (seen(ITEM(i), t) != 0 && batch_of_item(seen(ITEM(i), t)) == b)
#define ledger_open(b, t) (sum(TOTAL(b), t) != sum(FINISHED(b), t) && !is_cancelled(b, t))
#define may_finish(b, t) (is_free(BATCH(b), t) && (seen(BATCH(b), t) & SEALED) && !(seen(BATCH(b), t) & IS_FINISHED) && \
    !ledger_open(b, t) && !is_open(b, t))
proctype finish(byte t) {
    byte b = NONE; byte known = 0;
end_idle:
    atomic {
        if
        :: may_finish(0, t) -> b = 0
        :: may_finish(1, t) -> b = 1
        fi;
        lock(BATCH(b), t)
    }
    known = locker[ADDING(b)] != 0;
    atomic {
        if
#ifdef BUG_FINISH_ONCE
        :: !known ->
#else
        :: !known && !ledger_open(b, t) && !is_open(b, t) ->
#endif
            set(BATCH(b), t, IS_FINISHED); commit(t)
        :: else -> rollback(t)
        fi;
        b = NONE; known = 0;
        goto end_idle
    }
}

proctype operator(byte t; byte b) {
    byte j = NONE; byte did = 0; byte unshared = 0; byte i = NONE; byte k = 0;
#ifdef CANCEL
    /* larder.batch_cancel: lock_batch */
    atomic { is_free(BATCH(b), t) -> lock(BATCH(b), t) }
    if
    :: seen(BATCH(b), t) & (IS_CANCELLED + IS_FINISHED) -> goto undo
    :: else
    fi;
    /* lock_running: waits, at most 500 ms, then with SKIP LOCKED */
    d_step {
        j = 0;
        do
        :: j < J && !(seen(RUNNING(j), t) != 0 && is_held(b, t, j)) -> j++
        :: else -> break
        od;
        if :: j == J -> j = NONE :: else fi
    }
    if
    :: j != NONE ->
        atomic {
            if
            :: is_free(JOB(j), t) ->
                if
                :: is_live(j, t) -> lock(JOB(j), t)
                :: else -> j = NONE
                fi
            :: !is_free(JOB(j), t) -> j = NONE
            fi
        }
    :: else
    fi;
    if
    :: !ledger_open(b, t) && (seen(BATCH(b), t) & SEALED) -> goto undo
    :: else
    fi;
    d_step { set(BATCH(b), t, IS_CANCELLED + SEALED) }
    if
    :: j != NONE -> end_items(t, b, j, unshared, did)
    :: else
    fi;
    lock_of_batch(t, b, j);
    if
    :: j != NONE -> end_items(t, b, j, unshared, did)
    :: else
    fi;
    commit(t);
    goto done;
#endif
#ifdef CANCEL_JOB
    /* larder.cancel: lock_job */
    atomic {
        if
        :: is_live(0, t) && is_free(JOB(0), t) -> j = 0
        :: is_live(1, t) && is_free(JOB(1), t) -> j = 1
        :: is_live(2, t) && is_free(JOB(2), t) -> j = 2
        :: timeout -> goto done
        fi;
        lock(JOB(j), t)
    }
    accept_items(t, j, did);
    /* lock_state: waits for a row that another transaction is moving */
    atomic {
        if
        :: seen(SCHEDULED(j), t) && is_free(SCHEDULED(j), t) -> lock(SCHEDULED(j), t)
        :: seen(READY(j), t) && is_free(READY(j), t) -> lock(READY(j), t)
        :: seen(SUSPENDED(j), t) && is_free(SUSPENDED(j), t) -> lock(SUSPENDED(j), t)
        :: seen(RUNNING(j), t) -> did = NONE
        fi
    }
    if
    :: did == NONE ->
        atomic {
            if
            :: !(seen(JOB(j), t) & CANCELLED) -> set(JOB(j), t, CANCELLED); clear(JOB(j), t, REVIVED)
            :: else
            fi;
            commit(t); goto done
        }
    :: else
    fi;
    /* end_jobs: the batch of the job last */
    did = 0;
    k = batch_of(seen(JOB(j), t)); i = 1 - k;
    if
    :: batch_has_item(t, j, i) -> end_items(t, i, j, unshared, did)
    :: else
    fi;
    end_items(t, k, j, unshared, did);
    commit(t);
    goto done;
#endif
#ifdef RETRY
    /* larder.batch_retry_portion, larder_data.retry_failures: the failures of the batch, one new job or the live one.
       Comes once a failure is committed, or never. */
end_no_failure:
    (row[FAILED(0)] || row[FAILED(1)] || row[FAILED_ITEM(0)] || row[FAILED_ITEM(1)] || row[FAILED_ITEM(2)]);
    atomic { is_free(BATCH(b), t) -> lock(BATCH(b), t) }
    if
    :: seen(BATCH(b), t) & IS_CANCELLED -> goto undo
    :: else
    fi;
    /* The snapshot of the statement: which records are failures of the batch; k: their items. */
    d_step {
        k = 0; did = 0;
        for (a_ : 0 .. J - 1) {
            if
            :: seen(FAILED(a_), t) && seen(FAILED(a_), t) / 4 == b -> k = k + seen(FAILED(a_), t) % 4; change(FAILED(a_), t, 0)
            :: else
            fi
        };
        for (a_ : 0 .. I - 1) {
            if
            :: seen(FAILED_ITEM(a_), t) == 1 + b -> k = k + 1; change(FAILED_ITEM(a_), t, 0)
            :: else
            fi
        };
        a_ = 0
    }
    if
    :: k == 0 -> goto undo
    :: else
    fi;
    /* INSERT … ON CONFLICT (key) DO UPDATE waits for the key, then for the row of the live job. */
    if
    :: atomic { !key_is_waited(t) && !some_live(t) ->
        d_step { new_job(j); change(JOB(j), t, job(k, b)) } }
    :: atomic { !key_is_waited(t) && some_live(t) && is_free(JOB(0), t) && is_free(JOB(1), t) && is_free(JOB(2), t) ->
        find_live(t, j);
        d_step {
            did = 1;
            b_ = seen(JOB(j), t);
            if
            :: b_ & CANCELLED -> b_ = (b_ - CANCELLED) | REVIVED
            :: else
            fi;
            change(JOB(j), t, b_);
            do
            :: k > 0 -> new_item(i); change(ITEM(i), t, item(0, j, b)); k--; add(FINISHED(b), t, 255)
            :: else -> break
            od;
            b_ = 0
        } }
    fi;
    if
    :: did -> promote_joined(t, j)
    :: else -> d_step { change(READY(j), t, 1); add(FINISHED(b), t, 256 - k) }
    fi;
    /* larder_data.reopen */
#ifndef BUG_NOT_REOPENED
    d_step { clear(BATCH(b), t, IS_FINISHED) }
#endif
    if
    :: commit(t); goto done
    :: skip
    fi;
#endif
undo:
    rollback(t);
done:
    skip
}

/* larder.batch_seal */
proctype sealer(byte t) {
    byte b = 0;
    do
    :: b < 2 ->
        atomic { is_free(BATCH(b), t) -> set(BATCH(b), t, SEALED); commit(t); b++ }
    :: else -> break
    od
}

/* Nothing can go on: then all has ended. */
proctype quiet() {
    atomic {
        timeout;
        for (a_ : 0 .. J - 1) { holds(2, row[JOB(a_)] == 0) };
        for (a_ : 0 .. I - 1) { holds(2, row[ITEM(a_)] == 0) };
        for (a_ : 0 .. 1) {
            holds(6, total[TOTAL(a_)] == total[FINISHED(a_)]);
            holds(16, row[BATCH(a_)] & IS_FINISHED)
        };
        a_ = 0
    }
}

init {
    atomic {
        run producer(PRODUCER(0), 0);
        run producer(PRODUCER(1), 1);
        run worker(0, WORKER(0));
#ifdef DEATH
        run worker(1, WORKER(1));
        run rescue(RESCUE);
#endif
#ifdef FAIL
        run promote(PROMOTE);
#endif
#if defined(CANCEL) || defined(CANCEL_JOB) || defined(RETRY)
        run operator(OPERATOR, 0);
#endif
#if defined(CANCEL) || defined(CANCEL_JOB)
        run cancelled(CANCELLED_TASK);
#endif
        run sealer(SEALER);
        run items(ITEMS);
        run finish(FINISH);
        run quiet()
    }
}
