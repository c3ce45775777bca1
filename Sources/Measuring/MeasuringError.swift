/// Why a measurement has no result.
package struct MeasuringError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
