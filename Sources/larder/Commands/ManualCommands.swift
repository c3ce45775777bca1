extension Command {
    static let manual = Command(
        words: ["manual"], operands: "DIR",
        summary: "Write the man pages of all commands into a directory",
        discussion: "The directory must exist. Files of the same names are replaced.",
        examples: ["larder manual /usr/local/share/man/man1"],
        options: []
    ) { arguments in
        let directory = try arguments.operand("DIR", of: "manual")
        for page in ManualPage.all {
            let path = "\(directory)/\(page.name).1"
            let file = try OutputFile(path)
            try file.write(Array(page.text.utf8))
            try file.keep()
        }
        let count = ManualPage.all.count
        try Console.show(["pages": count], arguments, "wrote \(count) man pages to \(directory)")
        return .done
    }

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
        if arguments.flag("json") { try Console.json(["script": script.text]) } else { Console.write(script.text) }
        return .done
    }
}
