"""Opens every page of the dashboard, presses every button and uses the keyboard: dashboard.py CONFIGURATION.

The configuration is a JSON file with the address of the server, its token, a file that has the file of the server's
process, what psql needs for the database, the name of the batch, and an image.
"""

import json
import os
import signal
import subprocess
import sys
import time

from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

configuration = json.load(open(sys.argv[1]))
url, token, name, image = (configuration[key] for key in ("url", "token", "name", "image"))
PAGES = ["batches", "failures", "schedules", "queues", "workers", "origins", "health", "pipelines", "preview",
         "blocklist", "actions"]
BLOCKED = "http://a.example/<i>.jpg"

# Where, the row that has this text or none, the button, a query, and what it answers after the press.
BUTTONS = [
    ("queues", "default", "Pause", "SELECT paused_at IS NOT NULL FROM larder.queue WHERE queue = 'default'", "t"),
    ("queues", "default", "Resume", "SELECT paused_at IS NULL FROM larder.queue WHERE queue = 'default'", "t"),
    ("batches/1", None, "Pause", "SELECT state FROM larder.progress WHERE batch_id = 1", "paused"),
    ("batches/1", None, "Resume", "SELECT state FROM larder.progress WHERE batch_id = 1", "sealed"),
    ("batches/2", "2001", "Retry", "SELECT count(*) FROM larder_data.job_history WHERE batch_id = 2 AND code = 2001 "
     "AND retried_as IS NOT NULL", "1"),
    ("failures", "/gone-3.jpg", "Retry", "SELECT retried_as IS NOT NULL FROM larder.record "
     "WHERE url LIKE '%gone-3.jpg' ORDER BY number LIMIT 1", "t"),
    ("failures", "/gone-4.jpg", "Discard", "SELECT discarded_at IS NOT NULL FROM larder.record "
     "WHERE url LIKE '%gone-4.jpg' ORDER BY number LIMIT 1", "t"),
    ("failures?text=gone-5", None, "Retry all shown", "SELECT retried_as IS NOT NULL FROM larder.record "
     "WHERE url LIKE '%gone-5.jpg' ORDER BY number LIMIT 1", "t"),
    ("failures?text=gone-6", None, "Discard all shown", "SELECT discarded_at IS NOT NULL FROM larder.record "
     "WHERE url LIKE '%gone-6.jpg' ORDER BY number LIMIT 1", "t"),
    ("batches/4", None, "Retry failed", "SELECT count(*) > 0 FROM larder.record WHERE batch_id = 4 "
     "AND retried_as IS NOT NULL", "t"),
    ("batches/5", None, "Discard failures", "SELECT bool_and(discarded_at IS NOT NULL) FROM larder.record "
     "WHERE batch_id = 5 AND outcome = 2", "t"),
    ("schedules", "nightly", "Pause", "SELECT paused_at IS NOT NULL FROM larder.schedule WHERE name = 'nightly'", "t"),
    ("schedules", "nightly", "Resume", "SELECT paused_at IS NOT NULL FROM larder.schedule WHERE name = 'nightly'", "f"),
    ("schedules", "nightly", "Run", "SELECT count(*) > 0 FROM larder.action WHERE verb = 'schedules/run' "
     "AND error IS NULL", "t"),
    ("blocklist", BLOCKED, "Unblock", "SELECT count(*) FROM larder.blocklist WHERE url LIKE '%<i>%'", "0"),
    ("batches/1", None, "Cancel", "SELECT state FROM larder.progress WHERE batch_id = 1", "cancelled"),
]


def ask(query):
    return subprocess.run(["psql", "-XAtqc", query, configuration["database"]], capture_output=True, text=True,
                          check=True).stdout.strip()


