/// Why a measurement has no result.
package struct MeasuringError: Error, CustomStringConvertible {
    /// One line for people.
    package let description: String

    /// Says why.
    package init(_ description: String) { self.description = description }
}
