/// What an origin says of an image by `X-Robots-Tag`, as far as it is meant for Larder.
package struct RobotsDirectives: Sendable, Equatable {
    /// The name that directives and rules call this program by.
    package static let productToken = "larder"
    /// Directives that, where they are to be obeyed, forbid taking the image.
    package static let forbidding: Set<String> = ["noai", "noimageai", "noindex", "noimageindex", "none"]
    /// Directives that have a value behind a colon, and so are no names of robots.
    private static let valued: Set<String> = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]
    private static let most = 32

    /// The directives in lower case, in order, each once; values left out.
    package private(set) var names: [String] = []

    /// Reads the header's lines, separated by `;`.
    ///
    /// `noindex, noai` is for everybody; behind `name:` the rest of a line is for the robot of that name alone.
    package init(_ header: String?) {
        for line in (header ?? "").split(separator: ";") {
            var isMeant = true
            for part in line.split(separator: ",") {
                var text = part.trimmingBlanks.lowercased()
                if let colon = text.firstIndex(of: ":") {
                    let word = text[..<colon].trimmingBlanks
                    if Self.valued.contains(word) {
                        text = word
                    } else {
                        isMeant = word == Self.productToken
                        text = text[text.index(after: colon)...].trimmingBlanks
                    }
                }
                if isMeant, !text.isEmpty, !names.contains(text), names.count < Self.most { names.append(text) }
            }
        }
    }

    /// The first directive that forbids taking the image.
    package var forbids: String? { names.first { Self.forbidding.contains($0) } }
}

extension StringProtocol {
    /// Without blanks and tabs at both ends.
    var trimmingBlanks: String {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
