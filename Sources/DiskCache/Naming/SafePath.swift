private import ImageModel

/// Makes relative paths from untrusted texts.
enum SafePath {
    /// In bytes; the cache root precedes it, and Linux accepts 4,096 in total.
    static let limit = 3_072
    /// In bytes.
    static let componentLimit = 255
    /// A hyphen and a SHA-256.
    private static let digestLength = 65

    /// Whether components must not contain the character: slash, backslash, control characters, and characters that
    /// change text direction.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x5C, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// `escaped` percent-decoded, with `_` for slashes. Escapes that are not UTF-8 stay.
    static func component(_ escaped: ArraySlice<UInt8>) -> String {
        let decoded = PercentEncoding.decode(escaped).map { $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
        return String(validating: decoded, as: UTF8.self) ?? String(decoding: escaped, as: UTF8.self)
    }

    /// `text`, truncated and followed by its SHA-256 if it exceeds `limit` bytes.
    static func shortened(_ text: String, to limit: Int = componentLimit) -> String {
        guard text.utf8.count > limit else { return text }
        var kept = ""
        for character in text.unicodeScalars {
            guard kept.utf8.count + String(character).utf8.count + digestLength <= limit else { break }
            kept.unicodeScalars.append(character)
        }
        return kept + "-" + SHA256Digest.hex(of: text.utf8)
    }

    /// `path` without empty components. Unsafe characters and leading dots become `_`, and a `_` precedes a mark that
    /// would combine with the slash. Long components are shortened; a path over `limit` becomes its SHA-256.
    static func path(_ path: String) -> String {
        let parts = path.unicodeScalars.split(separator: "/").map { part in
            let scalars = part.enumerated().map { index, scalar in
                isUnsafe(scalar) || (index == 0 && scalar == ".") ? "_" : scalar
            }
            let text = String(String.UnicodeScalarView(scalars))
            return shortened(("/" + text).first == "/" ? text : "_" + text)
        }
        let safe = parts.joined(separator: "/")
        return safe.utf8.count <= limit && !safe.isEmpty ? safe : SHA256Digest.hex(of: path.utf8)
    }

    /// Whether `path` returns this text unchanged.
    static func isSafe(_ path: String) -> Bool {
        Self.path(path).utf8.elementsEqual(path.utf8)
    }
}
