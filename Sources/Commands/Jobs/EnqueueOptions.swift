import CommandLine
import DiskCache
import FoundationEssentials
import ImageModel
import JobQueue
import Lists
import Prefetcher
import Telemetry
import Terminal

/// The options of `enqueue` and `run` that say what to enqueue.
struct EnqueueOptions {
    /// - Parameter priority: the default stated in the help.
    static func options(priority: Int) -> [Option] {
        URLSource.options + [
            Option(
                "batch", .value("NAME"),
                "the batch, opened when there is none; a name has 1 to 200 bytes and not only digits"),
            Option("pipeline", .value("NAME"), "the pipeline to run, default 'original', which has no variants"),
            VariantJSON.option("a variant to make instead of a pipeline's; repeatable"),
            VariantJSON.cacheKeyOption, AppURLs.option,
            Option("queue", .value("NAME"), "the queue of a new batch, default 'default'"),
            Option("priority", .value("P"), "0 first to 9 last, default \(priority)"),
            Option(
                "options", .value("LIST"),
                "SDWebImage's options by name or number, separated by commas; a joined job keeps its own. Options with an effect: \(namesWithEffect)"
            ),
            Option(
                "context", .value("JSON"),
                "SDWebImage's context by its keys, such as '{\"imageThumbnailPixelSize\":{\"width\":64,\"height\":64}}'"
            ),
            Option(
                "on-finished", .value("URL"),
                "a URL that a worker posts the batch's counts to when it is finished; docs/running.md"),
            StoredRecipes.remakeOption,
            Option("retries", .value("N"), "attempts after the first, default 3"),
            Option(
                "retry-base", .value("DURATION"),
                "longest wait before the first retry, 4 times as long before each further one; default 1s"),
            Option(
                "not-after", .value("TIME"),
                "end items as cancelled that have not started by this time (2026-11-21T18:00:00Z) or after a delay (+6h)"
            ),
            Option(
                "on-running", .value("CHOICE"),
                "what a URL does whose job runs at this moment: join (default) it, or again, be loaded after it"),
        ]
    }

    private static var namesWithEffect: String { LoadOptions.withEffect.names.joined(separator: ", ") }

    /// The source of the URLs, in messages.
    let origin: String
    var template: EnqueueRequest
    /// Whether a name whose batch is sealed but unfinished opens its next run.
    var opensNextRun = false
    /// The batch's webhook; nil for none.
    let onFinished: String?
    /// Whether to remake variants with another recipe.
    let remakes: Bool
    /// The pipeline from `--variant` options, to be stored first.
    let adHoc: Pipeline?
    let appURLs: AppURLs

