import CommandLine
import Concurrency
import ImageModel
import JobQueue
import Prefetcher
import Reports
import Terminal
import Worker

/// The last lines of `run`: number of images, bytes saved, location, and the next command.
final class RunEnding: Sendable {
    private struct Sizes {
        /// Bytes of the variants, and of their originals, counted once per variant.
        var variants = 0, originals = 0
    }

    private let sizes = Locked(Sizes())

    /// Adds the files of a job that succeeded or failed.
    func observe(_ event: WorkerEvent) {
        guard case .completed(let report) = event else { return }
        let stored = report.load.stored
        guard let original = stored.first(where: { $0.name == nil })?.bytes else { return }
        let variants = stored.compactMap { $0.name == nil || $0.path == nil ? nil : $0.bytes }
        guard !variants.isEmpty else { return }
        sizes.withLock { sizes in
            sizes.variants += variants.reduce(0, +)
            sizes.originals += original * variants.count
        }
    }

    /// The lines with newlines; without an image only the first.
    ///
    /// - Parameter title: the images' directory or URL.
    func text(_ progress: BatchProgress, in title: String, _ arguments: Arguments) -> String {
        let images = "\(progress.succeeded.grouped) of \(progress.total.grouped) "
        var text = "Finished: \(images)\(progress.total == 1 ? "image" : "images").\(saved)\n"
        guard progress.succeeded > 0 else { return text }
        let names = Set((CachePlace.options + [Settings.databaseOption]).map(\.name)).union(["config"])
        let files = NextCommand("report", ["--files"], repeating: arguments, only: names, operands: ["\(progress.id)"])
        let pages = NextCommand("serve", repeating: arguments, only: names)
        text += "The images are in \(PrintableText.text(title))\n"
        text +=
            "List them: \(PrintableText.text(files.line))\nShow them in a browser: \(PrintableText.text(pages.line))\n"
        return text
    }

    /// ` Variants are 97 % smaller (2.5 MiB of 79.8 MiB).`, or nothing without variants.
    private var saved: String {
        let sizes = sizes.withLock { $0 }
        guard sizes.originals > 0 else { return "" }
        let difference = Double(sizes.originals - sizes.variants) / Double(sizes.originals)
        let percent = Int(abs(difference) * 100)
        let change = difference < 0 ? "larger" : "smaller"
        let bytes = "\(ByteCount(sizes.variants).text) of \(ByteCount(sizes.originals).text)"
        return " Variants are \(percent) % \(change) (\(bytes))."
    }
}
