import CommandLine
import Commands

/// The program: a command of the user.
@main
struct Main {
    static func main() async { await Program.larder.main() }
}
