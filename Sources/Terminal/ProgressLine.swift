private import CGLib
import Concurrency

/// A progress line that fits a width.
package struct ProgressLine: Equatable {
    package let done: Int
    /// Nil if unknown.
    package let total: Int?
    /// The counted unit, such as `files read`; empty if clear.
    package var unit = ""
    /// Per second; nil while unknown.
    package var rate: Double?
    /// Nil while unknown.
    package var secondsLeft: Int?
    /// Most important first, such as `2 failed`. Omitted if they do not fit.
    package var notes: [String] = []

    package init(
        done: Int, total: Int?, unit: String = "", rate: Double? = nil, secondsLeft: Int? = nil, notes: [String] = []
    ) {
        (self.done, self.total, self.unit) = (done, total, unit)
        (self.rate, self.secondsLeft, self.notes) = (rate, secondsLeft, notes)
    }

    /// `[#####.....] 50% 5/10, 1 failed, 2.5/s, 2s left`.
    ///
    /// Omits what does not fit: notes (of the first one the part in parentheses first), then the time, the rate and the
    /// counts next to the percentage.
    ///
    /// - Parameter width: the terminal's cells; nil for a complete line without a bar.
    package func text(width: Int?) -> String {
        guard let width else { return line(bar: 0, notes: notes) }
        let bars = total == nil ? [0] : [30, 20, 10, 0]
        let fewer = notes.indices.dropFirst().reversed().map { (0, Array(notes.prefix($0))) }
        let brief = notes.prefix(1).compactMap { $0.split(separator: " (").first }.map { (0, [String($0)]) }
        let shapes: [(Int, [String])] = bars.map { ($0, notes) } + fewer + brief + [(0, [])]
        let shown = shapes.lazy.map { line(bar: $0.0, notes: $0.1) }
        let fits = { (text: String) in TerminalCells.count(text) <= width }
        return shown.first(where: fits) ?? [withoutTime, counts].first(where: fits) ?? share
    }

    /// The shortest line with everything but notes.
    package var numbers: String { line(bar: 0, notes: []) }

    package var counts: String { counts(bar: 0) }

    private var withoutTime: String {
        var line = self
        line.secondsLeft = nil
        return line.numbers
    }

    /// `50%`, or the count without a total.
    private var share: String { String(counts.prefix { $0 != " " }) }

    private func line(bar: Int, notes: [String]) -> String {
        var parts = [counts(bar: bar)] + notes
        if let rate { parts.append("\((rate * 10).rounded() / 10)/s") }
        if let secondsLeft { parts.append("\(Self.time(secondsLeft)) left") }
        return parts.joined(separator: ", ")
    }

    private func counts(bar width: Int) -> String {
        let name = unit.isEmpty ? "" : " \(unit)"
        guard let total else { return "\(done)\(name)" }
        // Items added meanwhile extend the total.
        let all = max(total, done)
        let share = "\(all == 0 ? 100 : done * 100 / all)% \(done)/\(all)\(name)"
        guard width > 0 else { return share }
        let filled = all == 0 ? width : done * width / all
        return "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))] \(share)"
    }

    /// At most two units: `45s`, `3m 20s`, `2h 5m`, `4d 3h`.
    package static func time(_ seconds: Int) -> String {
        let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")]
        let first = units.firstIndex { seconds >= $0.0 } ?? 3
        var rest = seconds
        var parts: [String] = []
        for (size, letter) in units[first...].prefix(2) {
            if parts.isEmpty || rest >= size { parts.append("\(rest / size)\(letter)") }
            rest %= size
        }
        return parts.joined(separator: " ")
    }
}

/// The terminal cells of text: two for a wide character such as 写, none for a combining one.
package enum TerminalCells {
    package static func count(_ text: some StringProtocol) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// The longest prefix of `text` within so many cells.
    package static func prefix(_ text: some StringProtocol, _ cells: Int) -> String {
        var left = cells
        return String(
            text.prefix { character in
                left -= count(String(character))
                return left >= 0
            })
    }

    /// `text`, or a prefix and `…` within so many cells; cut at a word if one ends in the last half.
    package static func shortened(_ text: String, _ cells: Int) -> String {
        guard count(text) > cells else { return text }
        let start = prefix(text, cells - 1)
        let words = start.lastIndex(of: " ").map { start[..<$0] } ?? ""
        return (count(words) * 2 >= cells ? String(words) : start) + "…"
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if g_unichar_iszerowidth(scalar.value) != 0 { return 0 }
        return g_unichar_iswide(scalar.value) != 0 ? 2 : 1
    }
}

/// A count's current rate: an exponential average over about ten seconds, so that a pause or burst shows soon.
package struct RecentRate {
    private static let span = 10.0
    private var last: (count: Int, time: ContinuousClock.Instant)?
    private var average = 0.0
    /// The share of `average` that comes from measurements; the rest is its initial zero.
    private var weight = 0.0

    package init() {}

    /// Adds a measurement; nil until there are two of different times.
    package mutating func update(_ count: Int, at now: ContinuousClock.Instant) -> Double? {
        guard let before = last else {
            last = (count, now)
            return nil
        }
        let seconds = Double((now - before.time).milliseconds) / 1000
        guard seconds > 0 else { return weight > 0 ? average / weight : nil }
        last = (count, now)
        let kept = 1 / (1 + seconds / Self.span)
        average = average * kept + Double(count - before.count) / seconds * (1 - kept)
        weight = weight * kept + (1 - kept)
        return average / weight
    }
}
