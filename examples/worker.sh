#!/bin/bash
# A worker in bash: runs a command for each URL, as in `worker.sh curl -fsS -o /dev/null`, until nothing is left to do.
# Needs psql; DATABASE_URL names the database. SIGTERM: what runs is finished and completed, the rest goes back.
set -uo pipefail
(($#)) || { echo "usage: DATABASE_URL=... $0 COMMAND [ARGUMENT]...   (the URL is added as the last argument)" >&2 && exit 2; }
ask() { psql -XAtq -F $'\t' -v ON_ERROR_STOP=1 -v worker="${worker-}" "$@" "${DATABASE_URL:?}"; } # SQL on standard input
array() { local IFS=, && echo "{$*}"; }
worker=$(ask <<<"SELECT worker_id FROM larder.worker_start_v1('worker.sh', '$HOSTNAME', $$, '1', 10)") || exit 1
stopping=
trap 'stopping=1' TERM INT

heartbeat() { # For as long as this process lives: extends the lease, and does the maintenance that is due.
    trap 'exit' TERM
    local good=$SECONDS lost
    while kill -0 $$ 2>/dev/null && ((SECONDS - good < 10)); do
        lost=$(ask <<<"SELECT lease_was_lost FROM larder.heartbeat_v1(:worker); SELECT FROM larder.maintain();") && good=$SECONDS
        [[ $lost == t* ]] && break
        sleep 1
    done
    kill -TERM $$ 2>/dev/null # The lease is lost, or may be soon: stop.
}
heartbeat & heartbeats=$!

number=0
while [[ -z $stopping ]]; do
    ((++number)) # never used twice for another claim
    rows=$(ask -v number="$number" <<<"SELECT job_id, url FROM larder.claim_v1(:worker, :number, 10)") || break
    if [[ -z $rows ]]; then
        left=$(ask <<<"SELECT has_ready OR has_running OR next_due_ms IS NOT NULL FROM larder.remaining()")
        [[ $left == f ]] && break
        sleep 0.2
    fi
    jobs=() claims=() results=()
    while [[ -z $stopping ]] && IFS=$'\t' read -r job url; do
        if "$@" "$url" </dev/null; then results+=(succeeded); else results+=(failed); fi
        jobs+=("$job") claims+=("$number")
    done < <([[ -z $rows ]] || printf '%s\n' "$rows")
    # Sent again, whole, until all is completed: a lost answer or a busy job costs nothing but time.
    until answer=$(ask -v jobs="$(array "${jobs[@]}")" -v claims="$(array "${claims[@]}")" -v results="$(array "${results[@]}")" <<<"
        SELECT job_id, decision FROM larder.complete_v1(:worker, :'jobs', :'claims', :'results',
            domains => array_fill('NSURLErrorDomain'::text, ARRAY[${#jobs[@]}]), codes => array_fill(-1005::bigint, ARRAY[${#jobs[@]}]))"
    ) && [[ $answer != *busy* ]]; do sleep 0.5; done
done
kill "$heartbeats" 2>/dev/null
wait "$heartbeats"
ask <<<"SELECT larder.worker_stop_v1(:worker)" >/dev/null
