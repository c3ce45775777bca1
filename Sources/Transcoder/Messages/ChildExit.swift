/// Exit codes of a child.
package enum ChildExit {
    /// The pool closed the socket.
    package static let done: Int32 = 0
    /// The sandbox could not be set up, or a message could not be read.
    package static let unfit: Int32 = 69
    /// An allocation failed in a library that cannot report it.
    package static let memory: Int32 = 70
    /// The pool ended while the child had an image.
    package static let orphaned: Int32 = 71
    /// The pool speaks another version of the messages.
    package static let otherVersion: Int32 = 72
}
