/* The order of claims: a batch A that never ends, a batch B of the same priority, and a lower priority.

   larder_data.turns_before: the jobs of a batch have consecutive turns, the first call of a batch begins where claims
   stand (the floor), later calls behind its last job. pick_of_queue: the lowest turn first, then the lowest id.
   first_priority: each EVERYth claim starts at the lower priority. Turns are counted from the floor on.

   Property 13: the batches of one priority take turns, so a job of B is claimed after as many claims of the upper
   priority as turns were in front of it, two for each; of EVERY claims one is for the lower priority, as long as it has
   jobs. */

#define EVERY 4
#define SLOTS 6         /* turns from the floor on */
#define NONE 255

#ifdef ONLY
#define holds(property, condition) assert(property != ONLY || (condition))
#else
#define holds(property, condition) assert(condition)
#endif

byte a[SLOTS];          /* jobs of A with this turn */
byte b[SLOTS];          /* jobs of B */
bool b_first[SLOTS];    /* of this turn B's job has the lower id */
byte b_jobs = 0;        /* enqueued in all */
byte low = 0;           /* jobs of the lower priority */
byte n = 0;             /* the claim number of the worker, modulo EVERY */
byte low_waits = 0;     /* claims since the lower priority had its last one, while it has jobs */
byte b_waits = 0;       /* claims of the upper priority since B has been waiting for its first job */
hidden byte i_; hidden byte t_;

/* Behind the last job of the batch, among those that are ready; where it has none, from the floor on. */
#define turn_after(batch) \
    for (i_ : 0 .. SLOTS - 1) { if :: batch[i_] > 0 -> t_ = i_ + 1 :: else fi }
#ifdef BUG_ONE_TURN
#define find_turn(batch) skip       /* each call begins where claims stand */
#else
#define find_turn(batch) turn_after(batch)
#endif
#define enqueue(batch, other, is_b) \
    find_turn(batch); \
    if \
    :: t_ < SLOTS && other[t_] == 0 -> b_first[t_] = is_b; batch[t_]++ \
    :: t_ < SLOTS && other[t_] > 0 && batch[t_] == 0 -> b_first[t_] = !is_b; batch[t_]++ \
    :: t_ < SLOTS && other[t_] > 0 && batch[t_] > 0 -> batch[t_]++ \
    :: else \
    fi; \
    t_ = 0; i_ = 0

/* larder.enqueue_many of one URL */
proctype producer() {
    do
    :: d_step { a[SLOTS - 1] == 0 && a[0] < 3 -> enqueue(a, b, false) }
    :: d_step { b_jobs < 2 && b[SLOTS - 1] == 0 -> enqueue(b, a, true); b_jobs++ }
    :: d_step { low < 2 -> low++ }
    od
}

#define has_upper (a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + b[0] + b[1] + b[2] + b[3] + b[4] + b[5] > 0)
#define has_b (b[0] + b[1] + b[2] + b[3] + b[4] + b[5] > 0)

/* larder.claim_v1 of one job, by any worker; maintenance_claims moves the floor behind what was claimed. */
proctype worker() {
    byte t; bool lower;
    do
    :: atomic {
        has_upper || low > 0 ->
        d_step {
            n = (n + 1) % EVERY;
#ifdef BUG_NO_SHARE
            lower = false;
#else
            lower = (n == 0) && low > 0;
#endif
            if :: !has_upper -> lower = true :: else fi;
            if
            :: lower -> low--; low_waits = 0
            :: else ->
                if :: low > 0 -> low_waits++ :: else -> low_waits = 0 fi;
                holds(13, low_waits < EVERY);
                t = 0;
                do
                :: a[t] + b[t] == 0 -> t++
                :: else -> break
                od;
                /* Of one turn the lower id first. */
                if
                :: a[t] > 0 && !(b[t] > 0 && b_first[t]) -> a[t]--; if :: has_b -> b_waits++ :: else -> b_waits = 0 fi
                :: else -> b[t]--; b_waits = 0
                fi;
                /* One job of A for each of B's turns. */
                holds(13, b_waits <= 2);
                /* The floor. */
                do
                :: a[0] + b[0] == 0 && has_upper ->
                    for (i_ : 0 .. SLOTS - 2) { a[i_] = a[i_ + 1]; b[i_] = b[i_ + 1]; b_first[i_] = b_first[i_ + 1] };
                    a[SLOTS - 1] = 0; b[SLOTS - 1] = 0; b_first[SLOTS - 1] = false; i_ = 0
                :: else -> break
                od;
                t = 0
            fi;
            lower = false
        } }
    od
}

init { atomic { run producer(); run worker() } }
