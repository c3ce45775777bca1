"""Presses every button of the dashboard and looks what it has changed in the database: buttons.py CONFIGURATION."""

import base64

from dashboard import answer_question, ask, configuration, expect_answer, go, press, server, sign_in
from pages import browser, expect, finish, page

BLOCKED = "http://a.example/<i>.jpg"


def record(column, name):
    return f"SELECT {column} IS NOT NULL FROM larder.record WHERE url LIKE '%{name}.jpg' ORDER BY number LIMIT 1"


def schedule(state):
    return f"SELECT paused_at IS {state} FROM larder.schedule WHERE name = 'nightly'"


def queue(state):
    return f"SELECT paused_at IS {state} FROM larder.queue WHERE queue = 'default'"


SLOW = "SELECT state FROM larder.progress WHERE batch_id = 5"
# Where, the row that has this text or none, the button, whether a note says what was done, a query, and what it answers
# after the press.
BUTTONS = [
    ("queues", "default", "Pause", False, queue("NOT NULL"), "t"),
    ("queues", "default", "Resume", False, queue("NULL"), "t"),
    ("batches/5", None, "Pause", False, SLOW, "paused"),
    ("batches/5", None, "Resume", False, SLOW, "sealed"),
    ("batches/1", "HTTP status 404", "Retry", True, "SELECT count(*) FROM larder.record WHERE batch_id = 1 AND code = 2001 "
     "AND retried_as IS NOT NULL", "1"),
    ("failures", "/gone-3.jpg", "Retry", False, record("retried_as", "gone-3"), "t"),
    ("failures", "/gone-4.jpg", "Discard", False, record("discarded_at", "gone-4"), "t"),
    ("failures?text=gone-5", None, "Retry all shown", True, record("retried_as", "gone-5"), "t"),
    ("failures?text=gone-6", None, "Discard all shown", True, record("discarded_at", "gone-6"), "t"),
    ("batches/3", None, "Retry failed", True, record("retried_as", "gone-8"), "t"),
    ("batches/4", None, "Discard failures", False, record("discarded_at", "gone-9"), "t"),
    ("schedules", "nightly", "Pause", False, schedule("NOT NULL"), "t"),
    ("schedules", "nightly", "Resume", False, schedule("NULL"), "t"),
    ("schedules", "nightly", "Run", False, "SELECT count(*) FROM larder.action WHERE verb = 'schedules/run' "
     "AND error IS NULL", "1"),
    ("blocklist", BLOCKED, "Unblock", False, "SELECT count(*) FROM larder.blocklist WHERE url LIKE '%<i>%'", "0"),
    ("batches/5", None, "Cancel batch", False, SLOW, "cancelled"),
]


def check_forms(opened):
    go(opened, "blocklist")
    opened.fill("input[name=url]", "http://a.example/spam.jpg")
    opened.keyboard.press("Enter")
    answer_question(opened, "Block")
    opened.get_by_text("http://a.example/spam.jpg", exact=True).wait_for()
    expect_answer("SELECT count(*) FROM larder.blocklist WHERE url = 'http://a.example/spam.jpg'", "1", "a block")
    go(opened, "origins")
    opened.fill("input[name=origin]", "http://held.example/")
    opened.keyboard.press("Enter")
    answer_question(opened, "Hold")
    held = "FROM larder.held_origin WHERE origin LIKE '%held.example%'"
    expect_answer("SELECT reason " + held, "operator", "a hold")
    opened.locator("tr", has_text="held.example").get_by_role("button", name="Release").click()
    answer_question(opened, "Release")
    expect_answer("SELECT count(*) " + held, "0", "the end of a hold")
    # What a change refuses is said.
    go(opened, "blocklist")
    opened.fill("input[name=url]", "nonsense")
    opened.keyboard.press("Enter")
    answer_question(opened, "Block")
    opened.get_by_role("dialog").filter(has_text="is not an http or https URL").wait_for()
    answer_question(opened, "Close")
    expect_answer("SELECT verb FROM larder.action WHERE error IS NOT NULL", "blocklist/add", "the only refused change")


