internal import Downloader
internal import ImageModel
internal import JobQueue

/// Converts origins to and from database rows.
extension Origin {
    /// `https://example.com:443`, always with the port.
    var queueName: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(scheme)://\(name):\(port)"
    }

    /// Nil if this program cannot request the origin.
    init?(queueName: String) {
        guard let url = try? SourceURL(queueName) else { return nil }
        self = url.origin
    }
}

extension OriginChange {
    init(_ row: HeldOrigin) {
        switch row.reason {
        case .retryAfter, .operator:
            self = .held(for: row.remaining)
        case .breaker:
            self = .opened(for: row.remaining, OriginFailure(row.failure, row.httpStatus))
        }
    }

    func report(of origin: Origin) -> OriginReport {
        switch self {
        case .held(let length): OriginReport(origin: origin.queueName, .held(length))
        case .opened(let length, let failure):
            OriginReport(
                origin: origin.queueName,
                .opened(length, FailureReason(failure.code.failureCode, ""), httpStatus: failure.httpStatus))
        case .closed: OriginReport(origin: origin.queueName, .closed)
        }
    }
}

extension OriginFailure {
    fileprivate init(_ failure: FailureReason?, _ status: Int?) {
        let code = FetchError.Code.allCases.first { $0.failureCode == failure?.failureCode }
        self.init(code: code ?? .cannotConnect, httpStatus: status)
    }
}
