"""Looks at a dashboard while the database changes, and uses it by keyboard alone: live.py CONFIGURATION.

The queue is paused and a worker waits for it when this begins.
"""

from dashboard import (
    PAUSED, ask, configuration, expect_answer, forget_batch, go, press, server, sign_in, wait_for_page)
from pages import browser, expect, finish, page


def follow(opened):
    """Changes of the database show without a new page, and what is typed stays."""
    go(opened, "workers")
    opened.get_by_text(configuration["worker"]).first.wait_for()
    opened.get_by_text("It has no job.").wait_for()
    ask("SELECT larder.queue_resume('default')")
    opened.locator("main section tbody tr").first.wait_for()
    # The time of a job passes on the page, too.
    passing = opened.locator("main section tbody [data-since]").first
    opened.wait_for_function("""(before) => {
        const shown = document.querySelector("main section tbody [data-since]");
        return shown && shown.textContent !== before }""", arg=passing.inner_text())
    batch = opened.locator("main section tbody tr").first.locator("a[href^='#']")
    expect(batch.get_attribute("title") == configuration["name"] == batch.text_content(), "a job without its batch")
    expect(batch.get_attribute("href") == "#/batches/5", "the name of a job's batch does not lead to it")
    go(opened, "batches")
    ask("SELECT larder.batch_pause('5')")
    opened.locator("main tr", has=opened.get_by_text(configuration["name"], exact=True)).filter(
        has_text="paused").wait_for()
    go(opened, "blocklist")
    opened.fill("input[name=url]", "http://a.example/typed")
    ask("SELECT larder.block_url('http://a.example/other')")
    opened.get_by_text("http://a.example/other", exact=True).wait_for()
    expect(opened.input_value("input[name=url]") == "http://a.example/typed", "typed text is lost")
    # A filter of several words is the same question in the page's request and in its events.
    ask("SELECT larder.enqueue('two words', batch => 'spaced')")
    go(opened, "failures?text=two+words")
    opened.get_by_text("two words", exact=True).first.wait_for()
    ask("SELECT larder.enqueue('two words again', batch => 'spaced')")
    opened.get_by_text("two words again", exact=True).first.wait_for()


# The problems in the table of the page Health are as many as its link says; `least` is how many there are at least.
ARE_COUNTED = """(least) => {
    const rows = [...document.querySelectorAll("main tbody tr")].filter(
        (row) => row.querySelector(".state").textContent !== "info");
    const link = document.querySelector("nav [data-page=health]"), count = link.querySelector(".count");
    const name = `Health, ${rows.length} ${rows.length === 1 ? "problem" : "problems"}`;
    return rows.length >= least && (rows.length === 0 ? !count && !link.hasAttribute("aria-label")
        : count.textContent === String(rows.length) && link.getAttribute("aria-label") === name) }"""


def count_problems(opened):
    """A problem is counted on a page that does not list it, and no longer when it has gone."""
    go(opened, "queues")
    forget_batch()
    opened.locator("nav .count").wait_for()
    go(opened, "health")
    row = opened.locator("main tr", has_text="a batch is not sealed")
    row.wait_for()
    opened.wait_for_function(ARE_COUNTED, arg=1)
    ask("SELECT larder.batch_seal('forgotten')")
    row.wait_for(state="detached")
    opened.wait_for_function(ARE_COUNTED, arg=0)


def tab_to(opened, what):
    """Presses the tabulator until something with this text or name has the focus."""
    for _ in range(80):
        opened.keyboard.press("Tab")
        if opened.evaluate("(what) => [document.activeElement.textContent, document.activeElement.name].includes(what)",
                           what):
            return
    expect(False, f"no stop at {what}")


def use_keyboard(opened):
    """The skip link, a page, a change that is refused and then made, and a form."""
    go(opened, "batches")
    opened.reload()
    opened.wait_for_selector("main tbody tr")
    opened.keyboard.press("Tab")
    expect(opened.evaluate("document.activeElement.className") == "skip", "the first stop is not the skip link")
    opened.keyboard.press("Enter")
    expect(opened.evaluate("document.activeElement.id") == "main", "the skip link does not lead to the content")
    opened.reload()
    opened.wait_for_selector("main tbody tr")
    tab_to(opened, "Queues")
    opened.keyboard.press("Enter")
    wait_for_page(opened, "queues")
    opened.wait_for_function("() => document.activeElement.id === 'main'")
    opened.get_by_role("button", name="Pause").first.wait_for()
    tab_to(opened, "Pause")
    for key, state in (("Escape", "f"), ("Enter", "t")):
        opened.keyboard.press("Enter")
        opened.wait_for_selector("dialog[open]")
        opened.keyboard.press(key)
        opened.wait_for_selector("dialog", state="detached")
        expect_answer(PAUSED, state, f"Pause by keyboard, then {key}")
        opened.get_by_role("button", name="Pause" if state == "f" else "Resume").first.wait_for()
    go(opened, "blocklist")
    tab_to(opened, "url")
    opened.keyboard.type("http://a.example/keys")
    opened.keyboard.press("Enter")
    opened.wait_for_selector("dialog[open]")
    opened.keyboard.press("Enter")
    blocked = "SELECT count(*) FROM larder.blocklist WHERE url = 'http://a.example/keys'"
    expect_answer(blocked, "1", "a block by keyboard")


with browser() as chromium:
    # A server that is stopping answers 503.
    with page(chromium, refusals=(401, 503)) as opened:
        sign_in(opened)
        follow(opened)
        count_problems(opened)
        use_keyboard(opened)
        # The server goes and comes back: the page says so and goes on.
        server.stop()
        opened.wait_for_selector("#connection.lost")
        server.start(lambda: server.port)
        with server:
            opened.wait_for_function("() => document.querySelector('#connection').textContent === 'live'")
            press(opened, "queues", "default", "Resume")
            expect_answer(PAUSED, "f", "the server that has come back")
finish()
