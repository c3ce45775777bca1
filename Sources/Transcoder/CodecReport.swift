package import ImageModel

/// Results of the codec tests that a child ran on this machine.
package struct CodecReport: Sendable, Hashable, Codable {
    /// libvips' version, `8.14.1`.
    package let libvips: String
    /// Accepted formats that can be read.
    package let readable: [ImageFormat]
    /// Formats that could be read if they were accepted.
    package let optional: [ImageFormat]
    /// Formats that this machine can write.
    package let writable: [ImageFormat]
    /// Formats that a variant can name but this machine cannot write.
    package var missingEncoders: [ImageFormat] { ImageFormat.outputs.filter { !writable.contains($0) } }
    /// Whether outputs are free of metadata, by format name.
    package let strips: [String: Bool]
    /// Whether truncated files are refused, by format name.
    package let refusesTruncated: [String: Bool]
    /// The kernel's restrictions of a child.
    package var sandboxLevel = SandboxLevel.limitsOnly
    /// A child's restrictions by name, true if violating one was denied: `no network`, `no files`, `no programs`, `no
    /// processes`, `memory limit`.
    package var sandbox: [String: Bool] = [:]

    package init(
        libvips: String, readable: [ImageFormat], optional: [ImageFormat], writable: [ImageFormat],
        strips: [String: Bool], refusesTruncated: [String: Bool]
    ) {
        (self.libvips, self.readable, self.optional, self.writable) = (libvips, readable, optional, writable)
        (self.strips, self.refusesTruncated) = (strips, refusesTruncated)
    }
}
