/// The files that a browser loads. They contain no data: the script reads it from the API.
enum DashboardFile {
    static let all: [String: HTTPAnswer] = [
        "/": page(),
        "/style.css": HTTPAnswer(type: "text/css; charset=utf-8", body: Array(PageStyle.text.utf8)),
        "/script.js": HTTPAnswer(
            type: "text/javascript; charset=utf-8",
            body: Array(
                (PageScript.text + DashboardScript.text + DashboardCharts.text + DashboardImages.text
                    + DashboardPreviewScript.text + DashboardPipelines.text + DashboardBatch.text
                    + DashboardFailures.text + DashboardPages.text + DashboardLive.text).utf8)),
        "/favicon.ico": HTTPAnswer(status: 204, body: []),
    ]

    /// The page of the dashboard.
    ///
    /// - Parameter number: that of its database, when it is below the page of several.
    static func page(of number: Int? = nil) -> HTTPAnswer {
        page(number.map { "<a href=\"../../\">Larder</a>, database \($0)" } ?? "Larder", links: "Pages")
    }

    /// A page that its script fills.
    ///
    /// - Parameter links: what the links at the top lead to.
    static func page(_ title: String, links: String) -> HTTPAnswer {
        let text = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Larder</title>
            <link rel="stylesheet" href="style.css">
            <script src="script.js" defer></script>
            <a class="skip" href="#main">Skip to the content</a>
            <header>
            <strong>\(title)</strong>
            <nav aria-label="\(links)"></nav>
            <span id="connection" role="status"></span>
            </header>
            <main id="main" tabindex="-1"><p>Loading…</p></main>
            <noscript><p>The dashboard needs JavaScript; <code>larder status</code> does not.</p></noscript>
            </html>

            """
        return HTTPAnswer(type: "text/html; charset=utf-8", body: Array(text.utf8))
    }
}
