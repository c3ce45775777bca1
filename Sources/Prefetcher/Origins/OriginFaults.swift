internal import JobQueue

/// Which failures count against an origin, and in the end open its breaker.
///
/// What a row of the queue's `retry_rule` says of exactly that error holds. Without one, connections that cannot be made,
/// timeouts and statuses 500…599 count; other errors as the row for the rest of their code or domain says.
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
    init(_ rules: [OriginFaultRule]) {
        for rule in rules { rows[Fault(domain: rule.domain, code: rule.code, status: rule.httpStatus)] = rule.counts }
    }

    /// Whether a request that went so counts. An answer that is no error never does.
    func counts(_ result: HopResult) -> Bool {
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
        var fault = Fault(domain: error.domain, code: error.domainCode, status: status)
        if let own = rows[fault] { return own }
        if standard { return true }
        fault.status = nil
        return rows[fault] ?? rows[Fault(domain: error.domain)] ?? false
    }
}
