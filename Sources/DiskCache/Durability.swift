/// How much of a committed file survives a power failure. A crash of the process never damages one.
public enum Durability: String, Sendable, CaseIterable {
    /// Nothing is synced: a file committed shortly before the failure may be missing, empty or cut short.
    case none
    /// The bytes are synced before the rename (`fdatasync`): the file is whole or missing. The default.
    case data
    /// File and directory are synced before `commit` returns (`fsync`): the file is there.
    case full
}
