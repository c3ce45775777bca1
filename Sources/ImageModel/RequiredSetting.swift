/// A setting of a worker with the value that an image needs and the worker does not have.
///
/// A failure that has one says nothing about the URL: a worker with other settings may succeed.
package enum RequiredSetting: Sendable, Hashable, Codable {
    /// A range of addresses, in CIDR notation, that the policy refuses.
    case address(String)
    /// A bucket that is not open, as its URL.
    case bucket(String)
    /// A directory that is not open to `file:` URLs, as its absolute path.
    case path(String)
    /// A port that the policy refuses.
    case port(UInt16)
    /// Bytes of the body.
    case body(Int64)
    /// A format that is accepted on request only.
    case format(ImageFormat)
    /// Pixels of one frame.
    case framePixels(Int)
    /// The longer edge of the original.
    case inputEdge(Int)
    /// The longer edge of a variant.
    case outputEdge(Int)
    /// Frames of an animation.
    case frames(Int)
    /// Pixels of all frames.
    case animatedPixels(Int)
    /// Bytes of memory of a transcoder.
    case memory(Int)
    /// Seconds of processor time.
    case time(Int)

    /// An option of the command line and a value.
    package struct Option: Sendable, Hashable {
        /// Without the hyphens.
        package let name: String
        /// As a user types it, unquoted.
        package let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The options that give a worker the setting.
    package var options: [Option] {
        switch self {
        case .address(let range): [Option("allow-address", range)]
        case .bucket(let url): [Option("allow-bucket", url)]
        case .path(let path): [Option("allow-path", path)]
        case .port(let port): [Option("allow-port", "\(port)")]
        case .body(let bytes): [Option("max-body", "\(bytes)")]
        case .format(let format): [Option("allow-format", format.name)]
        case .framePixels(let count): [Option("max-pixels", "\(count)")]
        case .inputEdge(let length): [Option("max-edge", "\(length)")]
        case .outputEdge(let length): [Option("max-output-edge", "\(length)")]
        case .frames(let count): [Option("max-frames", "\(count)")]
        case .animatedPixels(let count): [Option("max-animated-pixels", "\(count)")]
        case .memory(let bytes): [Option("max-memory", "\((bytes + (1 << 20) - 1) >> 20)MiB")]
        case .time(let seconds):
            [
                Option("soft-time", "\(seconds)s"), Option("hard-time", "\(seconds)s"),
                Option("wall-time", "\(max(120, seconds * 4))s"),
            ]
        }
    }

    /// The same without a directory to copy: who names a file does not decide which directory is open.
    package var withoutDirectory: RequiredSetting {
        if case .path = self { .path("DIR") } else { self }
    }

    /// `; --allow-port 8000 --allow-address 127.0.0.0/8 accepts it`, to follow a message; empty without settings.
    package static func hint(_ settings: [RequiredSetting]) -> String {
        let options = settings.map(\.withoutDirectory).flatMap(\.options).map { "--\($0.name) \($0.value)" }
        return options.isEmpty ? "" : "; \(options.joined(separator: " ")) accepts it"
    }

    /// Whether the setting is one of the transcoder's, with a number that an image can have.
    package var isOfTranscoder: Bool {
        switch self {
        case .address, .bucket, .path, .port, .body: false
        case .format(let format): ImageFormat.acceptedOnRequest.contains(format)
        case .framePixels(let count), .inputEdge(let count), .outputEdge(let count), .frames(let count),
            .animatedPixels(let count), .memory(let count):
            (1...1 << 46).contains(count)
        case .time(let seconds): (1...86_400).contains(seconds)
        }
    }
}
