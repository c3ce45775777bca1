"""The product as the demo uses it: the `larder` command and SQL, nothing else. Options and fields are named here only."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter

# Of every setting that could lead the demo to a database, cache or proxy of the user's own, none is passed on.
FOREIGN = ("LARDER_", "PG", "DATABASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
# One retry, which waits up to 200 ms: the demo is not to spend its minute on URLs that stay bad.
RETRIES = ["--retries", "1", "--retry-base", "200ms"]
TIMEOUTS = ["--connect-timeout", "2s", "--idle-timeout", "2s", "--total-timeout", "10s", "--max-body", "8MiB"]


class Larder:
    def __init__(self, program, home):
        self.program = program
        self.home = home
        self.environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(FOREIGN)}
        self.environment["LARDER_HOME"] = home

    def call(self, *arguments, codes=(0,), **options):
        """Runs a command to its end and gives what it printed."""
        done = subprocess.run(
            [self.program, *arguments], env=self.environment, stdout=subprocess.PIPE, text=True, timeout=60, **options)
        if done.returncode not in codes:
            raise SystemExit(
                f"demo: larder {' '.join(arguments)[:200]} ended with {done.returncode}\n{done.stdout[-1000:]}")
        return done.stdout

    def lines(self, *arguments, **options):
        """What a command with JSON lines printed."""
        return [json.loads(line) for line in self.call(*arguments, **options).splitlines()]

    def sql(self, *arguments):
        return subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", *arguments,
             self.call("db", "url").strip()],
            env=self.environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout.strip()

    def enqueue(self, file, batch):
        """One line for each URL; the command ends with 1 when some are blocked."""
        return self.lines(
            "enqueue", "--json", "--from", file, "--batch", batch, "--pipeline", "demo", *RETRIES, codes=(0, 1))

    def seal(self, batch):
        """Says that nothing more comes: only now can the batch be finished."""
        self.sql("--command", f"SELECT larder.batch_seal('{batch}')")

    def report(self, batch):
        return self.lines("report", batch, "--format", "json")[0]

    def files(self, batch):
        """{(URL, key): path} of everything that a batch stored, or found stored."""
        rows = (line.split("\t") for line in self.call("report", batch, "--files").splitlines())
        return {(url, key): path for url, key, path in rows}

    def outcomes(self, batch):
        """How many jobs of a batch ended how, counted from the records of the single jobs."""
        return Counter(line["outcome"] for line in self.lines("report", batch, "--files", "--format", "json"))

    def keys(self, urls, variants):
        """{URL: [{"variant", "key", "file"}, …]}, the original first."""
        options = [word for variant in variants for word in ("--variant", json.dumps(variant))]
        lines = self.lines("key", *options, *urls)
        size = 1 + len(variants)
        return {url: lines[size * index:size * (index + 1)] for index, url in enumerate(urls)}

    def unsound(self):
        """The rows of the queue's own check; none is sound."""
        return self.sql("--command", "SELECT * FROM larder.check()")

    def empty(self):
        """Takes away what an earlier demo left in this home's database."""
        self.sql("--command", "SET client_min_messages = warning; DROP SCHEMA IF EXISTS larder, larder_data CASCADE")


class Worker:
    """One `larder work --drain`, and what it and its children cost."""

    def __init__(self, larder, ports, log):
        doors = [word for port in ports for word in ("--allow-port", str(port))]
        command = [larder.program, "work", "--drain", "--transcoders", "1", "--max-runtime", "120s",
                   "--allow-address", "127.0.0.0/8", *doors, *TIMEOUTS]
        self.peak = {"worker": 0, "child": 0}
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                command, env=larder.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()

    def _follow(self):
        """Waits for the end and looks at the memory meanwhile: the kernel keeps the peaks, one late look sees them."""
        while True:
            for pid in self._children():
                self.peak["child"] = max(self.peak["child"], peak_memory(pid))
            self.peak["worker"] = max(self.peak["worker"], peak_memory(self.process.pid))
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime  # of the children it has waited for, too
                return
            time.sleep(0.05)

    def _children(self):
        pid, children = self.process.pid, []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    children += map(int, file.read().split())
        except OSError:
            pass  # it has just ended
        return children

    def wait(self, seconds):
        """Gives the exit code; ends the worker when it takes longer than it may."""
        self.thread.join(seconds)
        self.end()
        return self.code

    def end(self):
        """Ends it, gently first. Only the thread collects the process, so the number is its own until then."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            if self.thread.is_alive():
                os.kill(self.process.pid, how)
                self.thread.join(30)


def peak_memory(pid):
    """The most bytes that a process had resident, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0
