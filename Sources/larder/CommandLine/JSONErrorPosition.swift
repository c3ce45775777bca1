import Foundation

/// The position at which a text stops being JSON.
enum JSONErrorPosition {
    /// `line 1, column 5`, both from 1, columns in bytes; nil when the text is JSON.
    static func text(in bytes: [UInt8]) -> String? {
        let offset: Int
        do {
            _ = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            return nil
        } catch {
            // Foundation reports the offset in its message only, and none for a text that ends too early.
            let message = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? ""
            offset = message.split(separator: " ").lazy.compactMap { Int($0.prefix { $0 != "." }) }.last ?? bytes.count
        }
        let before = bytes.prefix(offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return "line \(before.count { $0 == UInt8(ascii: "\n") } + 1), column \(before.count - lineStart + 1)"
    }
}
