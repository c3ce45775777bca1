/// A line about work that goes on, which fits a width.
struct ProgressLine: Equatable {
    let done: Int
    /// Nil when unknown.
    let total: Int?
    /// What is counted: `files read`; empty where that is clear.
    var unit = ""
    /// Per second; nil while unknown.
    var rate: Double?
    /// Seconds at this rate; nil while unknown.
    var secondsLeft: Int?
    /// The most important first: `2 failed`. Those for which there is no room are left out.
    var notes: [String] = []

    /// `[#####.....] 50% 5/10, 1 failed, 2.5/s, 2s left`.
    ///
    /// - Parameter width: cells of the terminal; nil for a line without a bar that is not cut.
    func text(width: Int?) -> String {
        guard let width else { return line(bar: 0, notes: notes.count) }
        let bars = total == nil ? [0] : [30, 20, 10, 0]
        let shapes = bars.map { ($0, notes.count) } + (0..<notes.count).reversed().map { (0, $0) }
        let fitting = shapes.lazy.map { line(bar: $0.0, notes: $0.1) }.first { TerminalCells.count($0) <= width }
        return fitting ?? TerminalCells.prefix(line(bar: 0, notes: 0), width)
    }

    private func line(bar: Int, notes count: Int) -> String {
        var parts = [counts(bar: bar)] + notes.prefix(count)
        if let rate { parts.append("\((rate * 10).rounded() / 10)/s") }
        if let secondsLeft { parts.append("\(ProgressText.time(secondsLeft)) left") }
        return parts.joined(separator: ", ")
    }

    private func counts(bar width: Int) -> String {
        let name = unit.isEmpty ? "" : " \(unit)"
        guard let total else { return "\(done)\(name)" }
        // What was added meanwhile extends the total.
        let all = max(total, done)
        let share = "\(all == 0 ? 100 : done * 100 / all)% \(done)/\(all)\(name)"
        guard width > 0 else { return share }
        let filled = all == 0 ? width : done * width / all
        return "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))] \(share)"
    }
}
