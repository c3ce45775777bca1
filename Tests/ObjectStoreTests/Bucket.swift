import Concurrency
import DiskCache
import Downloader
import Foundation
import ObjectStore
import TestSupport
import Testing

/// A bucket of the server, and clients and stores of it.
struct Bucket: Sendable {
    let name = "test-" + UUID().uuidString.lowercased()
    let endpoint: String
    let directory: TemporaryDirectory
    static let key = AccessKey(id: "x", secret: "x")

    init(creating: Bool = true) async throws {
        endpoint = "http://127.0.0.1:\(try await MotoServer.port())"
        directory = try TemporaryDirectory()
        if creating { try await MotoServer.call("PUT", name) }
    }

    /// One fault for each of the next requests; nil for none.
    func inject(_ faults: String?...) async throws {
        let json = try JSONEncoder().encode(faults)
        try await MotoServer.call("POST", "larder/faults/\(name)", String(decoding: json, as: UTF8.self))
    }

    /// `METHOD path?query` of each request.
    func requests() async throws -> [String] {
        try await MotoServer.call("GET", "larder/requests/\(name)").split(separator: "\n").map(String.init)
    }

    func client(
        _ prefix: String = "images", _ change: (inout ObjectClient.Configuration) -> Void = { _ in }
    ) throws -> ObjectClient {
        var configuration = ObjectClient.Configuration()
        configuration.retries.first = .milliseconds(1)
        // A busy machine takes its time to respond.
        configuration.idle = .seconds(240)
        change(&configuration)
        return ObjectClient(
            try BucketAddress("s3://\(name)/\(prefix)", endpoint: endpoint),
            credentials: CredentialCache(.fixed(Self.key)), configuration: configuration)
    }

    func store(
        local: String = "local", _ options: S3Store.Options = S3Store.Options(),
        _ change: (inout ObjectClient.Configuration) -> Void = { _ in }
    ) throws -> S3Store {
        S3Store(
            try client("images", change),
            local: try DirectoryStore(opening: directory.path + "/" + local, durability: .none), options: options)
    }

    /// A file with these bytes.
    func file(_ bytes: [UInt8]) throws -> TemporaryFile {
        let file = try TemporaryFile(in: directory.path)
        try file.write(bytes)
        return file
    }
}

/// Runs `body`, which blocks, on a thread of its own within the same task, so that its expectations are this test's.
func blocking<Value: Sendable>(_ body: @Sendable () throws -> Value) async throws -> Value {
    let pool = ThreadPool(name: "test", threads: 1)
    return try await withTaskExecutorPreference(pool) { try await perform(body) }
}

@concurrent
private func perform<Value: Sendable>(_ body: @Sendable () throws -> Value) async throws -> Value { try body() }
