private import CLinux

/// Binds codecs that start threads of their own to one processor. x265 and aom start threads, and libvips 8.14.1 has no
/// option to prevent it.
enum CPUAffinity {
    /// Runs `body` with this thread, and all that it starts, on one processor.
    static func onOneProcessor<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        var before = larder_processors()
        let isPinned = larder_pin_processor(&before) == 0
        defer { if isPinned { larder_unpin_processor(&before) } }
        return try body()
    }
}
