import TestSupport
import Testing

/// Options from environment variables.
@Suite(.timeLimit(.minutes(5)))
struct VariableTests {
    @Test func `LARDER_VARIANT and LARDER_SUFFIX hold one value that may contain commas`() async throws {
        var command = LarderCommand(
            "key", "http://127.0.0.1/a.jpg",
            environment: ["LARDER_VARIANT": Variants.small, "LARDER_SUFFIX": "-blur(1,2)"])
        let byVariable = try await command.run()
        #expect(byVariable.code == 0, "\(byVariable.errorText)")
        command.environment = [:]
        command.arguments += ["--variant", Variants.small, "--suffix", "-blur(1,2)"]
        #expect(try await command.run().lines == byVariable.lines)
        #expect(byVariable.lines.count == 3)
    }

    @Test func `LARDER_ALLOW_PORT holds several values separated by commas`() async throws {
        let outcome = try await LarderCommand(
            "fetch", "http://127.0.0.1/a.jpg", environment: ["LARDER_ALLOW_PORT": "81,nothing"]
        ).run()
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains("'nothing' is not a port"))
    }

    @Test func `LARDER_JSON makes all errors JSON`() async throws {
        for words in [["report"], ["key"], ["no-such-command"], ["run", "--no-such-option"]] {
            var command = LarderCommand(environment: ["LARDER_JSON": "1"])
            command.arguments = words
            let outcome = try await command.run()
            #expect(outcome.code == 2)
            #expect(try outcome.error.kind == "LarderErrorDomain 1", "\(words)")
            #expect(outcome.errorText == "")
        }
    }

    @Test func `a variable that resembles a setting and is none is named with the setting`() async throws {
        let outcome = try await LarderCommand(
            "key", "a",
            environment: [
                "LARDER_VARIANTS": "x", "LARDER_SLOT": "3", "LARDER_SOMETHING_ELSE": "1", "LARDER_SLOTS": "2",
                "LARDER_SLOTZ": "tcp://10.0.0.1:80",
            ]
        ).run()
        #expect(outcome.code == 0)
        #expect(outcome.lines.count == 1)
        #expect(
            outcome.errorText == """
                larder: LARDER_SLOT is not a setting and is ignored; did you mean LARDER_SLOTS?
                larder: LARDER_VARIANTS is not a setting and is ignored; did you mean LARDER_VARIANT?

                """)
    }

    @Test func `--json may precede the command`() async throws {
        let outcome = try await LarderCommand("--json", "key", "a").run()
        #expect(outcome.code == 0)
        #expect(try outcome.text == (await LarderCommand("key", "a", "--json").run()).text)
    }
}
