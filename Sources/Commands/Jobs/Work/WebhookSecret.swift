import CommandLine
import FoundationEssentials
import Terminal

/// The secret that webhooks are signed with.
enum WebhookSecret {
    /// The signing key in a file: base64 with the prefix `whsec_`, as Standard Webhooks 1.0 writes it, of 24 to 64 bytes.
    ///
    /// - Throws: what is wrong with the file; never its content.
    static func key(in path: String) throws(CommandError) -> [UInt8] {
        let text = String(decoding: try WholeFile.bytes(path), as: UTF8.self).trimmed(of: \.isWhitespace)
        guard text.hasPrefix("whsec_"), let key = Data(base64Encoded: String(text.dropFirst(6))),
            (24...64).contains(key.count)
        else {
            throw .usage(
                "--webhook-secret-file: \(path) must contain whsec_ and 24 to 64 bytes in base64, such as "
                    + "\"whsec_$(openssl rand -base64 32)\"")
        }
        return Array(key)
    }
}