def answers(query, wanted):
    """Waits until the database answers this."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if ask(query) == wanted:
            return True
        time.sleep(0.1)
    return False


def sign_in(opened):
    opened.goto(url)
    opened.wait_for_selector("#token")
    opened.fill("#token", token)
    opened.keyboard.press("Enter")
    opened.wait_for_selector("main h1:has-text('Batches')")


def go(opened, where):
    opened.goto(f"{url}#/{where}")
    opened.wait_for_function("document.querySelector('#connection').textContent === 'live'")
    opened.wait_for_function("(where) => document.querySelector('main').dataset.page === '#/' + where", arg=where)


def confirm(opened):
    opened.get_by_role("dialog").get_by_role("button", name="Yes").click()


def close_note(opened):
    """A change that says what it did waits until its note is closed."""
    note = opened.get_by_role("dialog").get_by_role("button", name="Close")
    try:
        note.wait_for(timeout=700)
        note.click()
    except Exception:
        pass


def press(opened, where, row, title):
    go(opened, where)
    place = opened.locator("main tr", has_text=row).first if row else opened.locator("main")
    button = place.get_by_role("button", name=title, exact=True).first
    button.click()
    opened.get_by_role("dialog").get_by_role("button", name="No").click()
    button.click()
    check_dialog(opened, f"{where}: {title}")
    confirm(opened)
    close_note(opened)


checked_dialogs = set()


def check_dialog(opened, where):
    """The rules hold on an open dialog; once per kind."""
    if not checked_dialogs:
        check_rules(opened, "the dialog of " + where)
    checked_dialogs.add(where)


with browser() as chromium:
    with page(chromium) as opened:
        opened.goto(url)
        opened.wait_for_selector("#token")
        check_rules(opened, "the page of the token")
        sign_in(opened)
        # Text from outside is text, in every place that shows it.
        expect(opened.get_by_text(name, exact=True).count() == 1, "the batch's name is not shown as it is")
        marked = "document.querySelectorAll('main b[onclick], main script, main i:not([class])').length"
        expect(opened.evaluate(marked) == 0, "text from outside is markup")
        go(opened, "workers")
        opened.get_by_text(configuration["worker"]).first.wait_for()
        opened.locator("main section tbody tr").first.wait_for()
        for where, row, title, query, wanted in BUTTONS:
            press(opened, where, row, title)
            expect(answers(query, wanted), f"{where}, {title}: {query} answers {ask(query)}")
        # The forms: what is typed stays while the page follows changes.
        go(opened, "blocklist")
        opened.fill("input[name=url]", "http://a.example/spam.jpg")
        opened.wait_for_timeout(1500)
        expect(opened.input_value("input[name=url]") == "http://a.example/spam.jpg", "typed text is lost")
        opened.keyboard.press("Enter")
        confirm(opened)
        opened.get_by_text("http://a.example/spam.jpg", exact=True).wait_for()
        blocked = "SELECT count(*) FROM larder.blocklist WHERE url = 'http://a.example/spam.jpg'"
        expect(answers(blocked, "1"), "no block")
        go(opened, "origins")
        opened.fill("input[name=origin]", "http://held.example/")
        opened.keyboard.press("Enter")
        confirm(opened)
        reason = "SELECT reason FROM larder.held_origin WHERE origin LIKE '%held.example%'"
        expect(answers(reason, "operator"), "the origin is not held")
        opened.locator("tr", has_text="held.example").get_by_role("button", name="Release").click()
        confirm(opened)
        held = "SELECT count(*) FROM larder.held_origin WHERE origin LIKE '%held.example%'"
        expect(answers(held, "0"), "it is held")
        go(opened, "preview")
        opened.get_by_role("button", name="Take", exact=False).first.click()
        opened.fill("#preview-url", image)
        opened.fill("#preview-variants", '[{"name": "thumb", "thumbnail": {"width": 16, "height": 16}}]')
        opened.wait_for_selector(".previews img")
        width = opened.evaluate("document.querySelector('.previews img').naturalWidth")
        expect(width == 16, f"the preview is {width} pixels wide")
        go(opened, "batches/1")
        with opened.context.expect_page() as tab:
            opened.get_by_role("button", name="Report").click()
        tab.value.wait_for_selector("h1")
        tab.value.close()
        # A span of the history.
        go(opened, "batches")
        opened.get_by_role("button", name="24 hours").click()
        opened.get_by_text("Items per 15 minutes").wait_for()
        # The keyboard alone: skip link, navigation, focus on the new page, a confirmed change.
        go(opened, "queues")
        opened.reload()
        opened.wait_for_selector("main tbody tr")
        opened.keyboard.press("Tab")
        expect(opened.evaluate("document.activeElement.className") == "skip", "the first stop is the skip link")
        opened.keyboard.press("Enter")
        for _ in range(12):
            if opened.evaluate("document.activeElement.textContent") == "Pause":
                break
            opened.keyboard.press("Tab")
        opened.keyboard.press("Enter")
        opened.wait_for_selector("dialog[open]")
        opened.keyboard.press("Enter")
        paused = "SELECT paused_at IS NOT NULL FROM larder.queue WHERE queue = 'default'"
        expect(answers(paused, "t"), "not by keyboard")
        opened.wait_for_selector(".state:has-text('paused')")
        # The server goes and comes back on its port: the page says so and goes on.
        os.kill(configuration["process"], signal.SIGTERM)
        opened.wait_for_selector("#connection.lost")
        environment = dict(os.environ, **configuration["environment"])
        again = subprocess.Popen(configuration["again"], env=environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            opened.wait_for_function("document.querySelector('#connection').textContent === 'live'", timeout=60_000)
            press(opened, "queues", "default", "Resume")
            expect(answers(paused, "f"), "not afterwards")
            for scheme in SCHEMES:
                for width in WIDTHS:
                    with page(chromium, width, scheme) as other:
                        sign_in(other)
                        for where in PAGES + ["batches/1", "batches/2"]:
                            go(other, where)
                            check_rules(other, f"{where}, {width} px, {scheme}")
                            if configuration.get("pictures"):
                                picture = where.replace("/", "-") + f"-{width}-{scheme}.png"
                                other.screenshot(path=os.path.join(configuration["pictures"], picture), full_page=True)
        finally:
            again.send_signal(signal.SIGTERM)
            again.wait(30)
finish()
