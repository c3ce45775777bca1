/// The shared credentials file: sections `[profile]` of lines `name = value`.
package enum SharedCredentials {
    /// The credentials of a profile.
    ///
    /// - Throws: `badCredentials` when the file has no such profile, or the profile no key.
    package static func key(
        of profile: String, in text: String, path: String
    ) throws(ObjectStoreError) -> AccessKey {
        var isInside = false
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                isInside = trimmed(line[line.index(after: line.startIndex)..<end]) == profile
            } else if isInside, let equals = line.firstIndex(of: "=") {
                values[trimmed(line[..<equals]).lowercased()] = trimmed(line[line.index(after: equals)...])
            }
        }
        guard let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else {
            throw ObjectStoreError(.badCredentials, "\(path) has no keys for the profile '\(profile)'")
        }
        return AccessKey(id: id, secret: secret, sessionToken: values["aws_session_token"])
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        let end = text.lastIndex { !isSpace($0) }
        return end.map { String(text[...$0].drop(while: isSpace)) } ?? ""
    }
}
