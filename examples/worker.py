#!/usr/bin/python3
"""A worker in Python: downloads each URL into a directory, until nothing is left to do.

    DATABASE_URL=postgresql://… examples/worker.py DIRECTORY

Needs psycopg2 (Debian: python3-psycopg2). It has no limits and no address rules, unlike `larder work`.
On SIGTERM it completes the running downloads and releases the other jobs.
"""
import concurrent.futures, hashlib, json, os, random, signal, socket, sys, threading, time, urllib.error, urllib.request
import psycopg2

SLOTS = 8
SAFETY = 3  # seconds before the lease ends, after which nothing is published any more
BLOCKED = {"result": "failed", "domain": "SDWebImageErrorDomain", "code": 1003, "message": "the URL is blocked"}


def clock():  # runs while the machine sleeps
    return time.clock_gettime(time.CLOCK_BOOTTIME)

stopping = threading.Event()


class Database:
    """One connection, replaced when it breaks. Every call here may be repeated, and is a transaction at READ COMMITTED."""

    def __init__(self):
        self.connection = None

    def ask(self, sql, parameters=(), patient=True):
        while True:
            try:
                if self.connection is None or self.connection.closed:
                    self.connection = psycopg2.connect(os.environ["DATABASE_URL"], application_name="worker.py")
                    self.connection.set_session("READ COMMITTED")
                with self.connection, self.connection.cursor() as cursor:
                    cursor.execute(sql, parameters)
                    return cursor.fetchall()
            except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
                if error.pgcode == "40P01":  # it collided with another transaction, and was undone
                    time.sleep(random.uniform(0, 0.1))
                    continue
                if self.connection is not None:
                    self.connection.close()
                if not patient or stopping.is_set():
                    raise
                stopping.wait(0.5)


class Lease:
    """Until when this worker may publish, and which of its jobs were cancelled."""

    def __init__(self, worker, lease_ms, asked):
        self.worker, self.ends, self.cancelled, self.over = worker, asked + lease_ms / 1000, set(), threading.Event()

    def holds(self):
        return clock() < self.ends - SAFETY

    def keep(self):
        database, pause_ms = Database(), 750
        while not self.over.wait(pause_ms / 1000):
            asked = clock()
            try:
                heartbeat = """SELECT lease_ms, lease_expired, cancelled_jobs, cancelled_claims, maintenance_due, pause_ms
                    FROM larder.heartbeat_v1(%s)"""
                [(lease_ms, lost, jobs, claims, due, pause_ms)] = database.ask(heartbeat, [self.worker], patient=False)
                if lost:
                    self.ends = 0
                    return
                self.ends = asked + lease_ms / 1000
                self.cancelled = set(zip(jobs, claims))
                for kind in ("urgent", "routine") if due else ():
                    database.ask("SELECT task, error FROM larder.maintain(kind => %s)", [kind], patient=False)
            except psycopg2.Error as error:
                print(f"worker.py: {error}".strip(), file=sys.stderr)


def download(url, directory, lease):
    """Stores one URL; returns its result as members for larder.complete_v1."""
    def failed(domain, code, error, **more):
        return {"result": "failed", "domain": domain, "code": code, "message": str(error), **more}

    temporary = os.path.join(directory, f".{os.getpid()}.{threading.get_ident()}")
    try:
        with urllib.request.urlopen(url, timeout=15) as answer:
            body = answer.read()
        with open(temporary, "wb") as file:
            file.write(body)
        if not lease.holds():
            return failed("LarderErrorDomain", 403, "the lease has expired")
        os.rename(temporary, os.path.join(directory, hashlib.sha256(url.encode()).hexdigest()))
        return {"result": "succeeded", "bytes_in": len(body)}
    except urllib.error.HTTPError as error:
        after = error.headers.get("Retry-After", "")
        more = {"retry_after_ms": int(after) * 1000} if after.isdigit() else {}
        return failed("SDWebImageErrorDomain", 2001, error, http_status=error.code, **more)
    except TimeoutError as error:
        return failed("NSURLErrorDomain", -1001, error)
    except (urllib.error.URLError, ConnectionError) as error:
        return failed("NSURLErrorDomain", -1004, error)
    except Exception as error:
        return failed("LarderErrorDomain", 403, error)


def complete(database, worker, claim, results):
    """Sends the results of one claim, by job, until none is busy."""
    while results:
        elements = [{"job": job, "claim": claim, **result} for job, result in results.items()]
        rows = database.ask("SELECT job_id, decision FROM larder.complete_v1(%s, %s)", [worker, json.dumps(elements)])
        results = {job: results[job] for job, decision in rows if decision == "busy"}


def main(directory):
    os.makedirs(directory, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    database, asked = Database(), clock()
    start = "SELECT worker_id, lease_ms FROM larder.worker_start_v1('worker.py', %s, %s, '1', %s)"
    [(worker, lease_ms)] = database.ask(start, [socket.gethostname(), os.getpid(), SLOTS])
    lease = Lease(worker, lease_ms, asked)
    heartbeats = threading.Thread(target=lease.keep, daemon=True)
    heartbeats.start()
    claim = 0
    with concurrent.futures.ThreadPoolExecutor(SLOTS) as slots:
        while not stopping.is_set() and lease.holds():
            claim += 1  # never used for a second claim; sent again after a lost answer
            statement = "SELECT job_id, url, blocked FROM larder.claim_v1(%s, %s, %s, again => true)"
            jobs = database.ask(statement, [worker, claim, SLOTS])
            if not jobs:
                left = "SELECT has_ready OR has_running OR next_due_ms IS NOT NULL FROM larder.remaining()"
                if not database.ask(left)[0][0]:
                    break
                stopping.wait(0.2)
                continue
            futures = {job: slots.submit(download, url, directory, lease) for job, url, blocked in jobs if not blocked}
            results = {job: BLOCKED for job, _, blocked in jobs if blocked}
            results |= {job: future.result() for job, future in futures.items()}
            for job in results.keys() & {job for job, number in lease.cancelled if number == claim}:
                results[job] = {"result": "cancelled"}
            complete(database, worker, claim, results)
    lease.over.set()
    heartbeats.join()
    database.ask("SELECT larder.worker_stop_v1(%s)", [worker])


if __name__ == "__main__":
    main(sys.argv[1])
