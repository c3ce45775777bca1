/// The directives of an `X-Robots-Tag` header that apply to Larder.
package struct RobotsDirectives: Sendable, Equatable {
    /// This program's name in directives and in `robots.txt`.
    package static let productToken = "larder"
    /// Directives that forbid storing the image.
    package static let forbidding: Set<String> = ["noai", "noimageai", "noindex", "noimageindex", "none"]
    /// Directives with a value after a colon. Any other word before a colon is a robot's name.
    private static let valued: Set<String> = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]
    private static let maximumCount = 32

    /// Lower case, in order, each once, without values.
    package private(set) var names: [String] = []

    /// Parses header lines separated by `;`.
    ///
    /// `noindex, noai` applies to all robots; after `name:` the rest of a line applies to that robot only.
    package init(_ header: String?) {
        for line in (header ?? "").split(separator: ";") {
            var applies = true
            for part in line.split(separator: ",") {
                var text = part.trimmingBlanks.lowercased()
                if let colon = text.firstIndex(of: ":") {
                    let word = text[..<colon].trimmingBlanks
                    if Self.valued.contains(word) {
                        text = word
                    } else {
                        applies = word == Self.productToken
                        text = text[text.index(after: colon)...].trimmingBlanks
                    }
                }
                if applies, !text.isEmpty, !names.contains(text), names.count < Self.maximumCount { names.append(text) }
            }
        }
    }

    package var forbids: String? { names.first { Self.forbidding.contains($0) } }
}

extension StringProtocol {
    /// Without spaces and tabs at both ends.
    var trimmingBlanks: String {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
