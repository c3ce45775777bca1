import DiskCache
import ImageModel
import Transcoder

/// The text of a map for nginx: from the address a client asks for to the file in the cache and its media type.
///
/// The address of a key is its URL without the scheme: `https://a.example/b.png?c` is asked for as `/a.example/b.png?c`.
/// nginx compares the strings of a map without regard to case; keys that differ only by case become regular expressions,
/// which it compares exactly.
struct NginxMap {
    private struct Line {
        let address: String
        let file: String
        let type: String
    }

    private var lines: [Line] = []
    /// How many addresses are equal but for their case.
    private var folded: [String: Int] = [:]
    private var known: Set<String> = []
    private var longest = 0
    /// Files in the map.
    private(set) var count = 0
    /// Keys that are no web address.
    private(set) var skipped = 0
    /// Keys whose address another one has already: `http` and `https` are asked for alike.
    private(set) var shadowed = 0
    /// Keys that are longer than nginx reads.
    private(set) var tooLong = 0

    /// nginx refuses a configuration with a longer word than 4096 bytes, however it came to be that long.
    private static let longestWord = 4000

    /// Adds a file; one that cannot be asked for is counted and left out.
    mutating func add(_ entry: ManifestEntry, format: String?) {
        guard let address = Self.address(of: entry.key) else {
            skipped += 1
            return
        }
        guard Self.quoted("~^" + Self.literally(address) + "$").utf8.count <= Self.longestWord else {
            tooLong += 1
            return
        }
        guard !known.contains(address) else {
            shadowed += 1
            return
        }
        count += 1
        let type = format.flatMap { ImageFormat(named: $0)?.mediaType } ?? "application/octet-stream"
        let escaped = Self.escaped(address)
        for address in escaped.utf8.count <= Self.longestWord / 2 ? [address, escaped] : [address]
        where known.insert(address).inserted {
            lines.append(Line(address: address, file: entry.file, type: type))
            folded[address.lowercased(), default: 0] += 1
            longest = max(longest, address.utf8.count)
        }
    }

    /// The configuration: two maps, `$larder_file` and `$larder_type`, both empty for what is not there.
    func text(namespace: String) -> String {
        // A bucket holds the longest address and some pointers; nginx wants a power of two.
        var bucket = 128
        while bucket < longest + 64 { bucket *= 2 }
        var text = """
            # Made by 'larder cache map'; include it in the http block.
            map_hash_bucket_size \(bucket);
            map_hash_max_size \(max(2048, lines.count * 2));
            geo $larder_dollar { default "$"; }

            """
        text += map("$larder_file") { namespace + "/" + $0.file }
        text += map("$larder_type", \.type)
        return text
    }

    private func map(_ variable: String, _ value: (Line) -> String) -> String {
        var text = "map $request_uri \(variable) {\n    default \"\";\n"
        for line in lines {
            let isAlone = folded[line.address.lowercased()] == 1
            let source = isAlone ? line.address : "~^" + Self.literally(line.address) + "$"
            text += "    \"\(Self.quoted(source))\" \"\(Self.plain(value(line)))\";\n"
        }
        return text + "}\n"
    }

    /// As a client writes it in its request; nil for what is no web address.
    static func address(of key: String) -> String? {
        for scheme in ["https://", "http://"] where key.lowercased().hasPrefix(scheme) {
            var address = "/"
            for byte in key.utf8.dropFirst(scheme.utf8.count).prefix(while: { $0 != UInt8(ascii: "#") }) {
                if (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\"") {
                    address.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    let digits = String(byte, radix: 16, uppercase: true)
                    address += "%" + (digits.count == 1 ? "0" : "") + digits
                }
            }
            return address
        }
        return nil
    }

    /// As browsers write it, which escape what is no character of URLs; transformers put braces into keys.
    private static func escaped(_ address: String) -> String {
        var escaped = ""
        for character in address.utf8 {
            let scalar = Unicode.Scalar(character)
            if "{}|^<>`\\".unicodeScalars.contains(scalar) {
                escaped += "%" + String(character, radix: 16, uppercase: true)
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    /// A value, in which a dollar sign would begin a variable and cannot be escaped.
    private static func plain(_ text: String) -> String { quoted(text).replacing("$", with: "${larder_dollar}") }

    /// A regular expression that only `text` matches.
    private static func literally(_ text: String) -> String {
        var pattern = ""
        for character in text {
            if #"\.+*?()[]{}|^$"#.contains(character) { pattern += "\\" }
            pattern.append(character)
        }
        return pattern
    }
}
