private import CPostgres
import Glibc
internal import ImageModel

/// The result of one statement; owns the `PGresult`.
struct Rows: ~Copyable {
    private let result: OpaquePointer

    init(owning result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var count: Int { Int(PQntuples(result)) }

    var columnCount: Int { Int(PQnfields(result)) }

    var isError: Bool { PQresultStatus(result) == PGRES_FATAL_ERROR }

    /// The error; nil if the statement succeeded.
    var error: QueueError? {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return nil
        default:
            let state = larder_postgres_sqlstate(result).map { String(cString: $0) }
            let message =
                larder_postgres_primary_message(result).map { String(cString: $0) }
                ?? String(cString: PQresultErrorMessage(result))
            guard let state else { return QueueError(.connectionLost, message.firstLine) }
            return QueueError(SQLState(state).code, message.firstLine, sqlState: state)
        }
    }

    func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) != 0 }

    /// Nil for NULL.
    func text(_ row: Int, _ column: Int) -> String? {
        guard !isNull(row, column), let value = PQgetvalue(result, Int32(row), Int32(column)) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, Int32(row), Int32(column))))
        return String(decoding: bytes, as: UTF8.self)
    }

    func integer(_ row: Int, _ column: Int) -> Int64? {
        guard !isNull(row, column), let value = PQgetvalue(result, Int32(row), Int32(column)) else { return nil }
        return strtoll(value, nil, 10)
    }

    func number(_ row: Int, _ column: Int) -> Double? {
        text(row, column).flatMap(Double.init)
    }

    func flag(_ row: Int, _ column: Int) -> Bool? {
        guard !isNull(row, column), let value = PQgetvalue(result, Int32(row), Int32(column)) else { return nil }
        return value.pointee == 0x74  // "t"
    }
}

extension String {
    /// The text before the first newline. libpq's messages end with one and may continue.
    var firstLine: String { String(prefix { $0 != "\n" }) }
}

extension Rows {
    /// The error in three columns: domain, code, message; nil if there is none.
    func failure(_ row: Int, domainAt column: Int) -> FailureReason? {
        guard let domain = text(row, column) else { return nil }
        return FailureReason(
            domain: domain, code: Int(integer(row, column + 1) ?? 0), message: text(row, column + 2) ?? "")
    }
}
