extension String {
    /// Without surrounding characters of `kind`.
    package func trimmed(of kind: (Character) -> Bool) -> String {
        lastIndex { !kind($0) }.map { String(self[...$0].drop(while: kind)) } ?? ""
    }
}

extension Character {
    /// White space other than newlines.
    package var isBlank: Bool { isWhitespace && !isNewline }
}

extension Duration {
    private static let units: [(suffix: String, milliseconds: Double)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Parses `500ms`, `1.5s`, `5m`, `2h`, `1d`, and `30` as seconds; nil if invalid or negative.
    package init?(spelling: String) {
        let unit = Self.units.first { spelling.hasSuffix($0.suffix) } ?? ("", 1000)
        guard let number = Double(spelling.dropLast(unit.suffix.count)), number >= 0, number.isFinite,
            number * unit.milliseconds < 1e15
        else { return nil }
        self = .milliseconds(Int64((number * unit.milliseconds).rounded()))
    }
}

/// A size with its text forms.
package struct ByteCount {
    package let bytes: Int

    private static let units: [(suffix: String, factor: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("K", 1 << 10), ("M", 1 << 20),
        ("G", 1 << 30), ("T", 1 << 40), ("B", 1),
    ]

    /// Parses `800000`, `512KiB`, `32MiB`, `1G`; nil if invalid.
    package init?(spelling: String) {
        let unit = Self.units.first { spelling.hasSuffix($0.suffix) } ?? ("", 1)
        guard let number = Int(spelling.dropLast(unit.suffix.count)), number >= 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    package init(_ bytes: Int) { self.bytes = bytes }

    /// `12 B`, `3.4 KiB`, `1.2 GiB`.
    package var text: String {
        var value = Double(bytes)
        var unit = "B"
        for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 {
            value /= 1024
            unit = next
        }
        return unit == "B" ? "\(bytes) B" : "\((value * 10).rounded() / 10) \(unit)"
    }
}

extension Int {
    /// `1 job`, `2 jobs`.
    package func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(self) \(noun)s" }
}
