"""The `larder` command and SQL as the demo uses them. Only this file has the names of options and fields."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter

# Settings that could select a database, cache or proxy of the user are not passed on.
FOREIGN = ("LARDER_", "PG", "DATABASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
# One retry after at most 200 ms keeps the demo short.
RETRIES = ["--retries", "1", "--retry-base", "200ms"]
TIMEOUTS = ["--connect-timeout", "2s", "--idle-timeout", "2s", "--total-timeout", "10s", "--max-body", "8MiB"]


class Larder:
    def __init__(self, program, home):
        self.program = program
        self.home = home
        self.environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(FOREIGN)}
        self.environment["LARDER_HOME"] = home

    def call(self, *arguments, codes=(0,), **options):
        """Runs a command to its end and returns its output."""
        done = subprocess.run(
            [self.program, *arguments], env=self.environment, stdout=subprocess.PIPE, text=True, timeout=60, **options)
        if done.returncode not in codes:
            raise SystemExit(
                f"demo: larder {' '.join(arguments)[:200]} ended with {done.returncode}\n{done.stdout[-1000:]}")
        return done.stdout

    def lines(self, *arguments, **options):
        """The output of a command with JSON lines."""
        return [json.loads(line) for line in self.call(*arguments, **options).splitlines()]

    def sql(self, *arguments):
        return subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", *arguments,
             self.call("db", "url").strip()],
            env=self.environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout.strip()

    def enqueue(self, file, batch):
        """Returns a line per URL; the exit code is 1 when some are blocked."""
        return self.lines(
            "enqueue", "--json", "--from", file, "--batch", batch, "--pipeline", "demo", *RETRIES, codes=(0, 1))

    def seal(self, batch):
        """Closes the batch for new URLs, so that it can finish."""
        self.sql("--command", f"SELECT larder.batch_seal('{batch}')")

    def report(self, batch):
        return self.lines("report", batch, "--format", "json")[0]

    def files(self, batch):
        """{(URL, key): path in the cache} of every file that a batch stored or found there."""
        rows = (line.split("\t") for line in self.call("report", batch, "--files").splitlines())
        cache = os.path.join(self.home, "cache")
        return {(url, key): os.path.relpath(path, cache) for url, _, _, key, path in rows}

    def outcomes(self, batch):
        """The number of jobs per outcome, counted from the records of the jobs."""
        return Counter(line["outcome"] for line in self.lines("report", batch, "--files", "--format", "json"))

    def keys(self, urls, variants):
        """{URL: [{"variant", "key", "file"}, ...]}, the original first."""
        options = [word for variant in variants for word in ("--variant", json.dumps(variant))]
        lines = self.lines("key", *options, *urls)
        size = 1 + len(variants)
        return {url: lines[size * index:size * (index + 1)] for index, url in enumerate(urls)}

    def violations(self):
        """The rows of `larder.check()`; none when all invariants hold."""
        return self.sql("--command", "SELECT * FROM larder.check()")

    def empty(self):
        """Starts the embedded database and removes the schema of an earlier demo."""
        self.call("db", "start")
        self.sql("--command", "SET client_min_messages = warning; DROP SCHEMA IF EXISTS larder, larder_data CASCADE")


class Worker:
    """One `larder work --drain` with its processor time and peak memory."""

    def __init__(self, larder, ports, log):
        allowed = [word for port in ports for word in ("--allow-port", str(port))]
        command = [larder.program, "work", "--drain", "--transcoders", "1", "--max-runtime", "120s",
                   "--allow-address", "127.0.0.0/8", *allowed, *TIMEOUTS]
        self.peak = {"worker": 0, "child": 0}
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                command, env=larder.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()

    def _follow(self):
        """Waits for the end and reads the peak memory of the processes every 50 ms."""
        while True:
            for pid in self._children():
                self.peak["child"] = max(self.peak["child"], peak_memory(pid))
            self.peak["worker"] = max(self.peak["worker"], peak_memory(self.process.pid))
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime  # includes children that it has waited for
                return
            time.sleep(0.05)

    def _children(self):
        pid, children = self.process.pid, []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    children += map(int, file.read().split())
        except OSError:
            pass  # the process has ended
        return children

    def wait(self, seconds):
        """Returns the exit code; ends the worker after `seconds`."""
        self.thread.join(seconds)
        self.end()
        return self.code

    def end(self):
        """SIGTERM, then SIGKILL. Only the thread reaps the process, so its id is not reused before."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            if self.thread.is_alive():
                os.kill(self.process.pid, how)
                self.thread.join(30)


def peak_memory(pid):
    """The peak memory of a process in bytes, 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0
