/// Charts as inline SVG. Colours come from the stylesheet; each chart has a text of its own for screen readers.
enum Chart {
    /// A part of a bar.
    struct Part {
        let value: Int
        /// The class of its colour: `good`, `bad`, `quiet` or `accent`.
        let kind: String
    }

    /// One bar whose parts fill its width.
    static func shares(_ parts: [Part], _ label: String) -> String {
        let total = max(1, parts.reduce(0) { $0 + $1.value })
        var x = 0.0
        var rects = ""
        for part in parts where part.value > 0 {
            let width = Double(part.value) * 100 / Double(total)
            rects += rect(x: x, y: 0, width: width, height: 8, part.kind)
            x += width
        }
        return "<div class=\"bar\">" + svg(100, 8, label, rects) + "</div>\n"
    }

    /// A bar of a share of the width, for a cell of a table.
    static func bar(_ value: Int, of top: Int, _ kind: String = "accent") -> String {
        let width = top > 0 ? Double(value) * 100 / Double(top) : 0
        return "<div class=\"bar\" aria-hidden=\"true\">"
            + svg(100, 8, nil, rect(x: 0, y: 0, width: min(100, width), height: 8, kind)) + "</div>"
    }

    /// Columns from left to right, each with parts from below; a column has a text that shows under the pointer.
    static func columns(_ columns: [(parts: [Part], text: String)], _ label: String) -> String {
        let top = max(1, columns.map { $0.parts.reduce(0) { $0 + $1.value } }.max() ?? 1)
        var rects = ""
        for (place, column) in columns.enumerated() {
            var y = 100.0
            var parts = ""
            for part in column.parts where part.value > 0 {
                let height = Double(part.value) * 100 / Double(top)
                y -= height
                parts += rect(x: Double(place) * 10 + 1, y: y, width: 8, height: height, part.kind)
            }
            if !parts.isEmpty { rects += "<g><title>\(HTML.escaped(column.text))</title>\(parts)</g>" }
        }
        return "<figure class=\"chart\">\n" + svg(columns.count * 10, 100, label, rects)
            + "<figcaption class=\"quiet\">\(HTML.escaped(label))</figcaption>\n</figure>\n"
    }

    private static func svg(_ width: Int, _ height: Int, _ label: String?, _ content: String) -> String {
        let role = label.map { "role=\"img\" aria-label=\"\(HTML.escaped($0))\"" } ?? ""
        return "<svg viewBox=\"0 0 \(max(1, width)) \(height)\" preserveAspectRatio=\"none\" \(role)>\(content)</svg>\n"
    }

    private static func rect(x: Double, y: Double, width: Double, height: Double, _ kind: String) -> String {
        func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        return "<rect x=\"\(text(x))\" y=\"\(text(y))\" width=\"\(text(width))\" height=\"\(text(height))\" "
            + "class=\"fill-\(kind)\"/>"
    }
}
