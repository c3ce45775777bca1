/// Decodes a body piece by piece (RFC 9110, 8.4).
///
/// Not left to libcurl: it takes an encoded body that is cut for whole, and refuses bytes after its end and unknown
/// encodings, which browsers ignore. Confined to the network thread.
final class ContentDecoder {
    enum Outcome {
        /// All decoded bytes were received.
        case done
        /// The receiver ended the transfer.
        case stopped
        /// The bytes are not in the encoding.
        case damaged
    }

    /// As libcurl.
    private static let maximumEncodings = 5

    /// The last encoding of the header is the first to be removed.
    private let stages: [any DecodingStage]
    /// Whether any bytes have arrived.
    private(set) var hasBegun = false

    /// Nil without an encoding, or with one that is not known, or with too many.
    ///
    /// - Parameter encodings: the values of `Content-Encoding`.
    init?(_ encodings: [String]) {
        let names = encodings.flatMap {
            $0.lowercased().split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" })
        }
        .filter { $0 != "identity" }
        let stages = names.reversed().compactMap { Self.stage(String($0)) }
        guard !names.isEmpty, names.count <= Self.maximumEncodings, stages.count == names.count else { return nil }
        self.stages = stages
    }

    /// Whether the values name an encoding other than identity.
    static func isEncoded(_ encodings: [String]) -> Bool {
        encodings.contains { $0.lowercased().split(separator: ",").contains { $0.filter { $0 != " " } != "identity" } }
    }

    private static func stage(_ name: String) -> (any DecodingStage)? {
        switch name {
        case "gzip", "x-gzip": InflateStage(.gzip)
        case "deflate": InflateStage(.zlibOrRaw)
        case "br": BrotliStage()
        case "zstd": ZstandardStage()
        default: nil
        }
    }

    /// Whether every encoding's own end has arrived; bytes behind it are ignored.
    var isComplete: Bool { stages.allSatisfy(\.isComplete) }

    /// Decodes the next piece of the body.
    ///
    /// - Parameter receive: called with the decoded bytes, part by part; false stops.
    func decode(_ piece: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
        if !piece.isEmpty { hasBegun = true }
        return decode(piece, stages[...], receive)
    }

    private func decode(
        _ piece: UnsafeRawBufferPointer, _ stages: ArraySlice<any DecodingStage>,
        _ receive: (UnsafeRawBufferPointer) -> Bool
    ) -> Outcome {
        guard let stage = stages.first else { return receive(piece) ? .done : .stopped }
        var inner = Outcome.done
        let isSound = stage.decode(piece) { part in
            inner = decode(part, stages.dropFirst(), receive)
            if case .done = inner { return true }
            return false
        }
        return isSound ? inner : .damaged
    }
}

/// One encoding of a body.
protocol DecodingStage: AnyObject {
    /// Whether the end of the encoded data has arrived.
    var isComplete: Bool { get }

    /// False when the bytes are not in the encoding. `receive` may stop it by false.
    func decode(_ piece: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Bool) -> Bool
}
