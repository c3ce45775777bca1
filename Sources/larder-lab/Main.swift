import CommandLine
import Lab

/// The program that measures Larder and injects faults.
@main
struct Main {
    static func main() async { await Program.lab.main() }
}
