import Foundation
import ImageModel
import JobQueue
import Prefetcher
import Transcoder

/// The options that say what to enqueue and how, shared by `enqueue` and `run`.
struct EnqueueOptions {
    /// The options of a command in which jobs have the priority `priority` unless it is said.
    static func options(priority: Int) -> [Option] {
        [
            Option("from", .value("FILE"), "read URLs from FILE, one a line, after the arguments; - is standard input"),
            Option(
                "batch", .value("NAME"),
                "the batch to put them in, opened when missing; a name has 1 to 200 bytes, not digits alone"),
            Option("pipeline", .value("NAME"), "the pipeline to run, default 'original': no variants"),
            Option("variant", .texts("JSON"), "a variant to make, instead of a pipeline; repeatable"),
            Option("queue", .value("NAME"), "the queue of a new batch, default 'default'"),
            Option("priority", .value("P"), "0 first to 9 last, default \(priority)"),
            Option(
                "options", .value("LIST"),
                "SDWebImage's options by name or number, separated by commas; a job that is joined keeps its own; with an effect: \(namesWithEffect)"
            ),
            Option(
                "context", .value("JSON"),
                "SDWebImage's context by its keys, such as '{\"imageThumbnailPixelSize\":{\"width\":64,\"height\":64}}'"
            ),
            Option("retries", .value("N"), "tries after the first, default 3"),
            Option(
                "retry-base", .value("DURATION"),
                "the first retry waits up to so long, each later one up to 4 times as long; default 1s"),
        ]
    }

    private static var namesWithEffect: String { LoadOptions.withEffect.names.joined(separator: ", ") }

    /// Where the URLs come from, for people.
    let origin: String
    var template: EnqueueRequest
    /// An ad-hoc pipeline to register first.
    let adHoc: Pipeline?

    init(_ arguments: Arguments) throws {
        let path = try arguments.value("from")
        origin = path == "-" ? "standard input" : path ?? "the arguments"
        var request = EnqueueRequest(urls: [], batch: try arguments.value("batch"))
        if let name = request.batch { try Self.check(batch: name) }
        request.pipeline = try arguments.value("pipeline")
        request.queue = try arguments.value("queue") ?? request.queue
        request.priority = try arguments.number("priority", in: 0...9)
        let options = try Self.loadOptions(try arguments.value("options"))
        request.options = options.rawValue
        if request.priority == nil && options.priority != .normal { request.priority = options.priority.number }
        request.context = try arguments.value("context").map { (text) throws(CommandError) in
            _ = try VariantJSON.checking("--context", text.utf8) { () throws(VariantError) in
                try LoadContext(json: text.utf8)
            }
            return text
        }
        request.maxAttempts = try arguments.number("retries", in: 0...99).map { $0 + 1 }
        request.retryBase = try arguments.duration("retry-base")
        if let at = try arguments.value("at") { request.start = try Self.start(at) }

        let variants = try VariantJSON.variants(try arguments.list("variant"))
        if variants.isEmpty {
            adHoc = nil
        } else {
            guard request.pipeline == nil else {
                throw CommandError.usage("--pipeline and --variant exclude each other")
            }
            let pipeline = try VariantJSON.checking("--variant") { () throws(VariantError) in
                for variant in variants { try variant.validateSupported() }
                return try Pipeline.adhoc(variants)
            }
            adHoc = pipeline
            request.pipeline = pipeline.name
        }
        template = request
    }

    private static func check(batch name: String) throws(CommandError) {
        guard (1...200).contains(name.utf8.count) else { throw .usage("--batch: a name has 1 to 200 bytes") }
        // Names come first where a BATCH is looked for.
        guard !name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .usage("--batch: '\(name)' is digits alone: it would hide the batch of that number; add a letter")
        }
    }

    /// SDWebImage's options from an `--options` value: names or numbers, separated by commas.
    static func loadOptions(_ list: String?) throws(CommandError) -> LoadOptions {
        var options: LoadOptions = []
        guard let list else { return options }
        let words = list.split(separator: ",", omittingEmptySubsequences: false)
        for word in words.map({ $0.trimmingCharacters(in: .whitespaces) }) {
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
