/// Texts of EXIF's fields as libvips 8.14 writes them: `VALUE (SHOWN, ASCII, 5 components, 5 bytes)`.
enum EXIFText {
    /// The value without what libvips adds. What it shows of a copyright has parentheses of its own.
    static func value(_ text: String) -> String {
        let bytes = Array(text.utf8), mark = Array(" (".utf8)
        let places = bytes.indices.filter { bytes[$0...].starts(with: mark) }
        // A value has one component for each byte and usually one for the zero byte at its end.
        let count = text.ranges(of: ", ASCII, ").last.flatMap {
            Int(text[$0.upperBound...].prefix { $0.isWholeNumber })
        }
        let end = places.first { $0 + 1 == count } ?? places.first { $0 == count } ?? places.first
        return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
    }

    /// The text for a value: libvips drops what follows the last opening parenthesis.
    static func field(_ value: String) -> String {
        let count = value.utf8.count + 1
        return "\(value) (, ASCII, \(count) components, \(count) bytes)"
    }
}
