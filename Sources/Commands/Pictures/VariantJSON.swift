import CommandLine
import ImageModel
import Terminal

/// Parses the JSON of options; errors name the option or file and the position in it.
enum VariantJSON {
    private static let example = #"{"name":"card","thumbnail":{"width":800,"height":800},"format":"webp"}"#

    /// `--variant`.
    ///
    /// - Parameter use: the variant's purpose in the command.
    static func option(_ use: String) -> Option {
        Option(
            "variant", .texts("VARIANT"),
            "\(use): \(VariantShorthand.grammar), such as \(VariantShorthand.example), or JSON; docs/images.md")
    }

    /// The variants of `--variant` options: JSON if a text begins with a brace or bracket, else the short form.
    ///
    /// - Throws: wrong usage with the number of the `--variant`, if there are several, and the part or JSON path in it.
    static func variants(_ texts: [String]) throws(CommandError) -> [Variant] {
        var variants: [Variant] = []
        for (index, text) in texts.enumerated() {
            let place = texts.count > 1 ? "--variant number \(index + 1)" : "--variant"
            variants.append(try variant(text, from: place))
        }
        return variants
    }

    private static func variant(_ text: String, from place: String) throws(CommandError) -> Variant {
        guard let first = text.first(where: { !$0.isWhitespace }), "{[".contains(first) else {
            do throws(VariantError) { return try VariantShorthand.variant(text) } catch {
                throw .larder(
                    .invalidJSON,
                    "\(place): '\(PrintableText.text(text))': \(error.message); an example is \(VariantShorthand.example)",
                    exit: .wrongUsage)
            }
        }
        do throws(CommandError) {
            return try checking(place, text.utf8) { () throws(VariantError) in try Variant(json: text.utf8) }
        } catch {
            throw error.adding("examples are '\(example)' and \(VariantShorthand.example)")
        }
    }

    static let cacheKeyOption = Option(
        "cache-key", .value("JSON"),
        "make cache keys without query parameters or of other hosts, such as "
            + "'{\"dropQuery\":[\"X-Amz-*\"],\"mapHosts\":{\"cdn1.example.com\":\"cdn.example.com\"}}'")

    /// The rule in `--cache-key`.
    static func cacheKeyRule(_ arguments: Arguments) throws(CommandError) -> CacheKeyRule? {
        guard let text = try arguments.value(cacheKeyOption.name) else { return nil }
        return try checking("--cache-key", text.utf8) { () throws(VariantError) in
            try CacheKeyRule(json: text.utf8)
        }
    }

    /// Runs `body` and prefixes its errors with `place`. If `text` is not JSON, the error also has line and column.
    ///
    /// - Throws: wrong usage, code 4.
    static func checking<Value>(
        _ place: String, _ text: some Sequence<UInt8> = EmptyCollection(), _ body: () throws(VariantError) -> Value
    ) throws(CommandError) -> Value {
        do {
            return try body()
        } catch {
            let text = Array(text)
            let at = text.isEmpty || error.path != "$" ? nil : JSONErrorPosition.text(in: text)
            throw .larder(.invalidJSON, "\(place): \(error)" + (at.map { ", see \($0)" } ?? ""), exit: .wrongUsage)
        }
    }
}
