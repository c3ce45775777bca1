#!/bin/bash
# A worker in bash: runs a command for each URL, as in `worker.sh curl -fsS -o /dev/null`, until nothing is left to do.
# Needs psql; DATABASE_URL is the database. On SIGTERM it completes the running job and releases the others.
set -uo pipefail
(($#)) || { echo "usage: DATABASE_URL=... $0 COMMAND [ARGUMENT]...   (the URL is added as the last argument)" >&2 && exit 2; }
ask() { # A statement on standard input; again while it collides with another transaction (40P01), which has undone it
    local sql errors code
    sql="BEGIN ISOLATION LEVEL READ COMMITTED; $(</dev/stdin); COMMIT;"
    while true; do
        {
            errors=$(psql -XAtq -F $'\t' -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -v worker="${worker-}" "$@" \
                "${DATABASE_URL:?}" <<<"$sql" 2>&1 >&3)
            code=$?
        } 3>&1
        [[ $errors =~ :\ +40P01: ]] || break
        sleep 0.0$((RANDOM % 10))
    done
    [[ -z $errors ]] || printf '%s\n' "$errors" >&2
    return $code
}
array() { local IFS=, && echo "[$*]"; } # a JSON array
worker=$(ask <<<"SELECT worker_id FROM larder.worker_start_v1('worker.sh', '$HOSTNAME', $$, '1', 10)") || exit 1
stopping=
trap 'stopping=1' TERM INT

heartbeat() { # While this process lives: extends the lease and runs the maintenance that is due.
    trap 'exit' TERM
    local good=$SECONDS answer kind
    while kill -0 $$ 2>/dev/null && ((SECONDS - good < 10)); do
        answer=$(ask <<<"SELECT lease_expired, maintenance_due FROM larder.heartbeat_v1(:worker)") && good=$SECONDS
        [[ $answer == t* ]] && break
        for kind in urgent routine; do # one worker of the fleet at a time is told that maintenance is due
            [[ $answer != *t ]] || ask <<<"SELECT FROM larder.maintain(kind => '$kind')" >/dev/null
        done
        sleep 0.75
    done
    kill -TERM $$ 2>/dev/null # The lease has expired, or may soon: stop.
}
heartbeat & heartbeats=$!

number=0
while [[ -z $stopping ]]; do
    ((++number)) # never used for a second claim
    rows=$(ask -v number="$number" <<<"SELECT job_id, blocked, url FROM larder.claim_v1(:worker, :number, 10)") || break
    if [[ -z $rows ]]; then
        left=$(ask <<<"SELECT has_ready OR has_running OR next_due_ms IS NOT NULL FROM larder.remaining()")
        [[ $left == f ]] && break
        sleep 0.2
    fi
    results=()
    while [[ -z $stopping ]] && IFS=$'\t' read -r job blocked url; do
        result='"result": "failed", "domain": "NSURLErrorDomain", "code": -1005'
        if [[ $blocked == t ]]; then
            result='"result": "failed", "domain": "SDWebImageErrorDomain", "code": 1003'
        elif "$@" "$url" </dev/null; then
            result='"result": "succeeded"'
        fi
        results+=("{\"job\": $job, \"claim\": $number, $result}")
    done < <([[ -z $rows ]] || printf '%s\n' "$rows")
    # All of them again until none is busy, or when the answer was lost: that does no harm.
    until answer=$(ask -v results="$(array "${results[@]}")" <<<"
        SELECT job_id, decision FROM larder.complete_v1(:worker, :'results')"
    ) && [[ $answer != *busy* ]]; do sleep 0.5; done
done
kill "$heartbeats" 2>/dev/null
wait "$heartbeats"
ask <<<"SELECT larder.worker_stop_v1(:worker)" >/dev/null
