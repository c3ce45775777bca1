/// Memory for one message of the longest length, for all that are received on a socket.
package struct MessageRoom: ~Copyable {
    /// As long as the longest message.
    package let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ChildRequest.maxLength, alignment: 16)

    package init() {}

    deinit { bytes.deallocate() }
}
