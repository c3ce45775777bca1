internal import Downloader
internal import ImageModel
internal import JobQueue

/// Conversions between origins and the rows of the queue's database.
extension Origin {
    /// `https://example.com:443`, always with the port.
    var queueName: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(scheme)://\(name):\(port)"
    }

    /// Nil when the text is not an origin that this program can request.
    init?(queueName: String) {
        guard let url = try? SourceURL(queueName) else { return nil }
        self = url.origin
    }
}

extension OriginChange {
    /// The change that a row reports.
    init(_ row: HeldOrigin) {
        switch row.reason {
        case .retryAfter, .operator:
            self = .held(for: row.remaining)
        case .breaker:
            let failure = OriginFailure(row.failure, row.httpStatus)
            self = .opened(for: row.remaining, failedProbes: row.failedProbes, failure)
        }
    }
}

extension OriginFailure {
    fileprivate init(_ failure: FailureReason?, _ status: Int?) {
        let code = FetchError.Code.allCases.first { $0.failureCode == failure?.failureCode }
        self.init(code: code ?? .cannotConnect, httpStatus: status)
    }

    /// The failure as stored in the database.
    fileprivate var reason: FailureReason {
        FailureReason(code.failureCode, "")
    }
}

extension OriginLimiter {
    /// The changes as reports for the database.
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
                            length, failedProbes: failed, givesUp: settings.givesUp(after: failed), failure.reason,
                            httpStatus: failure.httpStatus))
                case .closed:
                    return OriginReport(origin: origin.queueName, .closed)
                }
            }
        }
    }
}
