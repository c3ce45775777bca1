/// Which committed files survive a power failure. A process crash never damages one.
public enum Durability: String, Sendable, CaseIterable {
    /// No sync: a recently committed file may be missing, empty or truncated.
    case none
    /// Syncs the bytes before the rename (`fdatasync`): the file is complete or missing. The default.
    case data
    /// Syncs file and directory before `commit` returns (`fsync`): the file is there.
    case full
}
