import FoundationEssentials
import ImageModel

/// The JSON object that a producer gave with a URL, as a field of an output.
struct ProducerMeta: Encodable {
    private let value: JSONValue

    /// Nil without one.
    init?(_ text: String?) {
        guard let text, let value = try? JSONValue.parse(Array(text.utf8)) else { return nil }
        self.value = value
    }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}
