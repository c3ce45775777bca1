"""What the tests of pages share: Chromium, the rules of axe-core, and a list of what was wrong, printed at the end."""

import contextlib
import os
import tempfile

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

WIDTHS = (390, 1400)
SCHEMES = ("light", "dark")
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
def page(chromium, width=1400, scheme="light", offline=False):
    """A page in a context of its own, whose errors are faults."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme,
                                   reduced_motion="reduce")
    context.set_default_timeout(20_000)
    context.set_offline(offline)
    opened = context.new_page()
    opened.on("console", lambda message: faults.append(f"console: {message.text}")
              if message.type == "error" and "status of 401" not in message.text and "net::ERR_" not in message.text else None)
    opened.on("pageerror", lambda error: faults.append(f"script: {error}"))
    try:
        yield opened
    finally:
        context.close()


def check_rules(opened, where):
    """The page breaks no rule of axe-core, and nothing is wider than the window."""
    for violation in Axe().run(opened).response["violations"]:
        faults.append(f"{where}: {violation['id']}: {violation['nodes'][0]['html'][:200]}")
    wider = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    expect(wider <= 0, f"{where}: {wider} pixels wider than the window")


def finish():
    for fault in faults:
        print(fault)
