import DiskCache
import ImageModel
import Transcoder

/// A map for nginx from a request path to the file in the cache and its media type.
///
/// The path of a key is its URL without the scheme: `/a.example/b.png?c` for `https://a.example/b.png?c`. nginx
/// compares the strings of a map case-insensitively, so keys that differ only by case become regular expressions.
struct NginxMap {
    private struct Line {
        let address: String
        let file: String
        let type: String
    }

    private var lines: [Line] = []
    /// The number of addresses by lower-case form.
    private var folded: [String: Int] = [:]
    private var known: Set<String> = []
    private var longest = 0
    /// The number of files in the map.
    private(set) var count = 0
    /// The number of keys that are not http or https URLs.
    private(set) var skipped = 0
    /// The number of keys whose path another key already has: `http` and `https` URLs have the same path.
    private(set) var shadowed = 0
    /// The number of keys that are too long for nginx.
    private(set) var tooLong = 0

    /// nginx rejects a configuration with a token of more than 4096 bytes.
    private static let longestWord = 4000

    /// Adds a file, or counts it as left out.
    mutating func add(_ entry: ManifestEntry, format: String?) {
        guard let address = Self.address(of: entry.key) else {
            skipped += 1
            return
        }
        guard Self.quoted("~^" + Self.pattern(matching: address) + "$").utf8.count <= Self.longestWord else {
            tooLong += 1
            return
        }
        guard !known.contains(address) else {
            shadowed += 1
            return
        }
        count += 1
        let type = format.flatMap { ImageFormat(rawValue: $0)?.mediaType } ?? "application/octet-stream"
        let escaped = Self.escaped(address)
        for address in escaped.utf8.count <= Self.longestWord / 2 ? [address, escaped] : [address]
        where known.insert(address).inserted {
            lines.append(Line(address: address, file: entry.file, type: type))
            folded[address.lowercased(), default: 0] += 1
            longest = max(longest, address.utf8.count)
        }
    }

    /// Two maps, `$larder_file` and `$larder_type`, both empty for other paths.
    func text(directory: String) -> String {
        // A bucket holds the longest address and some pointers, and is a power of two.
        var bucket = 128
        while bucket < longest + 64 { bucket *= 2 }
        var text = """
            # Written by 'larder cache map'; include it in the http block.
            map_hash_bucket_size \(bucket);
            map_hash_max_size \(max(2048, lines.count * 2));
            geo $larder_dollar { default "$"; }

            """
        text += map("$larder_file") { directory + "/" + $0.file }
        text += map("$larder_type", \.type)
        return text
    }

    private func map(_ variable: String, _ value: (Line) -> String) -> String {
        var text = "map $request_uri \(variable) {\n    default \"\";\n"
        for line in lines {
            let isAlone = folded[line.address.lowercased()] == 1
            let source = isAlone ? line.address : "~^" + Self.pattern(matching: line.address) + "$"
            text += "    \"\(Self.quoted(source))\" \"\(Self.plain(value(line)))\";\n"
        }
        return text + "}\n"
    }

    /// The path that clients request; nil for a key that is not an http or https URL.
    static func address(of key: String) -> String? {
        for scheme in ["https://", "http://"] where key.lowercased().hasPrefix(scheme) {
            var address = "/"
            for byte in key.utf8.dropFirst(scheme.utf8.count).prefix(while: { $0 != UInt8(ascii: "#") }) {
                if (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\"") {
                    address.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    address += "%" + byte.hexadecimal(digits: 2, uppercase: true)
                }
            }
            return address
        }
        return nil
    }

    /// With the characters escaped that browsers escape; the keys of transformers contain braces.
    private static func escaped(_ address: String) -> String {
        var escaped = ""
        for character in address.utf8 {
            let scalar = Unicode.Scalar(character)
            if "{}|^<>`\\".unicodeScalars.contains(scalar) {
                escaped += "%" + character.hexadecimal(digits: 2, uppercase: true)
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    /// A value. A dollar sign begins a variable and has no escape, so it is itself written as a variable.
    private static func plain(_ text: String) -> String { quoted(text).replacing("$", with: "${larder_dollar}") }

    /// A regular expression that matches only `text`.
    private static func pattern(matching text: String) -> String {
        var pattern = ""
        for character in text {
            if #"\.+*?()[]{}|^$"#.contains(character) { pattern += "\\" }
            pattern.append(character)
        }
        return pattern
    }
}
