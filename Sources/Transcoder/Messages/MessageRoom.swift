/// Memory for one message of the maximum length, reused for all messages of a socket.
package struct MessageRoom: ~Copyable {
    package let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ChildRequest.maxLength, alignment: 16)

    package init() {}

    deinit { bytes.deallocate() }
}
