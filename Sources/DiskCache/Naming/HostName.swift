private import CICU

/// International host names.
enum HostName {
    /// The longest name that Apple converts, in bytes, and the longest result.
    private static let limit = 2_048

    /// The name in ASCII by UTS 46 (`uidna_nameToASCII`); nil when it is not valid.
    ///
    /// Apple's Foundation uses the same function of ICU with the same checks.
    static func ascii(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        guard (1...limit).contains(name.count) else { return nil }
        // Unicode 15.1 changed one mapping of letters in use; iOS 18 has it, ICU 72 of Debian 12 has not.
        let name = name.replacing("\u{1E9E}".utf8, with: "\u{DF}".utf8)
        var ascii = [CChar](repeating: 0, count: limit)
        let count = name.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { name in
            ascii.withUnsafeMutableBufferPointer { ascii in
                icu_name_to_ascii(name.baseAddress, Int32(name.count), ascii.baseAddress, Int32(ascii.count))
            }
        }
        return count > 0 ? ascii.prefix(Int(count)).map { UInt8(bitPattern: $0) } : nil
    }
}
