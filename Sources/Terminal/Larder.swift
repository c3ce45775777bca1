/// The program as a whole.
package enum Larder {
    /// The version of the program, of the form `1.2.3`.
    package static let version = "0.1.0"
}
