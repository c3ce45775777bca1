import Foundation
import TestSupport
import Testing

@testable import Downloader

/// The vectors of SDWebImage 5.21.5's downloader; Tests/SDWebImage.md lists the suite of each.
struct DownloaderVectors: Decodable, Sendable {
    struct Status: Decodable, Sendable, CustomTestStringConvertible {
        let status: Int
        let default_result: String
        var testDescription: String { "\(status)" }
    }

    struct NotModified: Decodable, Sendable, CustomTestStringConvertible {
        /// A code, or a text that ends with one.
        enum Expected: Decodable, Sendable {
            case code(Int)
            case text(String)

            init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                let code = try? value.decode(Int.self)
                self = if let code { .code(code) } else { .text(try value.decode(String.self)) }
            }
        }

        let acceptable: String
        let result: Expected
        var testDescription: String { acceptable }
    }

    struct Progress: Decodable, Sendable, CustomTestStringConvertible {
        enum Calls: Decodable, Sendable {
            case pairs([[Int64]])
            case text(String)

            init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                let pairs = try? value.decode([[Int64]].self)
                self = if let pairs { .pairs(pairs) } else { .text(try value.decode(String.self)) }
            }
        }

        let `case`: String
        let calls: Calls
        var testDescription: String { self.case }
    }

    struct Defaults: Decodable, Sendable {
        let downloadTimeout: Double
        let minimumProgressInterval: Double
        let headers: [String: String]
    }

    struct Asserted: Decodable, Sendable { let test: String }

    let defaults: Defaults
    let asserted: [Asserted]
    let status_code_table_default: [Status]
    let status_304: [NotModified]
    let progress_sequence: [Progress]

    static let shared: DownloaderVectors? = {
        let file = Bundle.module.bundleURL.appending(path: "Vectors/downloader_vectors.json")
        return (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(DownloaderVectors.self, from: $0) }
    }()
}

@Suite(.timeLimit(.minutes(5)))
struct DownloaderVectorTests {
    @Test func `are all read, and the defaults are equal`() throws {
        let vectors = try #require(DownloaderVectors.shared)
        #expect(vectors.asserted.count == 13)
        #expect(vectors.status_code_table_default.count == 8)
        #expect(vectors.status_304.count == 3)
        #expect(vectors.progress_sequence.count == 4)
        #expect(FetchLimits().idle == .seconds(vectors.defaults.downloadTimeout))
        let request = FetchRequest("http://a.example/")
        #expect(request.progressFraction == vectors.defaults.minimumProgressInterval)
        #expect(FetchConfiguration().order == .fifo)
        #expect(ResponseRules().statuses == 200..<300)
        #expect(ResponseRules().mediaTypes == nil)
        #expect(
            try HTTPRequest(request, FetchConfiguration()).sentHeaders["Accept"] == vectors.defaults.headers["Accept"])
    }

    @Test(arguments: DownloaderVectors.shared?.status_code_table_default ?? [])
    func `decide the result of each status`(row: DownloaderVectors.Status) async throws {
        let body: [UInt8] = row.status == 204 || row.status == 304 ? [] : noise(20)
        let server = try OriginServer(["/": .body(body, status: row.status)])
        let error = await ImageDownloader(for: server).failure(server.url("/"))
        switch row.default_result {
        case "ok": #expect(error == nil)
        case "accepted, empty body -> 1001": #expect(error?.domainCode == 1001)
        case "followed; 2001 if not followed":
            #expect(error?.domainCode == 2001)
            server.on("/moved", .redirect(to: "/end", status: row.status))
            server.on("/end", .body(noise(20)))
            #expect(try await ImageDownloader(for: server).fetch(server.url("/moved")).redirects == 1)
        default:
            let code = Int(row.default_result.prefix(4))
            #expect(error?.domain == "SDWebImageErrorDomain", "\(row.default_result)")
            #expect(error?.domainCode == code, "\(row.default_result)")
        }
    }

    @Test(arguments: DownloaderVectors.shared?.status_304 ?? [])
    func `decide the result of 304`(row: DownloaderVectors.NotModified) async throws {
        let server = try OriginServer(["/": .status(304)])
        var request = FetchRequest(server.url("/"))
        if row.acceptable != "default" { request.rules.statuses = 200..<305 }
        switch row.result {
        case .code(let code):
            let error = await #expect(throws: FetchError.self) { try await ImageDownloader(for: server).fetch(request) }
            #expect(error?.domainCode == code)
        case .text:
            // Section 3.11 overrides this row: with a known copy 304 is "not modified" for any accepted statuses.
            request.validators = Validators(etag: "\"known\"")
            #expect(try await ImageDownloader(for: server).fetch(request).isNotModified)
        }
    }

    @Test(arguments: DownloaderVectors.shared?.progress_sequence ?? [])
    func `decide the calls of progress`(row: DownloaderVectors.Progress) throws {
        let isKnown = row.case.hasPrefix("content-length 1000")
        let fraction = row.case.hasSuffix("interval 0.51") ? 0.51 : 0
        let chunks: [Int64] = row.case.contains("300,300,400") ? [300, 300, 400] : [300, 700]
        let expected: Int64? = isKnown ? 1000 : nil
        var throttle = ProgressThrottle(fraction: fraction, interval: .zero)
        let now = ContinuousClock.now
        var reports = [throttle.start, throttle.head(expected: expected, at: now)]
        var received: Int64 = 0
        for chunk in chunks {
            received += chunk
            if let report = throttle.piece(received: received, expected: expected, at: now) { reports.append(report) }
        }
        if let report = throttle.end(received: received, expected: expected) { reports.append(report) }
        switch row.calls {
        case .pairs(let pairs): #expect(reports.map { [$0.received, $0.webImageExpected] } == pairs)
        case .text(let text):
            // SharedTransferTests checks the calls for a request that joins later.
            #expect(text == "only the remaining data calls")
        }
    }
}
