"""Opens the page of several databases, as `larder serve` answers with it: databases.py URL BATCH…, one in each database."""

import itertools, sys

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
        # Each answer has another total, and the second one a further batch at the top.
        answers = itertools.count(1)

        def change(route):
            response, number = route.fetch(), next(answers)
            answer = response.json()
            for row in answer["batches"]:
                row["total"] = 1_000 + number
            if number > 1:
                answer["batches"].insert(0, answer["batches"][0] | {"batch": "new", "batchID": 999})
            route.fulfill(response=response, json=answer)

        opened.route("**/api/v1/batches", change)
        opened.goto(address)
        link(opened, names[0]).focus()
        opened.get_by_role("cell", name="1,003").first.wait_for()
        link(opened, "new").wait_for()
        expect(opened.evaluate("document.activeElement.textContent") == names[0], "the focus is lost")
        opened.unroute("**/api/v1/batches")
        for number, name in enumerate(names, 1):
            opened.goto(address)
            link(opened, name).click()
            opened.locator("main h1", has_text=name).wait_for()
            expect(f"/databases/{number}/#/batches/" in opened.url, f"{name} leads to {opened.url}")
            opened.get_by_role("link", name="Larder", exact=True).click()
            link(opened, name).wait_for()
finish()
