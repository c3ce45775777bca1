internal import CCares

/// c-ares queries. Wraps `ares_channel`.
///
/// Like the system it reads `/etc/resolv.conf`, `/etc/hosts` and their order in `/etc/nsswitch.conf`, but no other
/// source of names.
struct AresChannel: ~Copyable {
    private final class Query {
        let done: (LookupCache.Answer) -> Void
        init(_ done: @escaping (LookupCache.Answer) -> Void) { self.done = done }
    }

    private let pointer: OpaquePointer

    enum Family: Int32 {
        case any = 0
        case v4 = 4
        case v6 = 6
    }

    /// A server has 1 s to respond, then 2 s.
    ///
    /// - Parameter servers: `address:port,…` replacing the servers in `/etc/resolv.conf`; nil by default.
    /// - Returns: nil if out of memory or `servers` is malformed.
    init?(servers: String? = nil) {
        guard let pointer = larder_ares_new(1000, 2, servers) else { return nil }
        self.pointer = pointer
    }

    deinit { larder_ares_free(pointer) }

    /// Queries a name's addresses; `done` is called once, here, in `wait` or in `deinit`.
    func query(_ host: String, _ family: Family, _ done: @escaping (LookupCache.Answer) -> Void) {
        larder_ares_query(
            pointer, host, family.rawValue,
            { context, outcome, bytes, count in
                guard let context else { return }
                let query = Unmanaged<Query>.fromOpaque(context).takeRetainedValue()
                query.done(AresChannel.answer(Int(outcome), bytes, Int(count)))
            }, Unmanaged.passRetained(Query(done)).toOpaque())
    }

    /// Sleeps until `event` is signalled or a query is due, at most `milliseconds` (-1: no limit), and runs due
    /// queries.
    func wait(event: Int32, milliseconds: Int32) { larder_ares_wait(pointer, event, milliseconds) }

    private static func answer(_ outcome: Int, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> LookupCache.Answer {
        guard outcome == LARDER_ARES_FOUND, let bytes else {
            switch outcome {
            case LARDER_ARES_TIMED_OUT: return .failure(.timedOut)
            case LARDER_ARES_UNREACHABLE: return .failure(.unreachable)
            case LARDER_ARES_SERVER_FAILED: return .failure(.serverFailed)
            default: return .failure(.notFound)
            }
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
