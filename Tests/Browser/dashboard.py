"""Opens every page of the dashboard, presses buttons and uses the keyboard: dashboard.py URL TOKEN NAME IMAGE."""

import json
import sys
import urllib.request

from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

url, token, name, image = sys.argv[1:]
PAGES = ["batches", "queues", "workers", "origins", "blocklist", "schedules", "failures", "actions", "pipelines",
         "preview", "health"]


def change(path):
    request = urllib.request.Request(url + "api/v1/" + path, b"{}", {
        "Authorization": "Bearer " + token, "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def sign_in(opened):
    opened.goto(url)
    opened.fill("#token", token)
    opened.keyboard.press("Enter")
    opened.wait_for_selector("main table")


with browser() as chromium:
    with page(chromium) as opened:
        sign_in(opened)
        # Text from outside is text.
        expect(opened.get_by_text(name, exact=True).count() == 1, "the batch's name is not shown as it is")
        opened.get_by_text(name, exact=True).click()
        opened.wait_for_selector("h1:has-text('Batch')")
        opened.get_by_role("button", name="Pause").click()
        opened.get_by_role("dialog").get_by_role("button", name="No").click()
        opened.get_by_role("button", name="Pause").click()
        opened.get_by_role("dialog").get_by_role("button", name="Yes").click()
        opened.wait_for_selector(".state:has-text('paused')")
        # A change elsewhere shows without a reload.
        change("batches/1/resume")
        opened.wait_for_selector(".state:has-text('sealed')")
        with opened.context.expect_page() as tab:
            opened.get_by_role("button", name="Report").click()
        tab.value.wait_for_selector("h2:has-text('Failures')")
        expect(name.rstrip("\u202e") in tab.value.inner_text("h1"), "the report does not open")
        tab.value.close()
        opened.goto(url + "#/blocklist")
        opened.fill("input[name=url]", "http://a.example/spam.jpg")
        opened.keyboard.press("Enter")
        opened.get_by_role("dialog").get_by_role("button", name="Yes").click()
        opened.get_by_text("http://a.example/spam.jpg", exact=True).wait_for()
        opened.goto(url + "#/preview")
        opened.fill("#preview-url", image)
        opened.fill("#preview-variants", '[{"name": "thumb", "thumbnail": {"width": 16, "height": 16}}]')
        opened.keyboard.press("Tab")
        opened.keyboard.press("Enter")
        opened.wait_for_selector(".previews img")
        expect(opened.evaluate("document.querySelector('.previews img').naturalWidth") == 16, "the preview is not drawn")
        # The keyboard alone: skip link, navigation, focus on the new page.
        opened.goto(url + "#/queues")
        opened.reload()
        opened.wait_for_selector("h1:has-text('Queues')")
        opened.keyboard.press("Tab")
        expect(opened.evaluate("document.activeElement.className") == "skip", "the first stop is the skip link")
        opened.keyboard.press("Tab")
        opened.keyboard.press("Enter")
        opened.wait_for_selector("h1:has-text('Batches')")
        expect(opened.evaluate("document.activeElement.id") == "main", "the focus is not on the new page")
    for scheme in SCHEMES:
        for width in WIDTHS:
            with page(chromium, width, scheme) as opened:
                sign_in(opened)
                for where in PAGES + ["batches/1"]:
                    opened.goto(f"{url}#/{where}")
                    opened.wait_for_function("location.hash && document.querySelector('main h1')")
                    opened.wait_for_function("document.querySelector('#connection').textContent === 'live'")
                    check_rules(opened, f"{where}, {width} px, {scheme}")
finish()
