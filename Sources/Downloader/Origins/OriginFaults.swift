package import ImageModel

/// Which failures count against an origin, and in the end open its breaker.
///
/// The row of the queue's `retry_rule` that says most of the error decides: status, then code. Where none names its status,
/// or its code where it has no status, connections that cannot be made, timeouts and statuses 500…599 count.
///
/// Only what says something about the origin can count: a status from 400 on, or a connection that failed. Names, redirects,
/// and what is wrong with a body are the URL's matter.
package struct OriginFaults: Sendable, Equatable {
    private struct Fault: Hashable {
        let domain: String
        var code: Int?
        var status: Int?
    }

    private var rows: [Fault: Bool] = [:]

    /// The rules of a program without a queue.
    package init() {}

    /// The rules of a queue's rows.
    package init(_ rules: [OriginFaultRule]) {
        for rule in rules { rows[Fault(domain: rule.domain, code: rule.code, status: rule.httpStatus)] = rule.counts }
    }

    /// Whether a request that went so counts. An answer that is no error never does.
    func counts(_ result: RequestOutcome) -> Bool {
        switch result {
        case .answered(let status, _, _):
            guard status >= 400 else { return false }
            return decide(FetchError(.badStatus, ""), status, standard: (500..<600).contains(status))
        case .failed(let code):
            return decide(FetchError(code, ""), nil, standard: code == .cannotConnect || code == .timedOut)
        case .unknown: return false
        }
    }

    private func decide(_ error: FetchError, _ status: Int?, standard: Bool) -> Bool {
        let code = error.domainCode
        if let own = rows[Fault(domain: error.domain, code: code, status: status)] { return own }
        if let status, let own = rows[Fault(domain: error.domain, status: status)] { return own }
        if standard { return true }
        return rows[Fault(domain: error.domain, code: code)] ?? rows[Fault(domain: error.domain)] ?? false
    }
}
