import Foundation
import TestSupport
import Testing

/// The inputs that `scripts/fuzz` starts from, among them each one that once made a parser fail.
struct FuzzCorpusTests {
    private static let corpus = PackageRoot.path + "/Tests/Fuzz/Corpus/"

    @Test(arguments: try FileManager.default.contentsOfDirectory(atPath: FuzzCorpusTests.corpus).sorted())
    func `every kept input of a fuzz target is answered`(target: String) async throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.corpus + target)
        var command = LarderCommand()
        command.program = Products.directory + "/larder-fuzz"
        command.arguments = [target] + files.map { Self.corpus + target + "/" + $0 }
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
    }
}
