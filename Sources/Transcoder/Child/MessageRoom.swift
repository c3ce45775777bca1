/// Memory for one message of the longest length, for all that are received on a socket.
struct MessageRoom: ~Copyable {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ChildRequest.maxLength, alignment: 16)

    deinit { bytes.deallocate() }
}
