import Foundation
import TestSupport
import Testing

/// An error in JSON output.
struct FailureLine: Decodable, Equatable {
    let domain: String
    let code: Int
    let message: String

    /// `LarderErrorDomain 1`.
    var kind: String { "\(domain) \(code)" }
}

/// The last line of a command with `--json` that failed.
struct ErrorLine: Decodable {
    let error: FailureLine
}

/// The line of a job of `run --json` and `report --files --json`.
struct JobLine: Decodable {
    /// The fields that `report --files` adds.
    private static let added: Set = ["format", "absolutePath"]

    struct Original: Decodable {
        let key: String
        let path: String
        let format: String?
        let absolutePath: String?
    }

    struct Variant: Decodable {
        let name: String
        let key: String
        let path: String?
        let error: FailureLine?
        let format: String?
        let absolutePath: String?
    }

    let url: String
    let outcome: String
    let original: Original?
    let variants: [Variant]
    let error: FailureLine?

    /// Throws when a field is missing or unknown.
    init(_ line: String) throws {
        self = try JSONDecoder().decode(JobLine.self, from: Data(line.utf8))
        let object = try fields(line)
        try #require(Set(object.keys) == ["url", "outcome", "original", "variants", "error"], "\(line)")
        if let original = object["original"] as? [String: Any] {
            try #require(Set(original.keys).subtracting(Self.added) == ["key", "path"], "\(line)")
        }
        for case let variant as [String: Any] in object["variants"] as? [Any] ?? [] {
            try #require(Set(variant.keys).subtracting(Self.added) == ["name", "key", "path", "error"], "\(line)")
        }
        for case let error as [String: Any] in [object["error"]] {
            try #require(Set(error.keys) == ["domain", "code", "message"], "\(line)")
        }
    }
}

/// The report of a batch.
struct ReportLine: Decodable {
    struct Failure: Decodable {
        let url: String
        let domain: String
        let code: Int
        let message: String
        let attempts: Int

        var kind: String { "\(domain) \(code)" }
    }

    let batch: String
    let total: Int
    let finished: Int
    let skipped: Int
    let succeeded: Int
    let failed: Int
    let cancelled: Int
    let downloads: Int
    let variants: Int
    let bytesIn: Int
    let bytesOut: Int
    let failures: [Failure]

    init(_ line: String) throws { self = try JSONDecoder().decode(ReportLine.self, from: Data(line.utf8)) }
}

/// The output of `run --json`: a line per job, and the report.
struct RunLines {
    let jobs: [JobLine]
    let report: ReportLine

    /// Throws for any other output.
    init(_ outcome: CommandOutcome) throws {
        try #require(!outcome.ranOutOfTime)
        try #require(outcome.output.last == UInt8(ascii: "\n"), "\(outcome.text)\(outcome.errorText)")
        let lines = outcome.lines
        jobs = try lines.dropLast().map(JobLine.init)
        report = try ReportLine(try #require(lines.last))
    }

    /// The only line of a URL.
    func job(_ url: String) throws -> JobLine {
        let found = jobs.filter { $0.url.utf8.elementsEqual(url.utf8) }
        try #require(found.count == 1, "\(found.count) lines for \(url)")
        return found[0]
    }

    /// The only failure of a URL in the report.
    func failure(_ url: String) throws -> ReportLine.Failure {
        let found = report.failures.filter { $0.url.utf8.elementsEqual(url.utf8) }
        try #require(found.count == 1, "\(found.count) failures of \(url)")
        return found[0]
    }
}

/// The fields of a line, which is one JSON object.
func fields(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
}

extension CommandOutcome {
    /// The error in the last line of standard output.
    var error: FailureLine {
        get throws {
            let line = try #require(lines.last, "no output; \(errorText)")
            return try JSONDecoder().decode(ErrorLine.self, from: Data(line.utf8)).error
        }
    }
}

/// Variants for tests.
enum Variants {
    static let small = #"{"name":"small","transform":[{"type":"resize","width":20,"height":10}]}"#
    static let corner =
        #"{"name":"corner","transform":[{"type":"crop","x":0,"y":0,"width":8,"height":8}],"format":"webp","quality":60}"#
    static let thumb = #"{"name":"thumb","thumbnail":{"width":16,"height":16}}"#
    /// A crop outside of all test images.
    static let outside = #"{"name":"outside","transform":[{"type":"crop","x":9000,"y":9000,"width":5,"height":5}]}"#

    /// The options for all three valid variants.
    static let all = ["--variant", small, "--variant", corner, "--variant", thumb]
}
