import CommandLine
import ImageModel
import JobQueue
import Reports
import Terminal

/// The options of `cancel` and `retry` that select jobs of all batches.
enum JobFilterOptions {
    static let origin = Option("origin", .value("URL"), "only jobs of the origin of this URL")
    static let url = Option("url", .value("PATTERN"), "only URLs of this form, in which * stands for any characters")
    static let error = Option("error", .value("ERROR"), "only jobs that failed with this domain and code")
    static let dryRun = Option("dry-run", "print how many it would be, and change nothing")

    /// - Parameter since: the start of the time for `--older-than`.
    static func options(since: String) -> [Option] {
        [
            origin, url, error,
            Option("older-than", .value("DURATION"), "only jobs that \(since) longer ago than this"),
            dryRun,
        ]
    }

    static let names = "--origin, --url, --error and --older-than"

    /// The error for `--dry-run` without a condition.
    static func missing(of command: String) -> CommandError {
        .usage("\(command): --dry-run needs a condition: one of \(names)")
    }

    /// The conditions on the command line, ignoring variables, which may be set for other commands.
    ///
    /// - Throws: wrong usage for an invalid value.
    static func filter(_ arguments: Arguments) throws(CommandError) -> JobFilter {
        func value(_ name: String) throws(CommandError) -> String? {
            arguments.isGiven(name) ? try arguments.value(name) : nil
        }
        var filter = JobFilter()
        if let text = try value(origin.name) {
            guard LoggedURL.origin(text) != "?" else {
                throw .usage("--origin: '\(text)' is not a URL such as https://example.com")
            }
            filter.origin = text
        }
        filter.urlPattern = try value(url.name)
        filter.error = try value(error.name).map(errorCode)
        if arguments.isGiven("older-than") {
            filter.age = try arguments.duration("older-than", in: .zero...(.seconds(86_400) * 3650), "at most 3650d")
        }
        return filter
    }

    /// Parses `SDWebImageErrorDomain 2001`.
    private static func errorCode(_ text: String) throws(CommandError) -> FailureCode {
        let words = text.split(separator: " ")
        guard words.count == 2, let code = Int32(words[1]) else {
            throw .usage("--error: '\(text)' is not a domain and a code such as 'SDWebImageErrorDomain 2001'")
        }
        return FailureCode(domain: String(words[0]), code: Int(code))
    }
}
