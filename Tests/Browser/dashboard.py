"""What the tests of the dashboard share.

Each is given a JSON file: the command of the server and its environment, its token, the URL of the database, and what
the test itself needs.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

from pages import TIMEOUT, check_rules, expect

configuration = json.load(open(sys.argv[1]))
PAGES = ["batches", "failures", "schedules", "queues", "workers", "origins", "health", "pipelines", "preview",
         "blocklist", "actions"]
PAUSED = "SELECT paused_at IS NOT NULL FROM larder.queue WHERE queue = 'default'"


class Server:
    """`larder serve` on a port that the system gives to nothing by itself, so that it can come back there."""

    def __init__(self):
        self.environment = dict(os.environ, **configuration["environment"])
        self.start(lambda: random.randrange(20_000, 32_000))

    def start(self, port):
        while True:
            self.process = subprocess.Popen(
                configuration["serve"] + ["--listen", f"127.0.0.1:{port()}"], env=self.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if found := re.search(r'"port":(\d+)', self.process.stdout.readline()):
                self.port = int(found[1])
                return
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        expect(self.process.wait() == 0, "the server does not end well")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"


server = Server()


def ask(query):
    """The first column of the first row; nothing for a statement without rows."""
    return subprocess.run(["psql", "-XAtqc", query, configuration["database"]], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def expect_answer(query, wanted, what):
    """Waits until the database answers this."""
    end = time.monotonic() + TIMEOUT / 1000
    while (answer := ask(query)) != wanted and time.monotonic() < end:
        time.sleep(0.2)
    expect(answer == wanted, f"{what}: {query} answers {answer}")


def forget_batch():
    """Makes a problem: a batch that has not been sealed for two days."""
    ask("SELECT larder.batch_open('forgotten')")
    ask("UPDATE larder_data.batch SET created_at = now() - interval '2 days' WHERE name = 'forgotten'")


def sign_in(opened):
    opened.goto(server.url)
    opened.fill("#token", configuration["token"])
    opened.keyboard.press("Enter")
    opened.wait_for_selector("main h1:has-text('Batches')")


def go(opened, where):
    opened.goto(f"{server.url}#/{where}")
    wait_for_page(opened, where)


def wait_for_page(opened, where):
    # A function: the policy of the page allows no evaluation of a text in a later look.
    opened.wait_for_function("""(where) => document.querySelector('main').dataset.page === '#/' + where
        && document.querySelector('#connection').textContent === 'live'""", arg=where)


def answer_question(opened, answer):
    dialog = opened.get_by_role("dialog")
    dialog.get_by_role("button", name=answer, exact=True).click()
    dialog.filter(has=opened.get_by_role("button", name=answer, exact=True)).wait_for(state="detached")


checked_dialogs = []


def press(opened, where, row, title, note=False):
    """Presses the button of a row, or of the page: first refuses the question, then accepts it by the same title."""
    go(opened, where)
    place = opened.locator("main tr", has_text=row).first if row else opened.locator("main")
    button = place.get_by_role("button", name=title, exact=True).first
    button.click()
    answer_question(opened, "No")
    button.click()
    opened.get_by_role("dialog").wait_for()
    if not checked_dialogs:
        check_rules(opened, "a dialog")
    checked_dialogs.append(title)
    answer_question(opened, title)
    if note:
        answer_question(opened, "Close")
