"""Opens every page of the dashboard, light and dark, as wide as a phone and as a desk: looks.py CONFIGURATION."""

from dashboard import PAGES, configuration, forget_batch, go, server, sign_in
from pages import SCHEMES, WIDTHS, browser, check_rules, expect, finish, page

# Elements that only text from outside could bring.
MARKUP = "document.querySelectorAll('main b[onclick], main script, main i:not([class])').length"
# Where text from outside is shown, as it is.
HOSTILE = {
    "batches": configuration["name"], "batches/5": configuration["name"], "blocklist": "http://a.example/<i>.jpg",
    "failures": "<script>alert(1)</script>", "workers": "<i>slow</i>", "schedules": configuration["name"],
}


def look(opened, where):
    go(opened, where)
    if where in HOSTILE:
        opened.get_by_text(HOSTILE[where]).first.wait_for()
    expect(opened.evaluate(MARKUP) == 0, f"{where}: text from outside is markup")
    expect(opened.locator("h1").count() == 1, f"{where}: not one heading of the page")
    for scheme in SCHEMES:
        opened.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for width in WIDTHS:
            opened.set_viewport_size({"width": width, "height": 900})
            check_rules(opened, f"{where}, {width} px, {scheme}")


with server, browser() as chromium:
    with page(chromium) as opened:
        opened.goto(server.url)
        opened.wait_for_selector("#token")
        check_rules(opened, "the page of the token")
        opened.fill("#token", "not the token of it")
        opened.keyboard.press("Enter")
        opened.get_by_text("The token was refused.").wait_for()
        check_rules(opened, "a token that was refused")
        forget_batch()
        sign_in(opened)
        # The number of problems is a part of each page.
        opened.locator("nav .count").wait_for()
        for where in PAGES + ["batches/1", "batches/5"]:
            look(opened, where)
    with page(chromium, refusals=(401, 404)) as opened:
        # An image that the server does not have leaves no room for it.
        opened.route("**/batch/1/**", lambda route: route.fulfill(status=404))
        sign_in(opened)
        go(opened, "batches/1")
        opened.locator(".gallery .bare").first.wait_for()
        height = opened.locator(".gallery .bare").first.bounding_box()["height"]
        expect(height < 120, f"an image that is not there takes {height} pixels")
        for width in WIDTHS:
            opened.set_viewport_size({"width": width, "height": 900})
            check_rules(opened, f"images that are not there, {width} px")
finish()
