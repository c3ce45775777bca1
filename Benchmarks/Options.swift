/// What the command line asks for.
struct Options: Sendable {
    static let usage = """
        usage: Benchmarks NAME… [--json] [--rounds N] [--save DIR] [--database URL] [--directory DIR]
                          [--pictures DIR] [--loop PROGRAM]
          --rounds N        rounds that count, after one warm-up; default 5
          --save DIR        writes DIR/<date>-<name>.json and the table of all results, DIR/README.md
          --database URL    queue: the server to use, in a database made for the run; default: a private cluster
          --directory DIR   store: where to write; default: the system's temporary directory
          --pictures DIR    transcode: the pictures; default: those of the tests, repeated
          --loop PROGRAM    transcode: a plain loop over libvips to compare with, one thread; it reads a list of files
                            and prints a line of JSON with cpu_ms_img
        """

    var names: [String] = []
    var json = false
    var rounds = 5
    var save: String?
    var database: String?
    var directory: String?
    var pictures: String?
    var loop: String?

    /// - Throws: `BenchmarkError` naming the word that is wrong.
    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst(), !value.isEmpty else { throw BenchmarkError("\(word) needs a value") }
                return value
            }
            switch word {
            case "--json": json = true
            case "--rounds":
                guard let number = Int(try value()), number > 0 else { throw BenchmarkError("--rounds: how many?") }
                rounds = number
            case "--save": save = try value()
            case "--database": database = try value()
            case "--directory": directory = try value()
            case "--pictures": pictures = try value()
            case "--loop": loop = try value()
            default:
                guard Benchmark.all.contains(where: { $0.name == word }) else {
                    throw BenchmarkError("'\(word)' is no benchmark and no option")
                }
                names.append(word)
            }
        }
        guard !names.isEmpty else { throw BenchmarkError("which benchmark?") }
    }
}
