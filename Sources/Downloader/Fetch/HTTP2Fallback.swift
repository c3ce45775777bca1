/// The origins that are asked over HTTP/1.1 although they may offer HTTP/2: where that broke twice in a row. A pure value.
///
/// libcurl 7.88.1 has faults of its own there (a PING that ends an idle connection, streams refused over and over), and so
/// have servers; the older version then gets what the newer one does not.
struct HTTP2Fallback {
    typealias Instant = ContinuousClock.Instant

    /// Failures in a row.
    static let failures = 2
    /// How long HTTP/2 is not tried again.
    static let length = Duration.seconds(3600)
    /// Origins remembered at most; when there are as many, all are forgotten.
    static let most = 1024

    private struct Record {
        var failures = 0
        var brokeAt: Instant
    }

    private var records: [Origin: Record] = [:]

    /// How many origins are remembered.
    var count: Int { records.count }

    /// Whether HTTP/2 is not to be tried with this origin.
    func avoids(_ origin: Origin, at now: Instant) -> Bool {
        guard let record = records[origin] else { return false }
        return record.failures >= Self.failures && now - record.brokeAt < Self.length
    }

    /// A transfer over HTTP/2 failed by the protocol. Those that ran together, over one connection perhaps, count once.
    mutating func broke(_ origin: Origin, began: Instant, at now: Instant) {
        if records[origin] == nil && records.count >= Self.most { records = [:] }
        var record = records[origin] ?? Record(brokeAt: began)
        if now - record.brokeAt >= Self.length { record = Record(brokeAt: began) }
        guard began >= record.brokeAt else { return }
        record.failures += 1
        record.brokeAt = now
        records[origin] = record
    }

    /// A transfer over HTTP/2 went well: one that began after the last failure makes good for it.
    mutating func worked(_ origin: Origin, began: Instant) {
        guard let record = records[origin], record.failures < Self.failures, began >= record.brokeAt else { return }
        records[origin] = nil
    }
}
