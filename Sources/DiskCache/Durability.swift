/// What of a published file survives a power failure. A crash of the process alone never harms one, with any of these.
public enum Durability: String, Sendable, CaseIterable {
    /// Nothing is waited for: after a power failure a file published shortly before may be missing, empty or cut short.
    /// For caches that are thrown away with the machine, and for benchmarks.
    case none
    /// The bytes are on the disk before the file gets its name (`fdatasync`): after a power failure it is whole or missing,
    /// and missing only costs another download. The default.
    case data
    /// Name and attributes are on the disk too when `publish` returns (`fsync` of file and directory).
    case full
}
