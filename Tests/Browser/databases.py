"""Opens the page of several databases, as `larder serve` answers with it: databases.py URL BATCH…, one in each database."""

import sys

from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

address, names = sys.argv[1], sys.argv[2:]


def link(opened, name):
    return opened.get_by_role("link", name=name, exact=True)


with browser() as chromium:
    for scheme in SCHEMES:
        for width in WIDTHS:
            with page(chromium, width, scheme) as opened:
                opened.goto(address)
                for name in names:
                    link(opened, name).wait_for()
                check_rules(opened, f"several databases, {width} px, {scheme}")
    with page(chromium) as opened:
        opened.goto(address)
        link(opened, names[0]).focus()
        # The page asks again after some seconds; what has not changed keeps the focus.
        for _ in range(2):
            opened.wait_for_event("response", lambda response: response.url.endswith("/api/v1/batches"))
        expect(opened.evaluate("document.activeElement.textContent") == names[0], "the focus is lost")
        for number, name in enumerate(names, 1):
            opened.goto(address)
            link(opened, name).click()
            opened.locator("main h1", has_text=name).wait_for()
            expect(f"/databases/{number}/#/batches/" in opened.url, f"{name} leads to {opened.url}")
            opened.get_by_role("link", name="Larder", exact=True).click()
            link(opened, name).wait_for()
finish()
