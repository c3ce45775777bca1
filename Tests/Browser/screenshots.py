"""Takes pictures of the window: screenshots.py REPORT PICTURE DASHBOARD PICTURE."""

import sys

from pages import browser, page

report, report_picture, dashboard, dashboard_picture = sys.argv[1:]
HEIGHT = 1100

with browser() as chromium:
    with page(chromium, 1100) as opened:
        opened.set_viewport_size({"width": 1100, "height": HEIGHT})
        opened.goto("file://" + report)
        opened.wait_for_selector(".picture img.shown")
        opened.wait_for_timeout(500)
        opened.screenshot(path=report_picture)
    with page(chromium, 1100) as opened:
        opened.set_viewport_size({"width": 1100, "height": 800})
        opened.goto(dashboard)
        opened.wait_for_selector("main table")
        opened.screenshot(path=dashboard_picture)
