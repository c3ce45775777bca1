import Foundation
import JobQueue
import Prefetcher
import Transcoder

/// The options that say what to enqueue and how, shared by `enqueue` and `run`.
struct EnqueueOptions {
    static let options = [
        Option("from", .value("FILE"), "read URLs from FILE, one a line; - is standard input"),
        Option("batch", .value("NAME"), "the batch to put them in, opened when missing"),
        Option("pipeline", .value("NAME"), "the pipeline to run, default 'original': no variants"),
        Option("variant", .texts("JSON"), "a variant to make, instead of a pipeline"),
        Option("queue", .value("NAME"), "the queue of a new batch, default 'default'"),
        Option("priority", .value("P"), "0 first to 9 last, default 4"),
        Option("options", .value("LIST"), "SDWebImage's options by name or number, separated by commas"),
        Option("retries", .value("N"), "tries after the first, default 3"),
        Option("retry-base", .value("TIME"), "the back-off's base: it waits up to base x 4^n; default 1s"),
    ]

    /// Where the URLs come from, for people.
    let origin: String
    var template: EnqueueRequest
    /// An ad-hoc pipeline to register first.
    let adHoc: Pipeline?

    init(_ arguments: Arguments) throws {
        let path = try arguments.value("from")
        origin = path == "-" ? "standard input" : path ?? "the arguments"
        var request = EnqueueRequest(urls: [], batch: try arguments.value("batch"))
        if let name = request.batch, name.utf8.count > 200 || name.isEmpty {
            throw CommandError.usage("--batch: a name has 1 to 200 bytes")
        }
        request.pipeline = try arguments.value("pipeline")
        request.queue = try arguments.value("queue") ?? request.queue
        request.priority = try arguments.number("priority", in: 0...9)
        let options = try Self.loadOptions(try arguments.value("options"))
        request.options = options.rawValue
        if request.priority == nil && options.priority != .normal { request.priority = options.priority.number }
        request.maxAttempts = try arguments.number("retries", in: 0...99).map { $0 + 1 }
        request.retryBase = try arguments.duration("retry-base")
        if let at = try arguments.value("at") { request.start = try Self.start(at) }

        let variants = try Self.variants(try arguments.list("variant"))
        if variants.isEmpty {
            adHoc = nil
        } else {
            guard request.pipeline == nil else {
                throw CommandError.usage("--pipeline and --variant exclude each other")
            }
            for variant in variants { try variant.validateSupported() }
            let pipeline = try Pipeline.adhoc(variants)
            adHoc = pipeline
            request.pipeline = pipeline.name
        }
        template = request
    }

    /// The variants of `--variant` values.
    ///
    /// - Throws: wrong usage with the JSON path within the value, and which value it is where there are several.
    static func variants(_ texts: [String]) throws(CommandError) -> [Variant] {
        var variants: [Variant] = []
        for (index, text) in texts.enumerated() {
            do throws(VariantError) {
                variants.append(try Variant(json: text.utf8))
            } catch {
                let which = texts.count > 1 ? " number \(index + 1)" : ""
                throw CommandError.larder(4, "--variant\(which): \(error)", exit: .wrongUsage)
            }
        }
        return variants
    }

    /// SDWebImage's options from an `--options` value: names or numbers, separated by commas.
    static func loadOptions(_ list: String?) throws(CommandError) -> LoadOptions {
        var options: LoadOptions = []
        for word in (list ?? "").split(separator: ",").map({ $0.trimmingCharacters(in: .whitespaces) }) where !word.isEmpty {
            guard let option = UInt64(word).map(LoadOptions.init(rawValue:)) ?? LoadOptions(named: word) else {
                throw .usage("--options: '\(word)' is no option of SDWebImage's, such as RetryFailed, nor a number")
            }
            options.formUnion(option)
        }
        return options
    }

    private static func start(_ text: String) throws(CommandError) -> EnqueueRequest.Start {
        if text.hasPrefix("+"), let delay = Duration(spelling: String(text.dropFirst())) { return .after(delay) }
        let formatter = ISO8601DateFormatter()
        guard let date = formatter.date(from: text) else {
            throw .usage("--at: '\(text)' is neither a time such as 2026-11-21T18:00:00Z nor a delay such as +10m")
        }
        return .at(secondsSince1970: date.timeIntervalSince1970)
    }
}
