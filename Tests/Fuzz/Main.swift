import CFuzzer
import Glibc

/// `larder-fuzz TARGET FILE...` reads each file once, as the tests do with the kept inputs.
/// Built by `scripts/fuzz`, with libFuzzer, `larder-fuzz TARGET [DIRECTORY]... [-OPTION]...` searches for new ones.
@main
struct Main {
    nonisolated(unsafe) private static var target = FuzzTarget.png

    static func main() {
        guard CommandLine.arguments.count > 1, let target = FuzzTarget(rawValue: CommandLine.arguments[1]) else {
            print(FuzzTarget.allCases.map(\.rawValue).joined(separator: "\n"))
            exit(2)
        }
        self.target = target
        #if FUZZER
            var (count, arguments) = (CommandLine.argc - 1, Optional(CommandLine.unsafeArgv + 1))
            exit(
                LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
                    Main.target.run(UnsafeRawBufferPointer(start: bytes, count: count))
                    return 0
                })
        #else
            for path in CommandLine.arguments.dropFirst(2) { read(path) }
        #endif
    }

    private static func read(_ path: String) {
        guard let file = fopen(path, "rb") else {
            perror(path)
            exit(1)
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        bytes[..<count].withUnsafeBytes(target.run)
    }
}
