"""What the tests of pages share: Chromium, the rules of axe-core, and a list of what was wrong, printed at the end."""

import contextlib
import os
import tempfile

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

IS_NIGHTLY = os.environ.get("LARDER_TEST_TIER") == "nightly"
# `make test` looks at a phone's width in light colours, `make nightly` at all.
WIDTHS = (390, 1400) if IS_NIGHTLY else (390,)
SCHEMES = ("light", "dark") if IS_NIGHTLY else ("light",)
# Of each wait for a state, in milliseconds; only a failing test takes that long.
TIMEOUT = 180_000
faults = []


def expect(holds, what):
    if not holds:
        faults.append(what)


@contextlib.contextmanager
def browser():
    """Chromium without a profile; its sandbox needs what a container may not allow."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield chromium
        finally:
            chromium.close()


@contextlib.contextmanager
def page(chromium, width=1400, scheme="light", offline=False, refusals=(401,)):
    """A page in a context of its own, whose errors are faults, but for answers with these statuses."""
    def note(message):
        wanted = [f"status of {status}" for status in refusals] + ["net::ERR_"]
        if message.type == "error" and not any(text in message.text for text in wanted):
            faults.append(f"console: {message.text}")

    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme,
                                   reduced_motion="reduce")
    context.set_default_timeout(TIMEOUT)
    context.set_offline(offline)
    opened = context.new_page()
    opened.on("console", note)
    opened.on("pageerror", lambda error: faults.append(f"script: {error}"))
    try:
        yield opened
    finally:
        context.close()


def check_rules(opened, where):
    """The page breaks no rule of axe-core, and nothing is wider than the window."""
    check_width(opened, where)
    for violation in Axe().run(opened).response["violations"]:
        faults.append(f"{where}: {violation['id']}: {violation['nodes'][0]['html'][:200]}")


def check_width(opened, where):
    wider = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    expect(wider <= 0, f"{where}: {wider} pixels wider than the window")


def finish():
    for fault in faults:
        print(fault)
