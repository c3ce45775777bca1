internal import Downloader
internal import ImageModel
internal import JobQueue

/// Origins as the queue's database names them, and what is said of them there.
extension Origin {
    /// `https://example.com:443`: the port always there.
    var queueName: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(scheme)://\(name):\(port)"
    }

    /// Reads a name of the database's; nil for what is no origin here.
    init?(queueName: String) {
        guard let url = try? SourceURL(queueName) else { return nil }
        self = url.origin
    }
}

extension SharedOrigin {
    /// Reads a row; nil for an origin that cannot be one here.
    init?(_ row: HeldOrigin) {
        guard let origin = Origin(queueName: row.origin) else { return nil }
        let reason: Reason
        switch row.reason {
        case .retryAfter, .operator:
            reason = .held
        case .breaker:
            reason = .breaker(failedProbes: row.failedProbes, OriginFailure(row.failure, row.httpStatus))
        }
        self.init(origin: origin, reason: reason, remaining: row.remaining)
    }
}

extension OriginFailure {
    fileprivate init(_ failure: FailureReason?, _ status: Int?) {
        let code = FetchError.Code.allCases.first {
            let error = FetchError($0, "")
            return error.domain == failure?.domain && error.domainCode == failure?.code
        }
        self.init(code: code ?? .cannotConnect, httpStatus: status)
    }

    /// The failure as the database keeps it.
    fileprivate var reason: FailureReason {
        let error = FetchError(code, "")
        return FailureReason(domain: error.domain, code: error.domainCode, message: "")
    }
}

extension OriginLimiter {
    /// What changed, as the database is told it.
    func reports(_ changes: [Origin: [OriginChange]]) -> [OriginReport] {
        changes.flatMap { origin, changes in
            changes.map { change in
                switch change {
                case .held(let length):
                    return OriginReport(origin: origin.queueName, .held(length))
                case .opened(let length, let failed, let failure):
                    return OriginReport(
                        origin: origin.queueName,
                        .opened(
                            length, failedProbes: failed, givesUp: failed >= settings.probes, failure.reason,
                            httpStatus: failure.httpStatus))
                case .closed:
                    return OriginReport(origin: origin.queueName, .closed)
                }
            }
        }
    }
}
