enum Parameter: Sendable {
    case null
    case text(String?)
    case integer(Int64?)
    case texts([String])
    case integers([Int64])
    /// Elements may be NULL; if all are, the array is NULL.
    case optionalTexts([String?])
    /// Elements may be NULL; if all are, the array is NULL.
    case optionalIntegers([Int64?])
}

/// The parameters of one statement in Postgres' binary format, in one buffer.
///
/// Text is sent as bytes. Postgres stores no zero byte, so it becomes U+FFFD; such URLs are answered `invalid`.
struct Parameters {
    /// A parameter's position in the buffer; `offset` is nil for NULL.
    struct Field {
        let type: UInt32
        let offset: Int?
        var length: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var fields: [Field] = []

    private enum TypeID {
        static let int8: UInt32 = 20
        static let text: UInt32 = 25
        static let int8Array: UInt32 = 1016
        static let textArray: UInt32 = 1009
    }

    init(_ parameters: [Parameter]) {
        for parameter in parameters { append(parameter) }
    }

    private mutating func append(_ parameter: Parameter) {
        switch parameter {
        case .null, .text(nil): fields.append(Field(type: TypeID.text, offset: nil, length: 0))
        case .integer(nil): fields.append(Field(type: TypeID.int8, offset: nil, length: 0))
        case .text(let value?): field(TypeID.text) { $0.append(text: value) }
        case .integer(let value?): field(TypeID.int8) { $0.append(bigEndian: value) }
        case .texts(let values):
            field(TypeID.textArray) {
                $0.appendArrayHeader(count: values.count, element: TypeID.text)
                for value in values { $0.appendElement { $0.append(text: value) } }
            }
        case .integers(let values):
            field(TypeID.int8Array) {
                $0.appendArrayHeader(count: values.count, element: TypeID.int8)
                for value in values { $0.appendElement { $0.append(bigEndian: value) } }
            }
        case .optionalTexts(let values):
            array(of: TypeID.text, as: TypeID.textArray, values) { $0.append(text: $1) }
        case .optionalIntegers(let values):
            array(of: TypeID.int8, as: TypeID.int8Array, values) { $0.append(bigEndian: $1) }
        }
    }

    private mutating func field(_ type: UInt32, _ write: (inout Parameters) -> Void) {
        let start = bytes.count
        write(&self)
        fields.append(Field(type: type, offset: start, length: bytes.count - start))
    }

    private mutating func array<Value>(
        of element: UInt32, as type: UInt32, _ values: [Value?], _ write: (inout Parameters, Value) -> Void
    ) {
        guard values.contains(where: { $0 != nil }) else {
            fields.append(Field(type: type, offset: nil, length: 0))
            return
        }
        field(type) {
            $0.appendArrayHeader(count: values.count, element: element, hasNulls: true)
            for value in values {
                if let value { $0.appendElement { write(&$0, value) } } else { $0.append(bigEndian: Int32(-1)) }
            }
        }
    }

    private mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func append(text: String) {
        var text = text
        text.withUTF8 { utf8 in
            if utf8.contains(0) {
                for byte in utf8 { bytes.append(contentsOf: byte == 0 ? [0xEF, 0xBF, 0xBD] : [byte]) }
            } else {
                bytes.append(contentsOf: utf8)
            }
        }
    }

    /// The wire format of a one-dimensional array (`array_recv` in Postgres).
    private mutating func appendArrayHeader(count: Int, element: UInt32, hasNulls: Bool = false) {
        append(bigEndian: Int32(count == 0 ? 0 : 1))  // dimensions
        append(bigEndian: Int32(hasNulls ? 1 : 0))
        append(bigEndian: element)
        guard count > 0 else { return }
        append(bigEndian: Int32(count))
        append(bigEndian: Int32(1))  // lower bound
    }

    private mutating func appendElement(_ write: (inout Parameters) -> Void) {
        let start = bytes.count
        append(bigEndian: Int32(0))
        write(&self)
        withUnsafeBytes(of: Int32(bytes.count - start - 4).bigEndian) {
            bytes.replaceSubrange(start..<start + 4, with: $0)
        }
    }
}
