/// Why a template is refused.
public enum PathTemplateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `{word}` is none of `PathTemplate.placeholders`.
    case unknown(word: String)
    /// A brace or bracket has no counterpart, or brackets contain brackets.
    case unbalanced(String)
    /// The template contains neither `{stem}` nor `{sha256}`.
    case sameForAllURLs
    /// The text is empty, exceeds 1,024 bytes, or a part of it cannot be a path.
    case notAPath(String)

    /// One line.
    public var description: String {
        switch self {
        case .unknown(let word):
            "'{\(word)}' is not one of \(PathTemplate.placeholders.map { "{\($0)}" }.joined(separator: " "))"
        case .unbalanced(let text): "'\(text)' has a brace or bracket without its counterpart"
        case .sameForAllURLs: "without {stem} or {sha256} all images of a directory would have one name"
        case .notAPath(let reason): reason
        }
    }
}

/// A template of relative paths: `{dir}/{stem}[-{width}x{height}].{ext}`.
///
/// A part in brackets is omitted if one of its placeholders is empty. `{dir:2}` is the directory without its first two
/// components.
public struct PathTemplate: Hashable, Sendable {
    enum Placeholder: String, CaseIterable {
        case host, dir, stem, ext, variant, width, height, sha256, date
    }

    private enum Piece: Hashable {
        case text(String)
        case value(Placeholder, skipped: Int)
        case optional([Piece])
    }

    /// The words allowed in braces.
    public static let placeholders = Placeholder.allCases.map(\.rawValue)

    /// As given.
    public let text: String
    private let pieces: [Piece]

    /// - Throws: `PathTemplateError`.
    public init(_ text: String) throws(PathTemplateError) {
        guard (1...1_024).contains(text.utf8.count) else {
            throw .notAPath("a template has 1 to 1,024 bytes, this one \(text.utf8.count)")
        }
        guard !text.unicodeScalars.contains(where: SafePath.isUnsafe) else {
            throw .notAPath("a template has no backslash and no control characters")
        }
        for part in text.split(separator: "/", omittingEmptySubsequences: false) {
            guard let first = part.first, first != "." else {
                throw .notAPath("a part of a path is not empty and does not begin with a dot: '\(text)'")
            }
        }
        self.text = text
        var rest = Substring(text)
        pieces = try Self.pieces(&rest, of: text, inBrackets: false)
        guard uses(.stem) || uses(.sha256) else { throw .sameForAllURLs }
    }

    func uses(_ placeholder: Placeholder) -> Bool { Self.uses(placeholder, pieces) }

    private static func uses(_ placeholder: Placeholder, _ pieces: [Piece]) -> Bool {
        pieces.contains { piece in
            switch piece {
            case .text: false
            case .value(let found, _): found == placeholder
            case .optional(let inner): uses(placeholder, inner)
            }
        }
    }

    /// Replaces placeholders by their values. Components can be empty.
    ///
    /// - Parameter value: a placeholder's value; components are joined by slashes.
    func expanded(_ value: (Placeholder) -> [String]) -> String { Self.expand(pieces, value) ?? "" }

    /// Nil if a value is empty.
    private static func expand(
        _ pieces: [Piece], isOptional: Bool = false, _ value: (Placeholder) -> [String]
    ) -> String? {
        var result = ""
        for piece in pieces {
            switch piece {
            case .text(let text): result += text
            case .value(let placeholder, let skipped):
                let found = value(placeholder).dropFirst(skipped).joined(separator: "/")
                if found.isEmpty && isOptional { return nil }
                // Omit the dot before a missing extension.
                if found.isEmpty && placeholder == .ext && result.hasSuffix(".") { result.removeLast() }
                result += found
            case .optional(let inner): result += expand(inner, isOptional: true, value) ?? ""
            }
        }
        return result
    }

    private static func pieces(
        _ rest: inout Substring, of text: String, inBrackets: Bool
    ) throws(PathTemplateError) -> [Piece] {
        var pieces: [Piece] = []
        while let character = rest.first {
            rest.removeFirst()
            switch character {
            case "{":
                guard let end = rest.firstIndex(of: "}") else { throw .unbalanced(text) }
                pieces.append(try piece(rest[..<end]))
                rest = rest[rest.index(after: end)...]
            case "[":
                guard !inBrackets else { throw .unbalanced(text) }
                pieces.append(.optional(try Self.pieces(&rest, of: text, inBrackets: true)))
            case "]" where inBrackets: return pieces
            case "]", "}": throw .unbalanced(text)
            default: pieces.append(.text(String(character)))
            }
        }
        guard !inBrackets else { throw .unbalanced(text) }
        return pieces
    }

    /// `variant.width` is `width`: the size belongs to the variant.
    private static func piece(_ word: Substring) throws(PathTemplateError) -> Piece {
        let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0]
        let short = name == "variant.width" || name == "variant.height" ? name.dropFirst("variant.".count) : name
        guard let placeholder = Placeholder(rawValue: String(short)) else { throw .unknown(word: String(name)) }
        guard parts.count == 2 else { return .value(placeholder, skipped: 0) }
        guard placeholder == .dir, let skipped = Int(parts[1]), (1...99).contains(skipped) else {
            throw .notAPath("only {dir:1} to {dir:99} leave out components, not '{\(word)}'")
        }
        return .value(placeholder, skipped: skipped)
    }
}
