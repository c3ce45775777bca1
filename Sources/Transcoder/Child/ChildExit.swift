/// The exit codes of a child.
enum ChildExit {
    /// The pool closed the socket.
    static let done: Int32 = 0
    /// The sandbox could not be set up, or a message could not be read.
    static let unfit: Int32 = 69
    /// An allocation failed in a library that cannot report it.
    static let memory: Int32 = 70
    /// The pool ended while the child held an image.
    static let orphaned: Int32 = 71
}
