/// The corners to round. The bits are UIKit's.
package struct Corners: OptionSet, Sendable, Hashable {
    /// The bits as written in a key.
    package let rawValue: UInt64

    /// Creates a set of corners from UIKit's bits.
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The corner at the origin.
    package static let topLeft = Corners(rawValue: 1)
    /// The corner at the end of the first row.
    package static let topRight = Corners(rawValue: 2)
    /// The corner at the start of the last row.
    package static let bottomLeft = Corners(rawValue: 4)
    /// The corner at the end of the last row.
    package static let bottomRight = Corners(rawValue: 8)
    /// Every corner; draws as the four together do, but its key is another.
    package static let all = Corners(rawValue: .max)

    static let names: [(name: String, corner: Corners)] = [
        ("topLeft", .topLeft), ("topRight", .topRight), ("bottomLeft", .bottomLeft), ("bottomRight", .bottomRight),
    ]
}
