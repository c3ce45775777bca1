import FoundationEssentials

/// Hides the passwords in this process's arguments, which `ps` shows to every user.
enum HiddenPasswords {
    /// Overwrites them with stars. Call it after reading the arguments.
    static func hide() {
        // Fields 48 and 49 are the start and end address of the arguments; field 2, the program's name in parentheses,
        // may contain spaces.
        guard let status = try? Data(contentsOf: URL(filePath: "/proc/self/stat")),
            let end = status.lastIndex(of: UInt8(ascii: ")"))
        else { return }
        let fields = status[end...].split(separator: UInt8(ascii: " ")).map {
            UInt(String(decoding: $0, as: UTF8.self)) ?? 0
        }
        guard fields.count > 47, fields[46] < fields[47], let start = UnsafeMutableRawPointer(bitPattern: fields[46])
        else { return }
        let memory = UnsafeMutableRawBufferPointer(start: start, count: Int(fields[47] - fields[46]))
        for range in ranges(in: Array(memory)) {
            for index in range { memory[index] = UInt8(ascii: "*") }
        }
    }

    /// The passwords in words that each end with a zero byte: in a URL's user part, and after `password=`.
    static func ranges(in words: [UInt8]) -> [Range<Int>] {
        words.split(separator: 0).flatMap { word in [userPassword(in: word), value(in: word)].compactMap(\.self) }
    }

    private static func userPassword(in word: ArraySlice<UInt8>) -> Range<Int>? {
        guard let scheme = word.firstRange(of: Array("://".utf8)) else { return nil }
        let rest = word[scheme.upperBound...]
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")),
            let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return colon + 1..<at
    }

    /// As in `host=db password='a b'`, or in a URL's query.
    private static func value(in word: ArraySlice<UInt8>) -> Range<Int>? {
        guard let name = word.firstRange(of: Array("password=".utf8)) else { return nil }
        let rest = word[name.upperBound...]
        let quote = UInt8(ascii: "'")
        let end =
            rest.first == quote
            ? rest.dropFirst().firstIndex(of: quote) : rest.firstIndex { "& ".utf8.contains($0) }
        return name.upperBound..<(end ?? rest.endIndex)
    }
}
