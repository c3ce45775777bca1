// Loaders that log, count and trace each load, to copy into a program that uses Larder's libraries (docs/library.md).
// A part compiles where its package is a dependency: swift-log, swift-metrics, swift-distributed-tracing and
// swift-service-lifecycle.

import Prefetcher
import Transcoder

extension LoadRequest {
    /// The URL without its query, which may be a secret.
    fileprivate var shownURL: String { String(url.prefix { $0 != "?" }) }
}

#if canImport(Logging)
    import Logging

    /// Logs failures as warnings and other loads as debug messages.
    struct LoggedLoader: Loader {
        let loader: any Loader
        let logger: Logger

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
            do throws(LoadError) {
                let report = try await loader.load(request)
                logger.debug(
                    "loaded",
                    metadata: [
                        "url": "\(request.shownURL)", "downloads": "\(report.downloads)",
                        "bytes_in": "\(report.bytesIn)", "bytes_out": "\(report.bytesOut)",
                    ])
                return report
            } catch {
                let failure = error.failure
                logger.warning(
                    "load failed",
                    metadata: [
                        "url": "\(request.shownURL)", "error": "\(failure.domain) \(failure.code)",
                        "message": "\(failure.message)",
                    ])
                throw error
            }
        }
    }
#endif

#if canImport(Metrics)
    import Metrics

    /// Measures the time of loads, and counts downloaded bytes.
    struct MeasuredLoader: Loader {
        let loader: any Loader

        private func record(_ outcome: String, since start: ContinuousClock.Instant, _ report: LoadReport) {
            let time = start.duration(to: .now) / .nanoseconds(1)
            Timer(label: "larder_load_duration", dimensions: [("outcome", outcome)]).recordNanoseconds(Int64(time))
            Counter(label: "larder_downloaded_bytes").increment(by: Int64(report.bytesIn))
        }

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
            let start = ContinuousClock.now
            do throws(LoadError) {
                let report = try await loader.load(request)
                record("succeeded", since: start, report)
                return report
            } catch {
                record("failed", since: start, error.report)
                throw error
            }
        }
    }
#endif

#if canImport(Tracing)
    import Tracing

    /// Makes a span of each load, below the span of the task that loads.
    struct TracedLoader: Loader {
        let loader: any Loader

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
            let result = await withSpan("load", ofKind: .client) { span -> Result<LoadReport, LoadError> in
                span.attributes["url.full"] = .string(request.shownURL)
                do throws(LoadError) {
                    return .success(try await loader.load(request))
                } catch {
                    span.recordError(error)
                    return .failure(error)
                }
            }
            return try result.get()
        }
    }
#endif

#if canImport(ServiceLifecycle)
    import ServiceLifecycle

    /// Runs a prefetcher in a `ServiceGroup`. A graceful shutdown ends after the submitted lists; a cancellation cancels
    /// their loads.
    struct PrefetchService: Service {
        let prefetcher: ImagePrefetcher
        let transcoders: TranscoderPool

        func run() async throws {
            await withGracefulShutdownHandler {
                await prefetcher.run()
            } onGracefulShutdown: {
                prefetcher.finish()
            }
            await transcoders.shutdown()
        }
    }
#endif
