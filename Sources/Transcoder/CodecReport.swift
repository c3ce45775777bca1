public import ImageModel

/// What a child found out about the codecs of this machine.
public struct CodecReport: Sendable, Hashable, Codable {
    /// libvips' version, `8.14.1`.
    public let libvips: String
    /// The formats that can be read, of those that are accepted.
    public let readable: [ImageFormat]
    /// The formats that could be read if they were accepted.
    public let optional: [ImageFormat]
    /// The formats that can be written.
    public let writable: [ImageFormat]
    /// Whether no metadata is left in an output, by format name; WebP needs Larder's own removal on this libvips.
    public let strips: [String: Bool]
    /// Whether a cut-short file is refused, by format name.
    public let refusesTruncated: [String: Bool]
    /// What the kernel keeps from a child, by name: `no network`, `no files`, `no programs`, `no processes`,
    /// `memory limit`; false where this kernel, or this container, does not.
    public var walls: [String: Bool] = [:]
}