    init(_ arguments: Arguments) throws {
        let lists = try (arguments.list("from") + arguments.list("from-directory")).map {
            $0 == "-" ? "standard input" : PrintableText.text($0)
        }
        origin = lists.isEmpty ? "the arguments" : lists.joined(separator: " and ")
        var request = EnqueueRequest(urls: [], batch: try arguments.value("batch"))
        if let name = request.batch { try Self.check(batch: name) }
        request.pipeline = try arguments.value("pipeline")
        request.queue = try arguments.value("queue") ?? request.queue
        request.priority = try arguments.number("priority", in: 0...9)
        let options = try Self.loadOptions(try arguments.value("options"))
        remakes = arguments.flag(StoredRecipes.remakeOption.name)
        request.options = options.union(remakes ? .remake : []).rawValue
        request.priority = request.priority ?? options.jobPriority
        request.context = try arguments.value("context").map { (text) throws(CommandError) in
            _ = try VariantJSON.checking("--context", text.utf8) { () throws(VariantError) in
                try LoadContext(json: text.utf8)
            }
            return text
        }
        request.maxAttempts = try arguments.number("retries", in: 0...99).map { $0 + 1 }
        request.retryBase = try arguments.duration("retry-base")
        if let at = try arguments.value("at") { request.start = try Self.start(at, of: "at") }
        if let end = try arguments.value("not-after") {
            switch try Self.start(end, of: "not-after") {
            case .now: break
            case .after(let delay): request.validFor = delay
            case .at(let seconds): request.notAfter = seconds
            }
        }
        request.traceparent = try TraceparentOption.value(arguments)
        let onRunning = try arguments.choice("on-running", of: ["join", "again"])
        request.onRunning = onRunning.flatMap(EnqueueRequest.OnRunning.init(rawValue:)) ?? .join

        onFinished = try arguments.value("on-finished")
        appURLs = try AppURLs(arguments)

        let variants = try VariantJSON.variants(try arguments.list("variant"))
        let cacheKey = try VariantJSON.cacheKeyRule(arguments)
        if variants.isEmpty && cacheKey == nil {
            adHoc = nil
        } else {
            guard request.pipeline == nil else {
                throw CommandError.usage(
                    "--pipeline and \(variants.isEmpty ? "--cache-key" : "--variant") exclude each other")
            }
            let naming = try NamingOption.naming(arguments)
            let pipeline = try VariantJSON.checking("--variant") { () throws(VariantError) in
                for variant in variants {
                    try variant.validateSupported()
                    _ = try naming.suffixes(of: variant)
                }
                return try Pipeline.adhoc(variants, cacheKey: cacheKey)
            }
            adHoc = pipeline
            request.pipeline = pipeline.name
        }
        template = request
    }

    private static func check(batch name: String) throws(CommandError) {
        guard (1...200).contains(name.utf8.count) else {
            throw .usage("--batch: a name has 1 to 200 bytes, not \(name.utf8.count)")
        }
        guard !name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .usage(
                "--batch: '\(name)' has only digits and would be taken for the number of a batch; add a letter")
        }
    }

    /// SDWebImage's options from `--options`: names or numbers, separated by commas.
    static func loadOptions(_ list: String?) throws(CommandError) -> LoadOptions {
        var options: LoadOptions = []
        guard let list else { return options }
        let words = list.split(separator: ",", omittingEmptySubsequences: false)
        for word in words.map({ String($0).trimmed(of: \.isBlank) }) {
            guard let option = UInt64(word).map(LoadOptions.init(rawValue:)) ?? LoadOptions(named: word) else {
                throw .usage(
                    "--options: '\(word)' is neither an option of SDWebImage, such as RetryFailed, nor a number")
            }
            options.formUnion(option)
        }
        return options
    }

    /// The time or delay in option `name`.
    static func start(_ text: String, of name: String) throws(CommandError) -> EnqueueRequest.Start {
        guard let start = EnqueueRequest.Start(spelling: text) else {
            throw .usage("--\(name): '\(text)' is neither a time such as 2026-11-21T18:00:00Z nor a delay such as +10m")
        }
        return start
    }
}

/// The parent span of enqueued jobs.
enum TraceparentOption {
    static let option = Option(
        "traceparent", .value("TEXT"),
        "the span of W3C Trace Context whose child the work is, 00-TRACE-SPAN-FLAGS; default: TRACEPARENT")

    /// The variable that tools set for programs that they start.
    private static let variable = "TRACEPARENT"

    /// In the form of version 00; nil for a command without the option.
    ///
    /// - Throws: wrong usage for an invalid option value. An invalid `TRACEPARENT` is noted and ignored, as W3C Trace
    ///   Context demands.
    static func value(_ arguments: Arguments) throws(CommandError) -> String? {
        guard arguments.has(option.name) else { return nil }
        if let text = try arguments.value(option.name) {
            guard let context = TraceContext(traceparent: text) else {
                throw .usage(
                    "\(arguments.label(option.name)): '\(text)' is not a traceparent such as "
                        + "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
            }
            return context.traceparent
        }
        guard let text = arguments.environment[variable], !text.isEmpty else { return nil }
        guard let context = TraceContext(traceparent: text) else {
            Console.note("larder: \(variable) is not a traceparent of W3C Trace Context and is ignored")
            return nil
        }
        return context.traceparent
    }
}
