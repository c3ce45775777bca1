package enum Larder {
    /// The program's version, such as `1.2.3`.
    package static let version = "0.1.0"
}
