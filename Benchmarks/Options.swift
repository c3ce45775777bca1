import Measuring

/// The command line.
struct Options: Sendable {
    static let usage = """
        usage: Benchmarks NAME… [--json] [--rounds N] [--save DIR] [--directory DIR] [--images DIR]
                          [--loop PROGRAM] [--files N]
          --rounds N        rounds that count, after one warm-up; default 5
          --save DIR        writes DIR/<date>-<name>.json and the table of all results, DIR/README.md
          --files N         expiry, fetch: how many files; default 1,000,000, 2,000
          --directory DIR   store, expiry: where to write; default: the system's temporary directory
          --images DIR      transcode, planes, resident: the images; default: those of the tests, repeated
          --loop PROGRAM    transcode, planes: a plain loop over libvips to compare with; it reads a list of files and
                            prints a line of JSON with cpu_ms_img. planes adds -m chain, modern, avatar or 256, and
                            -o DIR, for which there is Benchmarks/peers/mixes.c
        The benchmark of the queue is the command larder-lab bench queue.
        """

    var names: [String] = []
    var json = false
    var rounds = 5
    var save: String?
    var directory: String?
    var images: String?
    var loop: String?
    var files: Int?

    /// - Throws: `MeasuringError` naming the word that is wrong.
    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst(), !value.isEmpty else { throw MeasuringError("\(word) needs a value") }
                return value
            }
            switch word {
            case "--json": json = true
            case "--rounds":
                guard let number = Int(try value()), number > 0 else {
                    throw MeasuringError("--rounds: a positive number is required")
                }
                rounds = number
            case "--files":
                guard let number = Int(try value()), number >= 100 else {
                    throw MeasuringError("--files: a number of at least 100 is required")
                }
                files = number
            case "--save": save = try value()
            case "--directory": directory = try value()
            case "--images": images = try value()
            case "--loop": loop = try value()
            default:
                guard Benchmark.all.contains(where: { $0.name == word }) else {
                    throw MeasuringError("'\(word)' is neither a benchmark nor an option")
                }
                names.append(word)
            }
        }
        guard !names.isEmpty else { throw MeasuringError("the name of a benchmark is required") }
    }
}
