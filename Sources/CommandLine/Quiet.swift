/// The option `--quiet`, for commands whose output is mailed: nothing is printed when all is well.
package enum Quiet {
    package static let name = "quiet"
    package static let work = option("no log, and no result when no job failed and nothing is left")
    package static let run = option("no progress, and the report only when an item failed or is left")
    package static let enqueue = option("no result when every URL is good")
    package static let report = option("no report of a batch that is finished without a failure")

    private static func option(_ help: String) -> Option { Option(name, short: "q", help) }
}
