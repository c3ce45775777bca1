/// Where a text stops being JSON (RFC 8259), for people who have to mend it; Foundation's parser tells no position.
struct JSONFault {
    private let bytes: [UInt8]
    private var index = 0

    /// `line 1, column 5`, both from 1, columns in bytes; nil when the text is JSON.
    static func place(in text: some Sequence<UInt8>) -> String? {
        var reader = JSONFault(bytes: Array(text))
        if reader.value(depth: 0) && reader.isAtEnd { return nil }
        let before = reader.bytes[..<reader.index]
        let newlines = before.count { $0 == UInt8(ascii: "\n") }
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return "line \(newlines + 1), column \(reader.index - start + 1)"
    }

    private var isAtEnd: Bool { index == bytes.count }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a value with the blanks around it; false leaves the index at the first byte that does not fit.
    private mutating func value(depth: Int) -> Bool {
        blanks()
        guard depth < 500, let first = bytes[index...].first else { return false }
        let isRead =
            switch first {
            case UInt8(ascii: "{"): list(until: "}", depth: depth) { $0.field(depth: depth + 1) }
            case UInt8(ascii: "["): list(until: "]", depth: depth) { $0.value(depth: depth + 1) }
            case UInt8(ascii: "\""): string()
            case UInt8(ascii: "t"): word("true")
            case UInt8(ascii: "f"): word("false")
            case UInt8(ascii: "n"): word("null")
            default: number()
            }
        if isRead { blanks() }
        return isRead
    }

    private mutating func list(until end: Unicode.Scalar, depth: Int, _ element: (inout Self) -> Bool) -> Bool {
        index += 1
        blanks()
        if take(end) { return true }
        repeat {
            if !element(&self) { return false }
        } while take(",")
        return take(end)
    }

    private mutating func field(depth: Int) -> Bool {
        blanks()
        guard string() else { return false }
        blanks()
        return take(":") && value(depth: depth)
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = bytes[index...].first, byte >= 0x20 {
            if take("\"") { return true }
            if take("\\") {
                guard let escaped = bytes[index...].first, "\"\\/bfnrtu".utf8.contains(escaped) else { return false }
            }
            index += 1
        }
        return false
    }

    private mutating func number() -> Bool {
        _ = take("-")
        guard digits() else { return false }
        if take("."), !digits() { return false }
        if take("e") || take("E") {
            _ = take("+") || take("-")
            return digits()
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = index
        index = bytes[index...].firstIndex { !(0x30...0x39).contains($0) } ?? bytes.count
        return index > start
    }

    private mutating func word(_ word: String) -> Bool {
        for scalar in word.unicodeScalars where !take(scalar) { return false }
        return true
    }

    private mutating func blanks() {
        index = bytes[index...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.count
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard let byte = bytes[index...].first, UInt32(byte) == scalar.value else { return false }
        index += 1
        return true
    }
}
