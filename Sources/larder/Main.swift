import CommandLine
import Commands

/// The user's command.
@main
struct Main {
    static func main() async { await Program.larder.main() }
}
