/// How a child ends itself.
enum ChildExit {
    /// The socket was closed: nobody wants anything more.
    static let done: Int32 = 0
    /// The walls could not be put up, or the socket is no socket.
    static let unfit: Int32 = 69
    /// An allocation failed where the library cannot go on.
    static let memory: Int32 = 70
    /// The pool went away in mid picture.
    static let orphaned: Int32 = 71
}
