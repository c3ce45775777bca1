import Terminal

/// Parts of pages. Functions take text and return markup.
package enum HTML {
    /// Text that is safe between tags and in quoted attributes; control characters and marks of direction are shown as
    /// their codes.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in PrintableText.text(text).unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// JSON that is safe in a script element.
    package static func escaped(json: String) -> String {
        // 0xE2 begins the line separators.
        guard json.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == 0xE2 }) else { return json }
        return json.replacing("<", with: "\\u003c").replacing("\u{2028}", with: "\\u2028").replacing(
            "\u{2029}", with: "\\u2029")
    }

    /// A column of a table.
    struct Column {
        let title: String
        var isNumber = false

        /// A column of numbers.
        static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
        /// A column of text.
        static func text(_ title: String) -> Column { Column(title: title) }
    }

    /// A table that scrolls sideways where it is too wide; `rows` are markup. From four columns on, a phone shows a row as
    /// a card, its values with their titles.
    static func table(_ label: String, _ columns: [Column], _ rows: [[String]]) -> String {
        var page = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"\(escaped(label))\">\n"
        page += "<table\(columns.count > 3 ? " class=\"stacked\"" : "")>\n<thead><tr>"
        for column in columns {
            guard !column.title.isEmpty else {
                page += "<td class=\"bars\"></td>"
                continue
            }
            page += "<th scope=\"col\"\(column.isNumber ? " class=\"number\"" : "")>\(escaped(column.title))</th>"
        }
        page += "</tr></thead>\n<tbody>\n"
        for row in rows {
            page += "<tr>"
            for (cell, column) in zip(row, columns) {
                let kind = column.title.isEmpty ? "bars" : column.isNumber ? "number" : "long"
                let title = column.title.isEmpty ? "" : " data-title=\"\(escaped(column.title))\""
                page += "<td class=\"\(kind)\(cell == "–" ? " none" : "")\"\(title)>\(cell)</td>"
            }
            page += "</tr>\n"
        }
        return page + "</tbody>\n</table>\n</div>\n"
    }

    /// A part that opens; `content` is markup.
    static func disclosure(_ summary: String, _ content: String) -> String {
        "<details class=\"part\"><summary>\(escaped(summary))</summary>\n\(content)</details>\n"
    }

    /// Boxes with a number and its name each.
    static func tiles(_ tiles: [(name: String, value: String, kind: String?)]) -> String {
        var page = "<div class=\"tiles\">\n"
        for tile in tiles {
            let kind = tile.kind.map { " class=\"\($0)\"" } ?? ""
            page += "<div class=\"tile\"><b\(kind)>\(escaped(tile.value))</b><span>\(escaped(tile.name))</span></div>\n"
        }
        return page + "</div>\n"
    }
}
