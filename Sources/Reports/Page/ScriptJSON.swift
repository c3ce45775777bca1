import Terminal

/// JSON that is safe in a script element, as UTF-8.
struct ScriptJSON {
    private(set) var bytes: [UInt8] = []

    /// - Parameter json: JSON with `<` only in strings.
    init(json: String = "") {
        bytes.reserveCapacity(json.utf8.count)
        for byte in json.utf8 { addSafe(byte) }
    }

    /// Adds an array of values written by `add`. Without an encoder, as a page may have 100,000 rows.
    mutating func addArray(_ add: (inout ScriptJSON) throws -> Void) rethrows {
        bytes.append(UInt8(ascii: "["))
        try add(&self)
        if bytes.last == UInt8(ascii: ",") { bytes.removeLast() }
        bytes += "],".utf8
    }

    /// The values as an array.
    var array: String { "[" + String(decoding: bytes.dropLast(), as: UTF8.self) + "]" }

    mutating func add(_ value: Int?) {
        bytes += (value.map(String.init) ?? "null").utf8
        bytes.append(UInt8(ascii: ","))
    }

    mutating func add(_ value: String?) {
        guard let value else {
            bytes += "null,".utf8
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: addCode(byte)
            default: addSafe(byte)
            }
        }
        bytes += "\",".utf8
    }

    mutating func append(_ values: ScriptJSON) { bytes += values.bytes }

    private mutating func addSafe(_ byte: UInt8) {
        if byte == UInt8(ascii: "<") { addCode(byte) } else { bytes.append(byte) }
    }

    private mutating func addCode(_ byte: UInt8) {
        bytes += (byte < 0x10 ? "\\u000" : "\\u00").utf8
        bytes += String(byte, radix: 16).utf8
    }
}
