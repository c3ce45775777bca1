"""Takes pictures of windows: screenshots.py REPORT DASHBOARD DIRECTORY."""

import sys

from pages import browser, page

report, dashboard, directory = sys.argv[1:]
# The name of the picture, the address, what is waited for, the size of the window, and light or dark.
WINDOWS = [
    ("report", "file://" + report, ".picture img.shown", (1100, 900), "light"),
    ("report-phone", "file://" + report, ".picture img.shown", (390, 844), "dark"),
    ("dashboard", dashboard + "#/batches", "main table", (1100, 1000), "light"),
    ("dashboard-batch", dashboard + "#/batches/1", ".images img", (1100, 900), "dark"),
]
# Those that are shown have no transition: `page` asks for reduced motion.
ARE_SHOWN = """() => [...document.querySelectorAll('.picture img, .images img')]
    .filter((image) => image.getBoundingClientRect().top < innerHeight)
    .every((image) => image.complete && (image.classList.contains('shown') || image.closest('.images')))"""

with browser() as chromium:
    for name, address, wanted, (width, height), scheme in WINDOWS:
        with page(chromium, width, scheme) as opened:
            opened.set_viewport_size({"width": width, "height": height})
            opened.goto(address)
            opened.wait_for_selector(wanted)
            opened.wait_for_function(ARE_SHOWN)
            opened.screenshot(path=f"{directory}/{name}.png")
