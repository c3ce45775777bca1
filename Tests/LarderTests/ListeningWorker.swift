import Foundation
import TestSupport
import Testing

/// Pages of a worker that was started with `--listen 127.0.0.1:0`.
enum ListeningWorker {
    struct Page {
        let status: Int
        let text: String

        /// The value of a sample, by its name and labels as they are written.
        func value(_ sample: String) -> Double? {
            text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }
                .flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
        }
    }

    static func get(_ port: UInt16, _ path: String, _ options: [String] = []) async throws -> Page {
        let outcome = try await RunningCommand(
            "/usr/bin/curl",
            ["-s", "-w", "%{http_code}", "--max-time", "20"] + options + ["http://127.0.0.1:\(port)\(path)"],
            environment: [:]
        ).outcome()
        return Page(status: Int(outcome.text.suffix(3)) ?? 0, text: String(outcome.text.dropLast(3)))
    }

    /// The port that a worker has reported.
    static func port(of worker: RunningCommand) async throws -> UInt16 {
        @Sendable func port() -> UInt16? {
            String(decoding: worker.errorsSoFar, as: UTF8.self).firstMatch(of: /listening on port (\d+)/)
                .flatMap { UInt16($0.1) }
        }
        #expect(await worker.reaches { _ in port() != nil })
        return try #require(port())
    }
}

/// `scripts/collector`, which checks bodies and pages with the packages of OpenTelemetry and Prometheus.
enum PythonCollector {
    static var isInstalled: Bool {
        FileManager.default.fileExists(atPath: PackageRoot.path + "/.build/collector/complete")
    }

    /// Expects that the input is accepted.
    static func check(_ arguments: [String], _ input: [UInt8]) async throws {
        let outcome = try await RunningCommand(
            "/usr/bin/env", ["python3", PackageRoot.path + "/scripts/collector"] + arguments,
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""], input: input
        ).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
    }
}
