import Foundation

/// Writes a batch's report as one standalone page: numbers, failures, and thumbnails of what was stored.
struct HTMLReport {
    /// The page's pictures lie here; they are referred to, not embedded.
    let cacheRoot: String

    /// The page up to the gallery.
    func head(title: String, numbers: [(String, String)]) -> String {
        var page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(Self.escaped(title))</title>
            <style>
            :root { color-scheme: light dark; --line: #8884; }
            body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
            dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem 1.5rem }
            dt { opacity: .7 } dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums }
            dl div { border-top: 1px solid var(--line); padding-top: .25rem }
            table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem .3rem 0;
            border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
            .gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem }
            figure { margin: 0 } img { max-width: 100%; height: 8rem; object-fit: contain; background: #8882 }
            figcaption { font-size: .75rem; overflow-wrap: anywhere; opacity: .8 }
            </style>
            <h1>\(Self.escaped(title))</h1>
            <dl>

            """
        for (name, value) in numbers {
            page += "<div><dt>\(Self.escaped(name))</dt><dd>\(Self.escaped(value))</dd></div>\n"
        }
        return page + "</dl>\n"
    }

    /// The table of failures.
    func failures(_ rows: [(url: String, what: String, message: String, attempts: Int)]) -> String {
        guard !rows.isEmpty else { return "" }
        var page = "<h2>Failures</h2>\n<table><tr><th>URL<th>Error<th>Message<th>Attempts</tr>\n"
        for row in rows {
            page += "<tr><td>\(Self.escaped(row.url))<td>\(Self.escaped(row.what))"
            page += "<td>\(Self.escaped(row.message))<td>\(row.attempts)</tr>\n"
        }
        return page + "</table>\n"
    }

    /// What opens the gallery, its pictures, and what closes it and the page.
    func galleryStart(shown: Int, of total: Int) -> String {
        "<h2>Stored\(shown < total ? ", the first \(shown) of \(total)" : "")</h2>\n<div class=\"gallery\">\n"
    }

    /// One picture with its URL below.
    func picture(path: String, url: String) -> String {
        let link = Self.escaped(URL(fileURLWithPath: cacheRoot + "/" + path).absoluteString)
        return "<figure><a href=\"\(link)\"><img loading=\"lazy\" alt=\"\" src=\"\(link)\"></a>"
            + "<figcaption>\(Self.escaped(url))</figcaption></figure>\n"
    }

    /// The end of gallery and page.
    var tail: String { "</div>\n</html>\n" }

    /// Text made safe between tags and in quoted attributes.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where character.value < 0x20 || character.value == 0x7F: result += " "
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
