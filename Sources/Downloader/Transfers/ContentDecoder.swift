/// Decodes a body piece by piece (RFC 9110, 8.4).
///
/// libcurl's decoding does not fit: it accepts truncated bodies and refuses trailing bytes and unknown encodings, which
/// browsers ignore. Confined to the network thread.
final class ContentDecoder {
    enum Outcome {
        /// All decoded bytes were received.
        case done
        /// The receiver ended the transfer.
        case stopped
        /// The bytes are not in the encoding.
        case damaged
    }

    /// As in libcurl.
    private static let maximumEncodings = 5

    /// The header's last encoding is removed first.
    private let stages: [any DecodingStage]
    private(set) var hasBegun = false

    /// Nil for no encoding, an unknown one, or too many.
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

    /// Whether every encoding has reached its end; trailing bytes are ignored.
    var isComplete: Bool { stages.allSatisfy(\.isComplete) }

    /// Decodes the next piece.
    ///
    /// - Parameter receive: called with decoded bytes, part by part; false stops.
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

protocol DecodingStage: AnyObject {
    /// Whether the encoded data have ended.
    var isComplete: Bool { get }

    /// False if the bytes are not in the encoding. `receive` returns false to stop.
    func decode(_ piece: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Bool) -> Bool
}
