/// What is done with robots directives (`X-Robots-Tag`) and `robots.txt`; by default directives are recorded.
public struct RobotsSettings: Sendable, Equatable {
    /// Whether images that they forbid are refused as `LarderErrorDomain 104`, `false`.
    public var refuses = false
    /// Whether `robots.txt` is read before each request, `false`.
    public var readsFile = false

    /// Creates settings with the defaults.
    public init() {}
}
