private import CLinux
private import Glibc
internal import ImageModel
internal import Transcoder

/// The child's end of the socket.
struct ChildSocket: ~Copyable {
    let descriptor: Int32
    private let room = MessageRoom()

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The next message and its descriptors, which the caller closes; nil after the pool closed its end, or if a
    /// message cannot be received.
    func receive() -> (message: [UInt8], descriptors: [Int32])? {
        var descriptors = [Int32](repeating: -1, count: Pipeline.variantLimit + 1 + Pipeline.watermarkLimit)
        var count = Int32(descriptors.count)
        let length = larder_receive_descriptors(
            descriptor, room.bytes.baseAddress, room.bytes.count, &descriptors, &count)
        guard length > 0 else { return nil }
        return (Array(room.bytes.prefix(length)), Array(descriptors.prefix(Int(count))))
    }

    /// Sends a message; false after the pool closed its end.
    func send(_ message: [UInt8]) -> Bool {
        message.withUnsafeBytes { larder_send_descriptors(descriptor, $0.baseAddress, $0.count, nil, 0) }
            == message.count
    }

    /// Uses `write`: a coder program's filter denies `sendmsg`.
    func write(_ message: [UInt8]) -> Bool { Glibc.write(descriptor, message, message.count) == message.count }
}

extension ChildSocket: PoolEnd {
    func reserve(_ bytes: Int, for request: ChildRequest) throws(TranscodeError) {
        try tell(.wantsMemory(bytes), of: request)
        guard let (grant, _) = receive(), try ChildGrant(message: grant).number == request.number else {
            throw TranscodeError(.cancelled, "the pool has ended")
        }
    }

    func tell(_ content: ChildMessage.Content, of request: ChildRequest) throws(TranscodeError) {
        guard send(try ChildMessage(number: request.number, content: content).message()) else {
            throw TranscodeError(.cancelled, "the pool has ended")
        }
    }
}
