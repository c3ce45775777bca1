import CommandLine
import Lab

/// The program that measures Larder and breaks it on purpose.
@main
struct Main {
    static func main() async { await Program.lab.main() }
}
