/// A word of a shell command.
package enum ShellWord {
    /// The word as it is where no character is special, else in single quotes.
    package static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-_./@:%+=,".utf8.contains(byte)
        }
        return isPlain && !word.isEmpty && !word.hasPrefix("-") ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
