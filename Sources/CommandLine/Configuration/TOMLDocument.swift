private import CTOML
package import Terminal

/// A table or value in a TOML file, with its line.
package struct TOMLEntry: Equatable {
    package enum Value: Equatable {
        /// The beginning of a table.
        case table
        case string(String)
        /// A number as written.
        case number(String)
        case boolean(Bool)
        /// A date, or a table or array within an array.
        case other
    }

    /// Names from the root, such as `["cache", "max-age"]`.
    package let path: [String]
    package let value: Value
    /// From 1.
    package let line: Int

    /// Whether this is a table, or a value in one, instead of a section's value.
    package var isReference: Bool { value == .table || path.count > 2 }
}

/// The tables and values of a TOML file in order; an array has one entry per element.
package enum TOMLDocument {
    /// - Parameter name: the file's name for errors.
    /// - Throws: an error with the file and line of the first fault.
    package static func entries(of bytes: [UInt8], name: String) throws(CommandError) -> [TOMLEntry] {
        let visits = Visits()
        var message = [CChar](repeating: 0, count: 200)
        let line = bytes.withUnsafeBytes { bytes in
            larder_toml_parse(
                bytes.bindMemory(to: CChar.self).baseAddress, bytes.count,
                { context, keys, count, kind, text, length, line in
                    guard let context, let keys else { return }
                    let visits = Unmanaged<Visits>.fromOpaque(context).takeUnretainedValue()
                    let path = (0..<count).compactMap { keys[$0].map { String(cString: $0) } }
                    let text = String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
                    visits.entries.append(
                        TOMLEntry(path: path, value: TOMLEntry.Value(kind, text), line: Int(line)))
                }, Unmanaged.passUnretained(visits).toOpaque(), &message, message.count)
        }
        guard line == 0 else {
            let text = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw .larder(.configuration, "\(name):\(line): \(text)", exit: .wrongUsage)
        }
        return visits.entries
    }

    private final class Visits {
        var entries: [TOMLEntry] = []
    }
}

extension TOMLEntry.Value {
    fileprivate init(_ kind: larder_toml_kind, _ text: String) {
        self =
            switch kind {
            case LARDER_TOML_TABLE: .table
            case LARDER_TOML_STRING: .string(text)
            case LARDER_TOML_INTEGER, LARDER_TOML_FLOAT: .number(text)
            case LARDER_TOML_BOOLEAN: .boolean(text == "true")
            default: .other
            }
    }
}
