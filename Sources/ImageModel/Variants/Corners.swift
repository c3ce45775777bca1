/// The corners to round. The bits are UIKit's.
public struct Corners: OptionSet, Sendable, Hashable {
    /// The bits as written in a key.
    public let rawValue: UInt64

    /// Creates a set of corners from UIKit's bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The corner at the origin.
    public static let topLeft = Corners(rawValue: 1)
    /// The corner at the end of the first row.
    public static let topRight = Corners(rawValue: 2)
    /// The corner at the start of the last row.
    public static let bottomLeft = Corners(rawValue: 4)
    /// The corner at the end of the last row.
    public static let bottomRight = Corners(rawValue: 8)
    /// Every corner; draws as the four together do, but its key is another.
    public static let all = Corners(rawValue: .max)

    static let names: [(name: String, corner: Corners)] = [
        ("topLeft", .topLeft), ("topRight", .topRight), ("bottomLeft", .bottomLeft), ("bottomRight", .bottomRight),
    ]
}
