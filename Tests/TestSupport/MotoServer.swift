import Downloader
import Foundation

/// moto's S3, one process for all tests, a bucket for each.
public enum MotoServer {
    private static let modules = PackageRoot.path + "/.build/object-stores"
    /// Whether `make object-stores` runs the tests: they are no part of `make test`, which needs no Python package.
    public static let isEnabled = ProcessInfo.processInfo.environment["LARDER_TEST_OBJECT_STORES"] == "1"

    private static let process = Result {
        try RunningCommand(
            "/usr/bin/python3", [PackageRoot.path + "/Tests/ObjectStoreTests/Servers/moto_server.py"],
            environment: [
                "PYTHONPATH": modules, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
                "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
            ], limit: .seconds(3600))
    }

    /// The port of its server on loopback, which is started for the first call.
    public static func port() async throws -> Int {
        let process = try process.get()
        @Sendable func read() -> Int? {
            Int(String(decoding: process.outputSoFar, as: UTF8.self).split(separator: "\n").first ?? "")
        }
        guard await process.reaches({ _ in read() != nil }), let port = read() else {
            throw StartFailure(text: String(decoding: process.errorsSoFar, as: UTF8.self))
        }
        return port
    }

    /// Sends a request that is not signed, which moto accepts, and returns the response's body.
    @discardableResult
    public static func call(_ method: String, _ path: String, _ body: String? = nil) async throws -> String {
        try await call(method, path, bytes: body.map { Array($0.utf8) })
    }

    /// The same with a body of any bytes.
    ///
    /// - Parameter metadata: of the object that is stored; none by default.
    @discardableResult
    public static func call(
        _ method: String, _ path: String, bytes: [UInt8]?, metadata: [String: String] = [:]
    ) async throws -> String {
        let port = try await port()
        let addresses = [CIDR("127.0.0.0/8")].compactMap { $0 }
        let policy = AddressPolicy(allowedAddresses: addresses, allowedPorts: [UInt16(port)])
        // A busy machine takes its time to respond.
        var limits = FetchLimits()
        (limits.idle, limits.connect, limits.total) = (.seconds(240), .seconds(240), .seconds(240))
        var request = FetchRequest("http://127.0.0.1:\(port)/\(path)")
        request.method = method
        // libcurl's own type is a form's: moto reads a form's fields and stores no bytes.
        request.headers =
            [HeaderField("Content-Type", "application/octet-stream")]
            + metadata.map { HeaderField("x-amz-meta-" + $0.key, $0.value) }
        request.body = bytes ?? (method == "GET" ? nil : [])
        let answer = try MemoryFile(name: "answer")
        let response = try await ImageDownloader(FetchConfiguration(policy: policy, limits: limits)).call(
            request, into: answer.descriptor)
        return String(decoding: answer.prefix(response.bytes), as: UTF8.self)
    }

    struct StartFailure: Error, CustomStringConvertible {
        let text: String
        var description: String { "moto did not start; run scripts/object-stores. \(text)" }
    }
}
