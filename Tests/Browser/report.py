"""Opens a report from disk with the network cut, and the page of its batch in a dashboard: report.py FILE IMAGES URL."""

import base64
import re
import sys

from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

path, images, served = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def names(opened):
    return opened.locator(".item .name").all_inner_texts()


def filter_by(opened, name):
    opened.locator(".chips").get_by_role("button", name=name).click()


def check_gallery(opened):
    """Order, chips, the error of a failed image, an animation, variants, and copying."""
    filter_by(opened, "failed")
    failed = opened.locator(".item")
    expect(failed.count() == 1, "the chip does not show the one image that failed")
    expect(failed.locator(".state").inner_text() == "failed", "a failed image has no outcome")
    expect("404" in failed.locator(".facts").inner_text(), "a failed image does not say why")
    expect(failed.locator(".folder").inner_text().startswith("127.0.0.1:"), "a failed image has no URL")
    expect(failed.locator(".picture").count() == 0, "a failed image has room for a picture")
    filter_by(opened, "all")
    heights = [opened.locator(one).first.bounding_box()["height"] for one in (".item.bare", ".item:not(.bare)")]
    expect(heights[0] < heights[1] * 3 / 4, f"a tile without a picture is as high as another: {heights}")
    opened.select_option("#order", "url")
    shown = names(opened)
    # The name is the end of the URL, and < sorts before letters.
    expect("script" in shown[0] and shown[1:] == sorted(shown[1:]), f"not in the order of URLs: {shown}")
    opened.select_option("#order", "large")
    expect(names(opened)[0] == "z.gif", "the largest is not the first")
    filter_by(opened, "animated")
    expect(names(opened) == ["z.gif"], "the filter does not show the animation alone")
    expect("frames" in opened.locator(".badge").inner_text(), "no number of frames")
    source = opened.locator(".picture img").get_attribute("src")
    expect(b"ANIM" in base64.b64decode(source.split(",", 1)[1])[:64], "the picture of the animation is a still one")
    filter_by(opened, "all")
    opened.select_option("#order", "pictures")
    expect(re.search(r"small .*[+−]\d+ %", opened.locator(".item .variant").first.inner_text()), "no variant under an image")
    opened.fill("#search", "no such image")
    expect(opened.locator(".item").count() == 0, "the search finds what is not there")
    opened.fill("#search", "z.gif")
    opened.locator(".item").click()
    key = opened.locator("dialog code").nth(1).inner_text()
    opened.get_by_role("button", name="Copy key").first.click()
    opened.get_by_role("button", name="Copy key").first.filter(has_text="Copied").wait_for()
    opened.evaluate("""() => { const area = document.createElement("textarea"); area.id = "paste";
        document.querySelector("dialog").append(area); area.focus(); }""")
    opened.keyboard.press("Control+V")
    expect(opened.input_value("#paste") == key, f"copied {opened.input_value('#paste')}, not {key}")
    opened.keyboard.press("Escape")
    opened.fill("#search", "")


def check_dialog(opened):
    """An image by keyboard: open, move the slider, go to the next one, close."""
    opened.locator(".item:has(img)").first.focus()
    opened.keyboard.press("Enter")
    opened.locator("dialog[open] .compare img").nth(1).wait_for()
    boxes = [opened.locator(one).bounding_box() for one in (".compare", ".compare img >> nth=0", ".slider")]
    expect(boxes[0]["width"] == boxes[1]["width"] and abs(boxes[0]["width"] - boxes[2]["width"]) < 2,
           f"the slider is not as wide as the pictures: {boxes}")
    opened.locator("#slider").focus()
    opened.keyboard.press("Home")
    expect("0%" in opened.locator(".compare img").nth(1).get_attribute("style"), "the slider does not move")
    expect(re.search("[+−]\\d+ %", opened.locator("dialog .files").inner_text()), "no percentage of a variant")
    check_rules(opened, "an image")
    before = opened.locator("dialog code").first.inner_text()
    opened.get_by_role("button", name="Close").focus()
    opened.keyboard.press("ArrowRight")
    opened.wait_for_function("(before) => document.querySelector('dialog code').textContent !== before", arg=before)
    opened.keyboard.press("ArrowLeft")
    opened.wait_for_function("(before) => document.querySelector('dialog code').textContent === before", arg=before)


def check_link(opened):
    """The address names the image that is open; going back closes it, and the address opens it again."""
    opened.locator(".item:has(img)").first.click()
    opened.locator("dialog[open] code").first.wait_for()
    url, named = opened.locator("dialog code").first.inner_text(), opened.url
    expect(re.search(r"image=\d+$", named), f"the address names no image: {named}")
    opened.go_back()
    opened.locator("dialog").wait_for(state="detached")
    expect("image=" not in opened.url, "the address names an image that is closed")
    opened.goto("about:blank")
    opened.goto(named)
    opened.locator("dialog[open] code").first.wait_for()
    expect(opened.locator("dialog code").first.inner_text() == url, "the address opens another image")
    opened.keyboard.press("Escape")
    opened.locator("dialog").wait_for(state="detached")
    expect("image=" not in opened.url, "the address still names the image")


