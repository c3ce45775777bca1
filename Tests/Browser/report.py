"""Opens a report from disk with the network cut: report.py FILE IMAGES."""

import sys

from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

path, images = sys.argv[1], int(sys.argv[2])

with browser() as chromium:
    with page(chromium, offline=True) as opened:
        requests = []
        opened.on("request", lambda request: requests.append(request.url) if request.url.startswith("http") else None)
        opened.goto("file://" + path)
        opened.wait_for_selector(".item")
        expect(opened.locator(".item").count() == images, f"{opened.locator('.item').count()} images")
        expect(opened.locator(".picture img.shown").count() > 0, "no picture is shown")
        expect(opened.locator(".picture canvas").count() > 0, "no placeholder is drawn")
        pixels = opened.evaluate("""() => {
            const canvas = document.querySelector(".picture canvas");
            return new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size }""")
        expect(pixels > 8, "the placeholder has one colour")
        opened.select_option("#filter", "1")
        expect(opened.locator(".item").count() == 1, "the filter shows what failed")
        opened.select_option("#filter", "all")
        opened.fill("#search", "no such image")
        expect(opened.locator(".item").count() == 0, "the search finds what is not there")
        opened.fill("#search", "a.jpg")
        expect(opened.locator(".item").count() == 1, "the search does not find an image")
        # By keyboard: open, move the slider, close.
        opened.locator(".item").focus()
        opened.keyboard.press("Enter")
        opened.wait_for_selector("dialog[open]")
        opened.locator("#slider").focus()
        opened.keyboard.press("Home")
        expect("0%" in opened.locator(".compare img").nth(1).get_attribute("style"), "the slider does not move")
        check_rules(opened, "an image")
        opened.keyboard.press("Escape")
        expect(opened.locator("dialog").count() == 0, "the image does not close")
        expect(requests == [], f"it asks for {requests}")
    for scheme in SCHEMES:
        for width in WIDTHS:
            with page(chromium, width, scheme, offline=True) as opened:
                opened.goto("file://" + path)
                opened.wait_for_selector(".item")
                check_rules(opened, f"report, {width} px, {scheme}")
finish()
