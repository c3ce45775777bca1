internal import FoundationEssentials
private import Glibc

/// A figure: the median of its rounds, and its ratio to a peer measured in the same rounds.
package struct MeasuredFigure: Codable, Sendable {
    /// The range of the rounds.
    package struct Spread: Codable, Sendable {
        package let low, high: Double
    }

    package let name: String
    package let value: Double
    package let unit: String
    /// The median of each round's ratio, which cancels out a drift of the machine. Nil without a peer.
    package let ratio: Double?
    /// The peer's figure; nil without one.
    package let against: String?
    package let values: Spread
    package let ratios: Spread?
    package let rounds: [Double]

    /// One JSON line with the five fields of `bench --json`.
    package var jsonLine: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(Line(measurement: self)), as: UTF8.self)
        }
    }

    package var textLine: String {
        let head = "\(name): \(value.short) \(unit) (\(values.low.short)–\(values.high.short))"
        guard let ratio, let against, let ratios else { return head }
        return head + ", \(ratio.short) × \(against) (\(ratios.low.short)–\(ratios.high.short))"
    }

    private struct Line: Encodable {
        let measurement: MeasuredFigure

        enum Keys: CodingKey { case name, value, unit, ratio, against }

        /// Writes a missing ratio as null; the default omits it.
        func encode(to encoder: any Encoder) throws {
            var line = encoder.container(keyedBy: Keys.self)
            try line.encode(measurement.name, forKey: .name)
            try line.encode(measurement.value, forKey: .value)
            try line.encode(measurement.unit, forKey: .unit)
            try line.encode(measurement.ratio, forKey: .ratio)
            try line.encode(measurement.against, forKey: .against)
        }
    }
}

extension Double {
    /// Rounded to significant digits; keeps the integer part.
    package func rounded(toDigits digits: Int) -> Double {
        guard isFinite, self != 0 else { return self }
        let scale = pow(10, Double(digits - 1) - floor(log10(abs(self))))
        return scale < 1 ? rounded() : (self * scale).rounded() / scale
    }

    /// Three significant digits, with thousands separators.
    package var short: String {
        guard abs(self) >= 1000 else {
            let text = "\(rounded(toDigits: 3))"
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        let digits = String(Int(rounded().magnitude))
        let groups = digits.enumerated().map { index, digit in
            (digits.count - index).isMultiple(of: 3) && index > 0 ? ",\(digit)" : "\(digit)"
        }
        return (self < 0 ? "-" : "") + groups.joined()
    }
}
