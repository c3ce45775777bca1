package import Terminal

/// A secret that a configuration file refers to: `{ file = "PATH" }` or `{ env = "NAME" }`.
package struct SecretReference {
    package let file: String
    package let environment: [String: String]

    /// The secret of the entry `….file` or `….env`, without a file's final newline.
    ///
    /// - Throws: the key and the problem, never a secret.
    package func value(_ entry: TOMLEntry) throws(CommandError) -> String {
        let name = entry.path.dropLast().joined(separator: ".")
        guard case .string(let text) = entry.value, let kind = entry.path.last, ["file", "env"].contains(kind) else {
            throw .usage("\(name) must be { file = \"PATH\" } or { env = \"NAME\" }")
        }
        if kind == "env" {
            guard let value = environment[text], !value.isEmpty else {
                throw .usage("\(name): the variable \(text) is not set")
            }
            return value
        }
        let directory = file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let path = text.hasPrefix("/") || directory.isEmpty ? text : directory + "/" + text
        var bytes: [UInt8]
        do throws(CommandError) { bytes = try WholeFile.bytes(path) } catch {
            throw .usage("\(name): \(error.message)")
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard let value = String(validating: bytes, as: UTF8.self) else {
            throw .usage("\(name): \(path) is not UTF-8")
        }
        return value
    }
}
