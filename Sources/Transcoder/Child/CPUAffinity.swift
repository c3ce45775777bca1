private import CLinux

/// A bound on codecs that start threads of their own: x265 and aom do, and libvips 8.14.1 cannot tell them how many.
enum CPUAffinity {
    /// Runs `body` with this thread, and all it starts, on one processor; elsewhere nothing changes.
    static func run<Failure: Error>(_ body: () throws(Failure) -> EncodedPicture) throws(Failure) -> EncodedPicture {
        var before = larder_processors()
        let isPinned = larder_pin_processor(&before) == 0
        defer { if isPinned { larder_unpin_processor(&before) } }
        return try body()
    }
}
