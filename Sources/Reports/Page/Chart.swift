/// Charts as inline SVG. Colours come from the stylesheet; each chart has a text of its own for screen readers.
enum Chart {
    /// A part of a bar.
    struct Part {
        let value: Int
        /// The class of its colour: `good`, `bad`, `warn`, `quiet` or `accent`.
        let kind: String
    }

    /// One bar whose parts fill its width.
    static func shares(_ parts: [Part], _ label: String) -> String {
        let total = max(1, parts.reduce(0) { $0 + $1.value })
        var x = 0.0
        var rects = ""
        for part in parts where part.value > 0 {
            let width = Double(part.value) * 100 / Double(total)
            x += width
            // A gap before the next part; the last one reaches the end.
            let gap = width > 2 && x < 99.9 ? 0.3 : 0
            rects += rect(x: x - width, y: 0, width: width - gap, height: 8, part.kind)
        }
        return "<div class=\"bar\">" + svg(100, 8, label, rects) + "</div>\n"
    }

    /// A bar of a share of the width, for a cell of a table.
    static func bar(_ value: Int, of top: Int, _ kind: String = "accent") -> String {
        let width = top > 0 ? Double(value) * 100 / Double(top) : 0
        return "<div class=\"bar\" aria-hidden=\"true\">"
            + svg(100, 8, nil, rect(x: 0, y: 0, width: min(100, width), height: 8, kind)) + "</div>"
    }

    /// A column of a chart.
    struct Column {
        /// Its parts from below, in the order of the legend.
        let values: [Int]
        /// What shows under the pointer.
        let text: String
    }

    /// Columns from left to right above an axis, with a scale on the left and a legend.
    ///
    /// - Parameters:
    ///   - legend: the name and the kind of each part.
    ///   - scale: the text of a value of the scale.
    ///   - ticks: texts below the axis, from its beginning to its end, as markup.
    ///   - label: what screen readers say instead of the drawing.
    static func columns(
        _ title: String, _ columns: [Column], legend: [(name: String, kind: String)], scale: (Int) -> String,
        ticks: [String], label: String
    ) -> String {
        let top = roundTop(columns.map { $0.values.reduce(0, +) }.max() ?? 0)
        var drawn = legend.contains { $0.kind == "bad" } ? stripes : ""
        for y in [0, 50, 100] {
            drawn += "<line x1=\"0\" x2=\"\(columns.count * 10)\" y1=\"\(y)\" y2=\"\(y)\" class=\"grid\"/>"
        }
        for (place, column) in columns.enumerated() {
            var y = 100.0
            var parts = ""
            for (value, entry) in zip(column.values, legend) where value > 0 {
                let height = Double(value) * 100 / Double(top)
                y -= height
                // A gap between the parts, so that they differ without colour.
                parts += rect(
                    x: Double(place) * 10 + 1, y: y, width: 8, height: height > 4 ? height - 1 : height, entry.kind,
                    isStriped: entry.kind == "bad")
            }
            if !parts.isEmpty { drawn += "<g><title>\(HTML.escaped(column.text))</title>\(parts)</g>" }
        }
        let left = [top, top / 2, 0].map { "<span>\(HTML.escaped(scale($0)))</span>" }
        return "<figure class=\"chart\">\n<figcaption><b>\(HTML.escaped(title))</b>\n"
            + legend.map { key($0.kind, HTML.escaped($0.name)) }.joined() + "</figcaption>\n"
            + "<div class=\"plot\"><div class=\"left\" aria-hidden=\"true\">\(left.joined())</div>\n"
            + svg(columns.count * 10, 100, label, drawn)
            + "<div class=\"below\">\(ticks.map { "<span>\($0)</span>" }.joined())</div></div>\n</figure>\n"
    }

    /// A square of a colour of the chart, and what it means as markup.
    static func key(_ kind: String, _ meaning: String) -> String {
        "<span class=\"legend\"><i class=\"key-\(kind)\" aria-hidden=\"true\"></i><span>\(meaning)</span></span>\n"
    }

    /// The least round number that is not below a value, of which the half is whole and as round: 2, 4, 6, 8, 10, 12, 16,
    /// 20, 30, 40, 50, 60, 80, 100, 120 …
    static func roundTop(_ value: Int) -> Int {
        if let top = [2, 4, 6, 8].first(where: { $0 >= value }) { return top }
        var unit = 1
        while true {
            for step in [10, 12, 16, 20, 30, 40, 50, 60, 80] where unit * step >= value { return unit * step }
            unit *= 10
        }
    }

    /// The fill of what failed: two shades, so that no colour has to be told from another.
    private static let stripes =
        "<defs><pattern id=\"stripes\" width=\"20\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
        + "<rect width=\"20\" height=\"4\" class=\"between\"/><rect width=\"20\" height=\"2\" class=\"stripe\"/>"
        + "</pattern></defs>"

    private static func svg(_ width: Int, _ height: Int, _ label: String?, _ content: String) -> String {
        let role = label.map { "role=\"img\" aria-label=\"\(HTML.escaped($0))\"" } ?? ""
        return "<svg viewBox=\"0 0 \(max(1, width)) \(height)\" preserveAspectRatio=\"none\" \(role)>\(content)</svg>\n"
    }

    private static func rect(
        x: Double, y: Double, width: Double, height: Double, _ kind: String, isStriped: Bool = false
    ) -> String {
        func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        return "<rect x=\"\(text(x))\" y=\"\(text(y))\" width=\"\(text(width))\" height=\"\(text(height))\" "
            + (isStriped ? "fill=\"url(#stripes)\"/>" : "class=\"fill-\(kind)\"/>")
    }
}
