"""Opens a report from disk with the network cut, and as `larder serve` answers with it: report.py FILE IMAGES [URL]."""

import base64
import re
import sys

from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

path, images = sys.argv[1], int(sys.argv[2])
served = sys.argv[3] if len(sys.argv) > 3 else None


def names(opened):
    return opened.locator(".item .name").all_inner_texts()


def check_gallery(opened):
    """Sorting, the error of a failed image, an animation, and copying."""
    opened.select_option("#order", "failures")
    failed = opened.locator(".item").first
    expect(failed.locator(".state").inner_text() == "failed", "a failed image has no outcome")
    expect("404" in failed.locator(".facts").inner_text(), "a failed image does not say why")
    expect(failed.locator(".folder").inner_text().startswith("127.0.0.1:"), "a failed image has no URL")
    expect(failed.locator(".picture").count() == 0, "a failed image has room for a picture")
    heights = [opened.locator(one).first.bounding_box()["height"] for one in (".item.bare", ".item:not(.bare)")]
    expect(heights[0] < heights[1] * 3 / 4, f"a tile without a picture is as high as another: {heights}")
    opened.select_option("#order", "url")
    shown = names(opened)
    # The name is the end of the URL, and < sorts before letters.
    expect("script" in shown[0] and shown[1:] == sorted(shown[1:]), f"not in the order of URLs: {shown}")
    opened.select_option("#order", "large")
    expect(names(opened)[0] == "z.gif", "the largest is not the first")
    opened.select_option("#filter", "animated")
    expect(names(opened) == ["z.gif"], "the filter does not show the animation alone")
    expect("frames" in opened.locator(".badge").inner_text(), "no number of frames")
    opened.wait_for_selector(".picture img.shown")
    expect(opened.locator(".indicator").count() == 0, "the indicator stays")
    opened.locator(".item").click()
    key = opened.locator("dialog code").nth(1).inner_text()
    opened.get_by_role("button", name="Copy key").first.click()
    opened.get_by_role("button", name="Copy key").first.filter(has_text="Copied").wait_for()
    opened.evaluate("""() => { const area = document.createElement("textarea"); area.id = "paste";
        document.querySelector("dialog").append(area); area.focus(); }""")
    opened.keyboard.press("Control+V")
    expect(opened.input_value("#paste") == key, f"copied {opened.input_value('#paste')}, not {key}")
    boxes = [opened.locator(one).bounding_box() for one in (".compare", ".compare img >> nth=0", ".slider")]
    expect(boxes[0]["width"] == boxes[1]["width"] and abs(boxes[0]["width"] - boxes[2]["width"]) < 2,
           f"the slider is not as wide as the pictures: {boxes}")
    opened.keyboard.press("Escape")
    opened.select_option("#filter", "all")
    opened.select_option("#order", "pictures")


def is_animated(opened):
    """Whether the picture that stands for an animation has frames: a WebP with a chunk ANIM."""
    source = opened.locator(".picture:has(.badge) img").first.get_attribute("src")
    return b"ANIM" in base64.b64decode(source.split(",", 1)[1])[:64]


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
        check_gallery(opened)
        expect(is_animated(opened), "the picture of the animation is a still one")
        # Pictures before anything that has to be scrolled to, and the sections' links stay in view.
        expect(opened.locator(".item").first.bounding_box()["y"] < 700, "the first picture is below the fold")
        opened.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(opened.locator("nav").bounding_box()["y"] >= 0, "the links to the sections scroll away")
        opened.evaluate("scrollTo(0, 0)")
        times = opened.locator("time").all_inner_texts()
        expect(all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+", time) for time in times), f"times: {times}")
        # A chart has a scale, an axis with a time, and a legend; causes are rows with their number and what to do.
        chart = opened.locator("#time figure.chart").first
        expect(chart.locator(".left span").all_inner_texts()[1:] in (["1", "0"], ["2", "0"], ["3", "0"]), "the scale of a chart")
        expect(chart.locator(".legend").all_inner_texts() == ["succeeded", "failed or cancelled"], "its legend")
        expect(chart.locator(".below time").count() == 1, "the axis has no time")
        row = opened.locator("#failures tr").nth(1).inner_text()
        expect("1" in row and "HTTP status 404" in row and "remove the URL" in row, f"a cause: {row}")
        expect("Pipeline" in opened.locator("#settings").inner_text(), "no pipeline in the settings")
        for section, name in (("#time", "Slowest jobs"), ("#sizes", "Largest downloads")):
            part = opened.locator(section + " details", has_text=name)
            expect(not part.locator("table").is_visible(), f"{name} is open")
            part.locator("summary").click()
            part.locator("table").wait_for()
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
    if served:
        with page(chromium) as opened:
            opened.goto(served)
            opened.wait_for_selector(".picture img.shown")
            check_gallery(opened)
            # The file itself comes from the cache of the server.
            opened.select_option("#filter", "animated")
            opened.locator(".item").click()
            link = opened.get_by_role("link", name="original").get_attribute("href")
            answer = opened.request.get(link)
            expect(answer.status == 200 and answer.headers["content-type"] == "image/gif", f"{link}: {answer.status}")
            opened.keyboard.press("Escape")
            # The key of a signed URL is masked: its files are found by their job.
            opened.select_option("#filter", "all")
            opened.fill("#search", "signed.jpg")
            opened.locator(".item").click()
            for name in ("original", "small"):
                link = opened.get_by_role("link", name=name).get_attribute("href")
                answer = opened.request.get(link)
                expect(answer.status == 200 and "s3cret" not in link, f"{link}: {answer.status}")
            opened.keyboard.press("Escape")
            check_rules(opened, "a served report")
finish()
