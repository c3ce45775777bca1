import Downloader
import HTTPServer
import Reports
import Terminal

/// The files for the browser. They contain no data: the script reads it from the API.
enum DashboardFile {
    /// The OpenAPI description of `larder serve`: docs/openapi.json.
    static let description = (path: "/api/v1/openapi.json", text: EmbeddedText.openapi_json)

    static let all: [String: HTTPAnswer] = [
        "/": page,
        "/style.css": HTTPAnswer(type: "text/css; charset=utf-8", body: Array(PageResource.style.utf8)),
        "/script.js": HTTPAnswer(
            type: "text/javascript; charset=utf-8", body: Array(script.utf8)),
        "/favicon.ico": HTTPAnswer(status: 204, body: []),
    ]

    /// Scripts use declarations of earlier ones.
    private static let script = [
        PageResource.script, EmbeddedText.dashboard_js, EmbeddedText.history_js,
        EmbeddedText.pictures_js, EmbeddedText.preview_js, EmbeddedText.pipelines_js, EmbeddedText.batch_js,
        EmbeddedText.failures_js, EmbeddedText.pages_js, EmbeddedText.live_js,
    ].joined()

    /// The page that the script fills.
    private static var page: HTTPAnswer {
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
            <strong>Larder</strong>
            <nav aria-label="Pages"></nav>
            <span id="connection" role="status"></span>
            </header>
            <main id="main" tabindex="-1" data-most-file-bytes="\(PreviewRequest.mostBytes)"
             data-most-variants="\(PreviewRequest.mostVariants)"><p>Loading…</p></main>
            <noscript><p>The dashboard needs JavaScript; <code>larder status</code> does not.</p></noscript>
            </html>

            """
        return HTTPAnswer(type: "text/html; charset=utf-8", body: Array(text.utf8))
    }
}

extension HTTPRequest {
    /// Whether the client decodes gzip.
    var acceptsGzip: Bool {
        (headers["accept-encoding"] ?? "").split(separator: ",").contains { coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first == "gzip" && !parts.dropFirst().contains { $0 == "q=0" || $0.hasPrefix("q=0.0") }
        }
    }
}

extension HTTPAnswer {
    static let gzipHeaders = [(name: "Content-Encoding", value: "gzip"), (name: "Vary", value: "Accept-Encoding")]
    /// A smaller body is sent as it is.
    private static let leastBytes = 1_024

    /// The answer with its text compressed, where the client decodes that.
    func compressed(for request: HTTPRequest) -> HTTPAnswer {
        let isText = ["text/", "application/json"].contains { type.hasPrefix($0) }
        guard isText, file == nil, stream == nil, body.count >= Self.leastBytes, request.acceptsGzip,
            let encoder = GzipEncoder()
        else { return self }
        var answer = self
        answer.body = encoder.encode(body, isLast: true)
        answer.headers += Self.gzipHeaders
        return answer
    }
}
