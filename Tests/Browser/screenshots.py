"""Takes pictures of reports and of the dashboard: screenshots.py REPORTS DASHBOARD TOKEN IMAGE DIRECTORY.

REPORTS is the directory of the reports, IMAGE the URL of which a preview is made.
"""

import sys

from pages import browser, page

reports, dashboard, token, image, directory = sys.argv[1:]
# The name of the picture, the report, the size of the window, and light or dark.
REPORTS = [
    ("report", "spring", (1100, 900), "light"), ("report-phone", "spring", (390, 844), "dark"),
    ("report-failures", "archive", (1100, 1000), "light"), ("report-empty", "empty", (1100, 620), "light"),
    ("report-running", "running", (1100, 900), "dark"),
]
# The name of the picture, the page, what is waited for, the size of the window, and light or dark.
PAGES = [
    ("dashboard", "batches", "main table", (1100, 1000), "light"),
    ("dashboard-batch", "batches/1", ".gallery img", (1100, 900), "dark"),
    ("dashboard-running", "batches/4", ".gallery img", (1100, 900), "light"),
    ("dashboard-phone", "batches", "main table", (390, 844), "dark"),
] + [("dashboard-" + name, name, "main h1", (1100, 800), "light") for name in (
    "failures", "schedules", "queues", "workers", "origins", "health", "pipelines", "blocklist")]
ARE_SHOWN = """() => [...document.querySelectorAll('.picture img')]
    .filter((image) => image.getBoundingClientRect().top < innerHeight).every((image) => image.complete)"""


def take(opened, name, size):
    opened.set_viewport_size(dict(zip(("width", "height"), size)))
    opened.wait_for_function(ARE_SHOWN)
    opened.screenshot(path=f"{directory}/{name}.png")


def go(opened, where, wanted):
    opened.evaluate("(where) => { location.hash = '#/' + where }", where)
    opened.wait_for_function("""(where) => document.querySelector('main').dataset.page === '#/' + where
        && document.querySelector('#connection').textContent === 'live'""", arg=where)
    opened.wait_for_selector(wanted)


with browser() as chromium:
    for name, report, size, scheme in REPORTS:
        with page(chromium, size[0], scheme) as opened:
            opened.goto(f"file://{reports}/{report}.html")
            opened.wait_for_selector("h1")
            take(opened, name, size)
    with page(chromium) as opened:
        opened.goto(dashboard)
        opened.fill("#token", token)
        opened.keyboard.press("Enter")
        opened.wait_for_selector("main h1:has-text('Batches')")
        # Two changes, for the page that lists them.
        for verb in ("pause", "resume"):
            answer = opened.request.post(f"{dashboard}api/v1/queues/{verb}", data={"queue": "default"}, headers={
                "Authorization": "Bearer " + token})
            assert answer.status == 200, answer.text()
        for name, where, wanted, size, scheme in PAGES + [
                ("dashboard-changes", "actions", "main tbody tr", (1100, 800), "light")]:
            opened.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            go(opened, where, wanted)
            take(opened, name, size)
        go(opened, "preview", "#preview-url")
        opened.get_by_role("button", name="Use pipeline shop").click()
        opened.fill("#preview-url", image)
        opened.keyboard.press("Enter")
        opened.wait_for_selector(".source img")
        take(opened, "dashboard-preview", (1400, 900))
