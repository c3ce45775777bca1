import ImageModel
import Transcoder

/// Reads variants and pipelines as people give them; what is wrong is told with where they gave it.
enum VariantJSON {
    /// The variants of `--variant` values.
    ///
    /// - Throws: wrong usage with the JSON path within the value, and which value it is where there are several.
    static func variants(_ texts: [String]) throws(CommandError) -> [Variant] {
        var variants: [Variant] = []
        for (index, text) in texts.enumerated() {
            let place = texts.count > 1 ? "--variant number \(index + 1)" : "--variant"
            variants.append(try variant(text, from: place))
        }
        return variants
    }

    /// One variant; `place` names where it was given.
    static func variant(_ text: String, from place: String) throws(CommandError) -> Variant {
        try checking(place, text.utf8) { () throws(VariantError) in try Variant(json: text.utf8) }
    }

    /// Runs `body`, whose errors then begin with `place`; with `text`, what is no JSON at all is told by line and column.
    ///
    /// - Throws: wrong usage, code 4.
    static func checking<Value>(
        _ place: String, _ text: some Sequence<UInt8> = EmptyCollection(), _ body: () throws(VariantError) -> Value
    ) throws(CommandError) -> Value {
        do {
            return try body()
        } catch {
            let text = Array(text)
            let at = text.isEmpty || error.path != "$" ? nil : JSONFault.place(in: text)
            throw .larder(4, "\(place): \(error)" + (at.map { ", see \($0)" } ?? ""), exit: .wrongUsage)
        }
    }
}
