import Foundation
import TestSupport
import Testing

/// examples/ObservedLoaders.swift, compiled with what it calls of each package.
@Suite(.enabled(if: Tier.isNightly, "make nightly"), .timeLimit(.minutes(5)))
struct ObservedLoadersTests {
    private let logging = """
        public struct Logger: Sendable {
            public struct Message: ExpressibleByStringInterpolation { public init(stringLiteral value: String) {} }
            public struct MetadataValue: ExpressibleByStringInterpolation { public init(stringLiteral value: String) {} }
            public typealias Metadata = [String: MetadataValue]
            public init(label: String) {}
            public func debug(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
            public func warning(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
        }
        """
    private let metrics = """
        public final class Timer {
            public convenience init(label: String, dimensions: [(String, String)] = []) { self.init() }
            public func recordNanoseconds(_ duration: Int64) {}
        }
        public final class Counter {
            public convenience init(label: String, dimensions: [(String, String)] = []) { self.init() }
            public func increment<DataType: BinaryInteger>(by amount: DataType) {}
        }
        """
    private let tracing = """
        public enum SpanKind: Sendable { case `internal`, client }
        public enum SpanAttribute: Sendable { case string(String) }
        public struct SpanAttributes: Sendable {
            public subscript(name: String) -> SpanAttribute? { get { nil } set {} }
        }
        public protocol Span: Sendable {
            var attributes: SpanAttributes { get nonmutating set }
            func recordError(_ error: any Error)
        }
        struct NoSpan: Span {
            var attributes: SpanAttributes { get { SpanAttributes() } nonmutating set {} }
            func recordError(_ error: any Error) {}
        }
        public func withSpan<T>(
            _ operationName: String, ofKind kind: SpanKind = .internal, isolation: isolated (any Actor)? = #isolation,
            _ operation: (any Span) async throws -> T
        ) async rethrows -> T { try await operation(NoSpan()) }
        """
    private let lifecycle = """
        public protocol Service: Sendable { func run() async throws }
        public func withGracefulShutdownHandler<T>(
            isolation: isolated (any Actor)? = #isolation, operation: () async throws -> T,
            onGracefulShutdown handler: @Sendable @escaping () -> Void
        ) async rethrows -> T { try await operation() }
        """
    private let use = """
        func service(_ manager: ImageManager, _ transcoders: TranscoderPool) -> any Service {
            let logged = LoggedLoader(loader: manager, logger: Logger(label: "images"))
            let loader = TracedLoader(loader: MeasuredLoader(loader: logged))
            return PrefetchService(prefetcher: ImagePrefetcher(loader: loader), transcoders: transcoders)
        }
        """

    @Test func `each wrapper compiles with its package, and none without`() async throws {
        let program = try await ShownProgram()
        let example = try String(contentsOfFile: PackageRoot.path + "/examples/ObservedLoaders.swift", encoding: .utf8)
        #expect(try await program.faults(ofSwift: example) == "")
        #expect(try await program.faults(ofSwift: example + use) != "")
        for (name, text) in [
            ("Logging", logging), ("Metrics", metrics), ("Tracing", tracing), ("ServiceLifecycle", lifecycle),
        ] {
            try await program.add(name, text)
        }
        #expect(try await program.faults(ofSwift: example + use) == "")
    }
}
