/// Why a variant or a pipeline is refused: a place in its JSON and a message.
public struct VariantError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The JSON path, `$.variants[1].transform[0].width`.
    public let path: String
    /// `must be greater than 0`.
    public let message: String

    package init(path: String, message: String) {
        self.path = path
        self.message = message
    }

    /// `$.variants[1].name: must not be empty`.
    public var description: String { "\(path): \(message)" }
}
