import CommandLine
import Terminal

extension Command {
    static let completion = Command(
        words: ["completion"], operands: "SHELL",
        summary: "Print the completion script of a shell: bash, zsh or fish",
        discussion: "The scripts complete commands, options and the names of batches.",
        examples: ["larder completion bash > /usr/share/bash-completion/completions/larder"],
        options: []
    ) { arguments in
        let name = try arguments.operand("SHELL", of: "completion")
        guard let script = CompletionScript(rawValue: name) else {
            let names = CompletionScript.allCases.map(\.rawValue)
            throw CommandError.usage(
                "completion: '\(name)' is not one of \(names.joined(separator: ", "))"
                    + NearestWord.question(name, among: names))
        }
        let text = script.text(of: .larder)
        if arguments.flag("json") { try Console.json(["script": text]) } else { Console.write(text) }
        return .done
    }
}