def check_editor(opened):
    """What is wrong with the variants stands beside them, and the text can be formatted."""
    for text, wrong in (('[{"name": "thumb",}]', "JSON"), ("{}", "array"), ('[{"name": ""}]', "Variant 1 has no name"),
                        ('[{"name": "thumb", "thumbnail": 7}]', "thumbnail")):
        opened.fill("#preview-variants", text)
        opened.locator("#preview-error").filter(has_text=wrong).wait_for()
        opened.locator("#preview-variants[aria-invalid=true]").wait_for()
    opened.fill("#preview-variants", '[{"name": "thumb", "thumbnail": {"width": 16, "height": 16}}]')
    opened.locator("#preview-variants:not([aria-invalid])").wait_for()
    opened.get_by_role("button", name="Format").click()
    opened.wait_for_function("() => document.querySelector('#preview-variants').value.startsWith('[\\n  {')")
    go(opened, "pipelines")
    opened.get_by_role("link", name="Try in the preview").first.click()
    opened.wait_for_function("() => document.querySelector('#preview-variants') !== null")
    go(opened, "preview")
    opened.fill("#preview-variants", '[{"name": "thumb", "thumbnail": {"width": 16, "height": 16}}]')


def check_others(opened):
    """The preview, the report, the span of the history, and the filter of failures."""
    go(opened, "preview")
    opened.get_by_role("button", name="Use pipeline", exact=False).first.click()
    opened.fill("#preview-url", configuration["image"])
    opened.fill("#preview-variants", '[{"name": "thumb", "thumbnail": {"width": 16, "height": 16}}]')
    opened.wait_for_function("() => document.querySelector('figure:not(.source) img')?.naturalWidth === 16")
    opened.wait_for_function("() => document.querySelector('.source img')?.naturalWidth > 16")
    check_editor(opened)
    # The same of a file, chosen and dropped; then of the URL again.
    opened.set_input_files("#preview-file", configuration["file"])
    opened.get_by_text("Of the file plain.jpg.").wait_for()
    opened.get_by_text(", a file", exact=False).wait_for()
    opened.get_by_role("button", name="Remove the file").click()
    opened.locator(".previews").wait_for(state="detached")
    expect(opened.input_value("#preview-file") == "", "the field still has the file")
    opened.evaluate("""async (data) => {
        const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
        const dropped = new DataTransfer();
        dropped.items.add(new File([bytes], "dropped.jpg", { type: "image/jpeg" }));
        document.querySelector(".drop").dispatchEvent(
            new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
    }""", base64.b64encode(open(configuration["file"], "rb").read()).decode())
    opened.get_by_text("Of the file dropped.jpg.").wait_for()
    opened.wait_for_function("() => document.querySelector('figure:not(.source) img')?.naturalWidth === 16")
    go(opened, "batches/1")
    with opened.context.expect_page() as tab:
        opened.get_by_role("button", name="Report").click()
    tab.value.wait_for_selector("h1")
    tab.value.close()
    go(opened, "batches")
    opened.get_by_role("button", name="24 hours").click()
    opened.get_by_text("Items per 15 minutes").wait_for()
    go(opened, "failures")
    opened.fill("input[name=text]", "no such image")
    opened.keyboard.press("Enter")
    opened.get_by_text("No failure matches.").wait_for()
    go(opened, "actions")
    opened.locator("main tbody tr", has_text="batches/cancel").wait_for()
    expect(opened.locator("main tbody tr").count() == int(ask("SELECT count(*) FROM larder.action")),
           "not every change has a line")


with server, browser() as chromium:
    with page(chromium, refusals=(400, 401)) as opened:
        sign_in(opened)
        for where, row, title, note, query, wanted in BUTTONS:
            press(opened, where, row, title, note)
            expect_answer(query, wanted, f"{where}, {title}")
        check_forms(opened)
        check_others(opened)
finish()
