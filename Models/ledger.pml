/* The ledger: entries of transactions, the tasks that fold them into totals, and a reader; a batch whose entries cannot
   be added up; and tasks of maintenance that fail.

   An entry of batch_delta has a batch. larder_data.fold_entries deletes the entries that it sees, with SKIP LOCKED, and
   adds them to batch_total, in one statement; two callers are kept apart by the row of the task. The view ledger adds
   both up in one statement. Batch 1 has an entry that raises an error when it is added up: fold_one records it in
   batch_fault, and the next call leaves it out.

   Properties: 6 a reader sees exactly what is committed, 15 the bad batch stops no other. */

#define N 4             /* entries: 0, 1 of batch 0; 2, 3 of batch 1, of which 3 is bad */
#define ENTRY(i) (i)
#define FAULT (N)       /* a row of batch_fault for batch 1 */
#define ROWS (N + 1)
#define FOLDED(b) (b)
#define COUNTS 2
#define FOLD 1          /* and 2 */
#define WRITER 3
#define OWNERS 4
#define batch_of(i) ((i) / 2)
#define BAD 3

#include "core.pml"

hidden byte a_;
byte written[2] = 0;    /* entries that were committed, by batch */
inline audit() { skip }

proctype writer() {
    byte i = 0;
    do
    :: i < N ->
        atomic { change(ENTRY(i), WRITER, 1) }
        if
        :: d_step { publish(WRITER); written[batch_of(i)]++ }
        :: rollback(WRITER)
        fi;
        i++
    :: else -> break
    od
}

bool task_locked = false;
byte failures = 0;      /* calls in a row that folded nothing of the good batch */
#define due(b) (row[ENTRY(2 * (b))] + row[ENTRY(2 * (b) + 1)] > 0)
#ifdef BUG_NO_FAULT
#define is_due (due(0) || due(1))
#else
#define is_due (due(0) || due(1) && !row[FAULT])
#endif

/* larder_data.maintenance_counts */
proctype fold(byte t) {
    bool failed = false;
end_idle:
    atomic {
#ifdef BUG_TWO_FOLDS
        is_due
#else
        is_due && !task_locked -> task_locked = true
#endif
    }
    /* fold_entries: all batches but those in batch_fault, in a block with an exception handler */
    atomic {
        d_step {
            failed = false;
            for (a_ : 0 .. N - 1) {
                if
#ifdef BUG_TWO_FOLDS
                :: row[ENTRY(a_)] && (batch_of(a_) == 0 || !row[FAULT]) ->
#else
                :: row[ENTRY(a_)] && locker[ENTRY(a_)] == 0 && (batch_of(a_) == 0 || !row[FAULT]) ->
#endif
                    if
                    :: a_ == BAD -> failed = true
                    :: else -> change(ENTRY(a_), t, 0); add(FOLDED(batch_of(a_)), t, 1)
                    fi
                :: else
                fi
            };
            a_ = 0
        }
        if
        :: failed -> rollback(t)
        :: else
        fi
    }
#ifndef BUG_NO_FAULT
    /* fold_one: batch by batch */
    if
    :: failed ->
        d_step {
            for (a_ : 0 .. 1) {
                if
                :: row[ENTRY(a_)] && locker[ENTRY(a_)] == 0 -> change(ENTRY(a_), t, 0); add(FOLDED(0), t, 1)
                :: else
                fi
            };
            a_ = 0;
            change(FAULT, t, 1)
        }
    :: else
    fi;
#endif
    atomic {
        commit(t);
        /* The next call leaves the bad batch out. */
        if
        :: failed && due(0) -> failures++
        :: else -> failures = 0
        fi;
        holds(15, failures < 2);
        task_locked = false; failed = false;
        goto end_idle
    }
}

/* The view ledger. */
proctype reader() {
    byte n = 0; byte expected = 0;
#ifdef BUG_TWO_STATEMENTS
    n = total[FOLDED(0)];
    atomic { n = n + row[ENTRY(0)] + row[ENTRY(1)]; expected = written[0]; holds(6, n == expected) }
#else
    d_step { n = total[FOLDED(0)] + row[ENTRY(0)] + row[ENTRY(1)]; expected = written[0]; holds(6, n == expected) }
#endif
}

proctype quiet() {
    atomic {
        timeout;
        holds(6, total[FOLDED(0)] + row[ENTRY(0)] + row[ENTRY(1)] == written[0]);
        holds(6, total[FOLDED(1)] + row[ENTRY(2)] + row[ENTRY(3)] == written[1]);
        holds(15, row[ENTRY(0)] + row[ENTRY(1)] == 0)
    }
}

init { atomic { run writer(); run fold(1); run fold(2); run reader(); run quiet() } }
