import DiskCache
import Foundation
import TestSupport
import Testing

/// The rules for file names and derived keys compared with other implementations, on random keys.
@Suite(.timeLimit(.minutes(5)))
struct RestatedRulesTests {
    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: python), "needs /usr/bin/python3"),
        arguments: 1...5 as ClosedRange<UInt64>, URLRules.allCases)
    func `agree with the same rules in Python for a hundred thousand keys`(
        seed: UInt64, rules: URLRules
    ) async throws {
        let (answers, different) = try await onThread {
            var generator = SplitMix64(seed: seed)
            let cases = (0..<10_000).map { _ in
                (hostileKey(&generator), suffixes.randomElement(using: &generator) ?? "")
            }
            let answers = try restated(cases, rules)
            let naming = SDWebImageNaming(urlRules: rules)
            let different = zip(cases, answers).filter { pair, answer in
                let key = CacheKey(pair.0)
                let derived = key.appending(pair.1, rules: rules)?.text ?? "nil"
                return !same(naming.fileName(of: key), answer.name) || !same(derived, answer.derived)
                    || !same(rules.absoluteString(of: pair.0) ?? "nil", answer.url)
            }
            return (answers.count, different.map { "\($0.0.0.debugDescription) + \($0.0.1.debugDescription)" })
        }
        #expect(answers == 10_000, "\(different)")
        #expect(different.isEmpty, "\(different)")
    }

    /// Keys for which no difference between Foundation and the rules is known.
    @Test(arguments: [4, 5, 6] as [UInt64])
    func `agree with Foundation where Foundation is correct`(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        // Swift 6.3 has the rules of iOS 26.
        let rules = URL(string: "a%20 ")?.absoluteString == "a%20%20" ? URLRules.ios27 : .ios17
        for _ in 0..<2000 {
            let key = plainKey(&generator)
            let suffix = plainSuffixes.randomElement(using: &generator) ?? ""
            let expected = derivedByFoundation(key, suffix)
            #expect(
                same(CacheKey(key).appending(suffix, rules: rules)?.text ?? "nil", expected ?? "nil"),
                "\(key.debugDescription) + \(suffix)")
            #expect(same(rules.absoluteString(of: key) ?? "nil", URL(string: key)?.absoluteString ?? "nil"))
        }
    }

    // MARK: - Keys

    private func hostileKey(_ generator: inout SplitMix64) -> String {
        func pick(_ parts: [String]) -> String { parts.randomElement(using: &generator) ?? "" }
        func many(_ parts: [String], _ most: Int) -> String {
            (0..<Int.random(in: 0...most, using: &generator)).map { _ in parts.randomElement(using: &generator) ?? "" }
                .joined()
        }
        let front = pick([
            "http://", "https://", "HTTP://", "file://", "FILE:/", "file:", "ftp://", "//", "/", "", "data:", "mailto:",
            "1x:", "://", "x-y+z.1://", "a[b:",
            "x-y+z.1:", "é:", ":", "a b:", "http:", "http:/",
        ])
        let user = pick(["", "", "", "u@", "u:p@", "u:p:q@", "a@b@", "é @", "%zz@", "[@", "%20:|@"])
        let host = pick([
            "foo", "example.com", "FOO.Com", "", "[::1]", "[::1", "a_b", "fo o", "foo%20", "foo%", "a{b", "例え.jp",
            "Foo.例",
            "münchen.de", "a]b", "foo\\", "[v1.x]", "[a{]", "[fe80::1%en0]", "[fe80::1%25e%20n]", "[::1]x",
        ])
        let port = pick(["", "", "", ":80", ":", ":0080", ":99999999999999999999", ":8a", ":-1", "::", ":８"])
        let pieces = [
            "a", "b", ".", ".", ".", "/", "/", "//", "%2E", "%2e", "%2F", "%20", " ", "%", "%4", "%zz", "%00", "\u{0}",
            ":",
            "%3A", ";", "@", "é", "e\u{301}", "%C3%A9", "%c3", "%FF", "%C4%E3", "图", "😀", "{", "}", "#f", "?q", "?",
            "#", "[", "]",
            "\\", "^", "|", "\"", "<", "\n", "\t", "\u{7f}", "+", "~", "'", "..", "png", ".jpg", ".tar.gz", "%25", "&=",
        ]
        let ending = pick([
            "", "", ".png", ".PNG", ".jpeg/", ".webp?w=1", ".gif#f", ".a%2Eb", ".p%6Eg", ".j pg", ".%E5%9B%BE", ".x:y",
            "." + String(repeating: "x", count: Int.random(in: 219...225, using: &generator)),
            "." + String(repeating: "图", count: Int.random(in: 72...76, using: &generator)),
            "." + String(repeating: "😀", count: Int.random(in: 54...57, using: &generator)),
        ])
        // Occasionally very long.
        let long = Int.random(in: 0..<200, using: &generator) == 0 ? String(repeating: pick(pieces), count: 10_000) : ""
        let place = front.hasSuffix("//") ? user + host + port + pick(["/", "/", ""]) : ""
        return front + place + long + many(pieces, 10) + ending
    }

    private func plainKey(_ generator: inout SplitMix64) -> String {
        func pick(_ parts: [String]) -> String { parts.randomElement(using: &generator) ?? "" }
        let front = pick([
            "http://foo/", "https://u:p@foo.com:80/", "http://bücher.de:/", "http://straße.de:080/",
            "http://u|:p%20@foo/", "HTTP://Foo/", "/", "", "//foo/", "http://[::1]/", "file:///",
            "http:/",
        ])
        let pieces = [
            "a", "b", "v1.0/", "/", "//", ";", "@", "+", "~", "'", "(", ",", "&=", "%20", "%2F", "%2f", "%3F", "%25",
            "%41",
            "%C3%A9", "%c3%a9", "%0A", " ", "é", "图", "{", "}", "[", "]", "^", "|", "\"", "<", "\n", "\\", "`", "%zz",
        ]
        let endings = ["", ".png", ".PNG", ".jpeg/", ".tar.gz", ".", ".p%6Eg", "%2Epng", ".图", ".p g", ".png%20"]
        let middle = (0..<Int.random(in: 0...8, using: &generator)).map { _ in pick(pieces) }.joined()
        return front + "a" + middle + "b" + pick(endings)
            + pick(["", "", "?w=1&h=2", "?a b{}", "?x=/y.gif", "#f.png", "?é#é", "?f[]=1&u=a%20b"])
    }

    private let suffixes = [
        "SDImageFlippingTransformer(1,0)", "SDImageResizingTransformer({100.000000,100.000000},2)", "",
        "SDImageTintTransformer(#ff000000,18)", "a/b", "a:b", "../x", "%41", "é图", "x?y", "a/", ".", "a.b", "\u{0}",
    ]
    private let plainSuffixes = [
        "SDImageFlippingTransformer(1,0)", "SDImageResizingTransformer({100.000000,100.000000},2)",
        "SDImageTintTransformer(#ff000000,18)", "SDImageRotationTransformer(-0.785398,0)", "", "图",
    ]

    // MARK: - Other implementations

    private func restated(
        _ cases: [(String, String)], _ rules: URLRules
    ) throws -> [(name: String, derived: String, url: String)] {
        let input = cases.map { "\(hex($0.0))\t\(hex($0.1))\n" }.joined()
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "cases")
        try Data(input.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = [KeyVectors.vectors.appending(path: "restated_rules.py").path, rules.rawValue]
        process.standardInput = try FileHandle(forReadingFrom: file)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            return (text(fields[0]), text(fields[1]), text(fields[2]))
        }
    }

    private func derivedByFoundation(_ key: String, _ suffix: String) -> String? {
        func inserted(_ path: String, _ name: String) -> String? {
            ((path as NSString).deletingPathExtension + "-" + suffix as NSString).appendingPathExtension(name)
        }
        let url = URL(string: key)
        let name = url?.pathExtension ?? (key as NSString).pathExtension
        guard !name.isEmpty else { return key + "-" + suffix }
        guard let url, !url.isFileURL else { return inserted(key, name) }
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return nil }
        guard let path = inserted(components.path, name) else { return nil }
        components.path = path
        return components.url?.absoluteString
    }

    private func hex(_ text: String) -> String {
        text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func text(_ hex: Substring) -> String {
        let digits = hex.compactMap(\.hexDigitValue)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

private let python = "/usr/bin/python3"