def check_sections(opened):
    """Pictures are before anything that has to be scrolled to; charts have scales; causes say what to do."""
    expect(opened.locator(".item").first.bounding_box()["y"] < 700, "the first picture is below the fold")
    opened.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(opened.locator("nav").bounding_box()["y"] >= 0, "the links to the sections scroll away")
    opened.evaluate("scrollTo(0, 0)")
    sentence = opened.locator(".sentence").inner_text()
    expect(re.fullmatch(r"Finished: 4 of 5 images\. Variants are \d+ % (smaller|larger) \([\d.]+( \w+)? of [\d.]+ \w+\)\.",
                        sentence), f"the first sentence: {sentence}")
    times = opened.locator("time").all_inner_texts()
    expect(times and all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+", time) for time in times), f"times: {times}")
    chart = opened.locator("#time figure.chart").first
    expect(chart.locator(".left span").all_inner_texts()[1:] in (["1", "0"], ["2", "0"], ["3", "0"]), "the scale of a chart")
    expect(chart.locator(".legend").all_inner_texts() == ["succeeded", "failed or cancelled"], "its legend")
    expect(re.match(r"\d{4}-", chart.locator(".below span").first.inner_text()), "the axis has no time")
    row = opened.locator("#failures tr").nth(1).inner_text()
    expect("1" in row and "HTTP status 404" in row and "remove the URL" in row, f"a cause: {row}")
    expect("Pipeline" in opened.locator("#settings").inner_text(), "no pipeline in the settings")
    expect("%" in opened.locator("#sizes td[data-title=Saved]").inner_text(), "no column of the saved bytes")
    for section, name in (("#time", "Slowest jobs"), ("#sizes", "Largest downloads")):
        part = opened.locator(section + " details", has_text=name)
        expect(not part.locator("table").is_visible(), f"{name} is open")
        part.locator("summary").click()
        part.locator("table").wait_for()


# What the page computes from texts and numbers.
VALUES = """() => [
    [2, 2, 4, 10, 12, 100, 120, 100000].join() === [0, 2, 3, 9, 11, 99, 101, 99000].map(roundTop).join(),
    make("p", {}, advice("Check <it>, then larder retry BATCH. --max-body raises it.", "it's & more")).innerHTML
        === "Check &lt;it&gt;, then <code>larder retry 'it'\\\\''s &amp; more'</code>. <code>--max-body</code> raises it.",
    make("p", {}, advice("larder queue set reduces it; larder status --health shows it.", null)).innerHTML
        === "<code>larder queue set</code> reduces it; <code>larder status --health</code> shows it.",
    make("p", {}, advice("larder health shows it.", "b")).innerHTML === "<code>larder health</code> shows it.",
    bytesOf(2621440, 83676364) === "2.5 of 79.8 MiB" && smaller(3, 100) === "−97 %" && smaller(2, 1) === "+100 %",
    merged([{ meaning: "a", items: 1 }, { meaning: "b", items: 3 }, { meaning: "a", items: 4 }])
        .map(({ meaning, items }) => meaning + items).join() === "a5,b3",
]"""

with browser() as chromium:
    with page(chromium, offline=True) as opened:
        requests = []
        opened.on("request", lambda request: requests.append(request.url) if request.url.startswith("http") else None)
        opened.goto("file://" + path)
        opened.wait_for_selector(".item")
        expect(opened.locator(".item").count() == images, f"{opened.locator('.item').count()} images")
        expect(opened.locator(".picture canvas").count() > 0, "no placeholder is drawn")
        opened.wait_for_function("() => [...document.querySelectorAll('.picture img')].every((image) => image.naturalWidth > 0)")
        pixels = opened.evaluate("""() => {
            const canvas = document.querySelector(".picture canvas");
            return new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size }""")
        expect(pixels > 8, "the placeholder has one colour")
        expect(opened.evaluate("document.querySelectorAll('main b[onclick], main script').length") == 0, "text is markup")
        for place, holds in enumerate(opened.evaluate(VALUES)):
            expect(holds, f"value {place} of the page")
        check_gallery(opened)
        check_dialog(opened)
        expect("small previews" in opened.locator("dialog").inner_text(), "the comparison is not called a preview")
        opened.keyboard.press("Escape")
        opened.locator("dialog").wait_for(state="detached")
        check_link(opened)
        check_sections(opened)
        expect(requests == [], f"it asks for {requests}")
        for scheme in SCHEMES:
            opened.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for width in WIDTHS:
                opened.set_viewport_size({"width": width, "height": 900})
                check_rules(opened, f"report, {width} px, {scheme}")
    with page(chromium) as opened:
        # The page of the batch has the files themselves, of a signed URL, too, whose key is masked.
        opened.goto(served)
        opened.locator(".item .picture img").nth(images - 2).wait_for()
        check_dialog(opened)
        opened.get_by_role("button", name="100 %").click()
        width = opened.locator(".compare img").first.evaluate("(image) => [image.width, image.naturalWidth]")
        expect(width[0] == width[1], f"the original is not shown at its size: {width}")
        check_rules(opened, "an image of the batch at its size")
        opened.keyboard.press("Escape")
        opened.locator(".item", has_text="signed.jpg").click()
        opened.locator("dialog .compare img").nth(1).wait_for()
        expect("s3cret" not in opened.locator("dialog").inner_text(), "the signature is shown")
        opened.keyboard.press("Escape")
        opened.locator("dialog").wait_for(state="detached")
        check_link(opened)
finish()
