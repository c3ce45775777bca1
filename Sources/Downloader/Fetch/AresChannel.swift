internal import CCares

/// The owner of c-ares' questions to name servers. The corresponding C type is `ares_channel`.
///
/// It reads `/etc/resolv.conf`, `/etc/hosts` and the order of both in `/etc/nsswitch.conf`, as the system does; other
/// sources of names that the system may have are not asked.
struct AresChannel: ~Copyable {
    private final class Question {
        let done: (LookupCache.Answer) -> Void
        init(_ done: @escaping (LookupCache.Answer) -> Void) { self.done = done }
    }

    private let pointer: OpaquePointer

    /// Nil only when memory is short. A server has 1 s to answer, then 2 s.
    init?() {
        guard let pointer = larder_ares_new(1000, 2) else { return nil }
        self.pointer = pointer
    }

    deinit { larder_ares_free(pointer) }

    /// Asks for a name's addresses; `done` is called once, here, in `wait` or when the channel goes.
    func ask(_ host: String, _ done: @escaping (LookupCache.Answer) -> Void) {
        larder_ares_ask(
            pointer, host,
            { context, outcome, bytes, count in
                guard let context else { return }
                let question = Unmanaged<Question>.fromOpaque(context).takeRetainedValue()
                question.done(AresChannel.answer(Int(outcome), bytes, Int(count)))
            }, Unmanaged.passRetained(Question(done)).toOpaque())
    }

    /// Sleeps until the bell rings or something is due, and does that.
    func wait(bell: Int32) { larder_ares_wait(pointer, bell, -1) }

    private static func answer(_ outcome: Int, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> LookupCache.Answer {
        guard outcome == LARDER_ARES_FOUND, let bytes else {
            return .failure(outcome == LARDER_ARES_TIMED_OUT ? .timedOut : .notFound)
        }
        var found: [IPAddress] = []
        for number in 0..<count {
            let entry = UnsafeBufferPointer(start: bytes + 17 * number, count: 17)
            let isV4 = entry[0] == 4
            let bits = entry.dropFirst().prefix(isV4 ? 4 : 16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
            let address = isV4 ? IPAddress(v4: UInt32(truncatingIfNeeded: bits)) : IPAddress(v6: bits)
            if !found.contains(address) { found.append(address) }
        }
        return .success(found)
    }
}
