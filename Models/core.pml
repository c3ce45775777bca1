/* What the models share: rows, locks, transactions and counts of Postgres at READ COMMITTED.

   A row has one committed version and at most one transaction that has it locked, whose version only that transaction
   sees. One atomic step of a process is one statement: it reads the committed state at that moment (its snapshot) and
   its own changes. A statement that waits for a lock is split in two steps: it remembers what its snapshot showed, and
   continues with the newest version of the locked row alone. Locks last until the commit or the rollback, of a
   savepoint until ROLLBACK TO. Rows that nobody updates, only adds (records of history, entries of the ledger), are
   counts: a transaction sees the sum of the committed ones and its own.

   A model defines ROWS, COUNTS, OWNERS and audit() before it includes this file. Owners are transactions: 1 .. OWNERS-1;
   a savepoint is an owner of its own, which savepoint(t) numbers behind those of the transactions.

   ONLY=n leaves property n alone, so that a violation found with a deliberate bug (BUG_…) is that of the property. */

#ifdef ONLY
#define holds(property, condition) assert(property != ONLY || (condition))
#else
#define holds(property, condition) assert(condition)
#endif

byte row[ROWS];
byte own[ROWS];
byte locker[ROWS];
typedef Counts { byte n[COUNTS] }
byte total[COUNTS];
Counts added[OWNERS];
hidden byte x_;

/* What transaction t sees of a row and of a count. */
#define seen(r, t) (locker[r] == t -> own[r] : row[r])
#define sum(c, t) (total[c] + added[t].n[c])
/* Whether t could lock a row at once. FOR UPDATE waits for it, SKIP LOCKED passes the row over. */
#define is_free(r, t) (locker[r] == 0 || locker[r] == t)

inline lock(r, t) {
    if
    :: locker[r] == t
    :: else -> locker[r] = t; own[r] = row[r]
    fi
}

/* UPDATE, DELETE (0) or INSERT; the caller has waited for is_free(). */
inline change(r, t, value) {
    locker[r] = t;
    own[r] = value
}

inline set(r, t, bits) {
    lock(r, t);
    own[r] = own[r] | (bits)
}

inline clear(r, t, bits) {
    lock(r, t);
    own[r] = own[r] & (255 - (bits))
}

inline add(c, t, more) {
    added[t].n[c] = added[t].n[c] + more
}

/* Moves the locks, versions and counts of an owner to another one: RELEASE SAVEPOINT. */
inline release(from, to) {
    d_step {
        x_ = 0;
        do
        :: x_ < ROWS ->
            if :: locker[x_] == from -> locker[x_] = to :: else fi;
            x_++
        :: else -> break
        od;
        x_ = 0;
        do
        :: x_ < COUNTS ->
            added[to].n[x_] = added[to].n[x_] + added[from].n[x_]; added[from].n[x_] = 0;
            x_++
        :: else -> break
        od
    }
}

inline rollback(owner) {
    d_step {
        x_ = 0;
        do
        :: x_ < ROWS ->
            if :: locker[x_] == owner -> locker[x_] = 0; own[x_] = 0 :: else fi;
            x_++
        :: else -> break
        od;
        x_ = 0;
        do
        :: x_ < COUNTS -> added[owner].n[x_] = 0; x_++
        :: else -> break
        od;
        x_ = 0
    }
}

inline publish(t) {
    x_ = 0;
    do
    :: x_ < ROWS ->
        if :: locker[x_] == t -> row[x_] = own[x_]; own[x_] = 0; locker[x_] = 0 :: else fi;
        x_++
    :: else -> break
    od;
    x_ = 0;
    do
    :: x_ < COUNTS -> total[x_] = total[x_] + added[t].n[x_]; added[t].n[x_] = 0; x_++
    :: else -> break
    od;
    x_ = 0
}

/* Each commit is followed by the audit of the committed state: "at every instant". */
inline commit(t) {
    d_step {
        publish(t);
        audit()
    }
}
