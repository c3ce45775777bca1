"""Producers, workers and maintenance that use a queue over SQL, without downloads, and the latencies they sample."""
import contextlib, json, os, shutil, subprocess, tempfile, threading, time

import psycopg2


@contextlib.contextmanager
def private_database(larder):
    """The URL of a migrated database of its own, which is removed at the end."""
    home = tempfile.mkdtemp(prefix="larder-bench-")
    environment, outside = dict(os.environ, LARDER_HOME=home), None
    try:
        subprocess.run([larder, "db", "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
        url = subprocess.run([larder, "db", "url"], env=environment, check=True, capture_output=True, text=True).stdout
        # As root the server's files are not in the home where the user postgres cannot enter it.
        with contextlib.closing(psycopg2.connect(url.strip())) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW data_directory")
            outside = os.path.dirname(cursor.fetchone()[0])
        yield url.strip()
    finally:
        subprocess.run([larder, "db", "stop"], env=environment, stdout=subprocess.DEVNULL)
        for directory in filter(None, [outside, home]):
            shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def image_origin():
    """A directory, and the address of an nginx that answers every path with one image."""
    home = tempfile.mkdtemp(prefix="larder-origin-")
    os.chmod(home, 0o755)
    images = os.path.dirname(os.path.abspath(__file__)) + "/../Tests/TranscoderTests/Images"
    shutil.copy(images + "/plain.jpg", home + "/image.jpg")
    paths = " ".join(f"{name}_temp_path {home}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(home + "/nginx.conf", "w") as conf:
        conf.write(f"""
            {'user root;' if os.getuid() == 0 else ''} daemon off; worker_processes 1; pid {home}/pid; error_log {home}/log;
            events {{ worker_connections 1024; }}
            http {{ access_log off; keepalive_requests 1000000; sendfile on; {paths}
                server {{ listen 127.0.0.1:18080; root {home}; rewrite ^ /image.jpg break; }} }}""")
    nginx = subprocess.Popen(["nginx", "-c", home + "/nginx.conf", "-e", home + "/log"])
    try:
        yield home, "http://127.0.0.1:18080"
    finally:
        nginx.terminate()
        nginx.wait()
        shutil.rmtree(home, ignore_errors=True)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


class Load:
    """Threads that use a queue until `stop`. samples: (time, name, value), latencies in ms.

    Workers and maintenance wait while `gate` is cleared; heartbeats go on.
    """

    def __init__(self, url):
        self.url, self.over, self.samples, self.errors = url, threading.Event(), [], []
        self.gate = threading.Event()
        self.gate.set()
        self.threads, self.lock, self.completed, self.enqueued = [], threading.Lock(), 0, 0

    def connect(self):
        connection = psycopg2.connect(self.url)
        connection.autocommit = True
        return connection.cursor()

    def timed(self, name, cursor, statement, parameters=()):
        begun = time.monotonic()
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
        self.samples.append((begun, name, (time.monotonic() - begun) * 1000))
        return rows

    def start(self, body, *arguments):
        """Runs a method in a thread, with a connection of its own."""
        def run():
            try:
                body(self.connect(), *arguments)
            except Exception as error:
                if not self.over.is_set():
                    self.errors.append(f"{body.__name__}: {error}".strip())
                    self.over.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)

    def start_maintenance(self):
        self.start(self.maintain, "urgent", 0.2)
        self.start(self.maintain, "routine", 1)

    def stop(self):
        self.over.set()
        self.gate.set()
        for thread in self.threads:
            thread.join(10)
        if self.errors:
            raise SystemExit("; ".join(self.errors))

    def every(self, seconds):
        due = time.monotonic()
        while not self.over.is_set():
            yield
            due += seconds
            if self.over.wait(max(0, due - time.monotonic())):
                return

    def produce(self, cursor, rate, width):
        """Enqueues `rate` URLs a second in calls of `width`, into a new batch after each 100,000."""
        statement = "SELECT count(*) FROM larder.enqueue_many(%s, batch => %s)"
        for _ in self.every(width / rate):
            urls = [f"http://host-{n % 50}.example/{n}" for n in range(self.enqueued, self.enqueued + width)]
            self.timed("enqueue", cursor, statement, (urls, f"load {self.enqueued // 100000}"))
            self.enqueued += width

    def work(self, cursor, width, hold):
        """A worker that claims `width` jobs, holds them for `hold` seconds and completes them."""
        cursor.execute("SELECT worker_id FROM larder.worker_start_v1('load', 'host', 1, '1', %s)", (width,))
        [(worker,)] = cursor.fetchall()
        number = [1]
        self.start(self.send_heartbeats, worker, number)
        while not self.over.is_set():
            self.gate.wait()
            rows = self.timed(
                "claim", cursor, "SELECT job_id FROM larder.claim_v1(%s, %s, %s)", (worker, number[0], width))
            if self.over.wait(hold if len(rows) == width else max(hold, 0.05)):
                return
            results = [{"job": job, "claim": number[0], "result": "succeeded"} for (job,) in rows]
            if results:
                self.timed("complete", cursor, "SELECT count(*) FROM larder.complete_v1(%s, %s)",
                           (worker, json.dumps(results)))
                with self.lock:
                    self.completed += len(results)
            number[0] += 1

    def send_heartbeats(self, cursor, worker, number):
        for _ in self.every(0.75):
            self.timed("heartbeat", cursor, "SELECT lease_expired FROM larder.heartbeat_v1(%s, %s)", (worker, number[0]))

    def maintain(self, cursor, kind, seconds):
        for _ in self.every(seconds):
            self.gate.wait()
            self.timed(kind, cursor, "SELECT task FROM larder.maintain(kind => %s)", (kind,))
