import CommandLine
import DiskCache
import Terminal

/// The options that define an expiry policy.
enum ExpiryOptions {
    /// The options of `cache trim`, with SDWebImage's default age.
    static let trim = options(
        age: "delete files of this age, default 7d; 'never' for no age",
        size: "above it, delete the oldest down to half of it; default no limit")
    /// The options of `work`. Nothing expires by default, because a warmed cache must not be emptied.
    static let work = options(
        age: "delete files of this age, every hour and at the end; default: none",
        size: "above it, delete the oldest down to half of it, every hour and at the end; default: none")

    private static func options(age: String, size: String) -> [Option] {
        [
            Option("max-age", .value("DURATION"), age), Option("max-size", .value("SIZE"), size),
            Option("expire-by", .value("DATE"), "access (default), modification, creation or change"),
        ]
    }

    /// - Parameter age: the age without `--max-age`.
    static func policy(_ arguments: Arguments, age: Duration?) throws(CommandError) -> ExpiryPolicy {
        var policy = ExpiryPolicy(maxAge: age)
        if try arguments.value("max-age") == "never" {
            policy.maxAge = nil
        } else if let duration = try arguments.duration("max-age") {
            policy.maxAge = duration
        }
        if let size = try arguments.bytes("max-size") { policy.maxSize = size }
        switch try arguments.choice("expire-by", of: ["access", "modification", "creation", "change"]) {
        case "modification": policy.date = .modification
        case "creation": policy.date = .creation
        case "change": policy.date = .change
        default: policy.date = .access
        }
        return policy
    }
}
