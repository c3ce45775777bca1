/// A worker setting with the value that an image needs.
///
/// A failure with such a setting says nothing about the URL: a worker with other settings may succeed.
package enum RequiredSetting: Sendable, Hashable, Codable {
    /// A refused address range in CIDR notation.
    case address(String)
    /// The URL of a bucket that is not open.
    case bucket(String)
    /// The absolute path of a directory that is not open to `file:` URLs.
    case path(String)
    case port(UInt16)
    /// Body bytes.
    case body(Int64)
    /// A format accepted only on request.
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
    /// A transcoder's memory in bytes.
    case memory(Int)
    /// Seconds of processor time.
    case time(Int)

    /// A command line option with a value.
    package struct Option: Sendable, Hashable {
        /// Without hyphens.
        package let name: String
        /// As typed by a user, unquoted.
        package let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The options that set it.
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

    /// Without a directory to copy: who names a file must not decide which directories are open.
    package var withoutDirectory: RequiredSetting {
        if case .path = self { .path("DIR") } else { self }
    }

    /// The end of a message, `; --allow-port 8000 --allow-address 127.0.0.0/8 accepts it`; empty without settings.
    package static func hint(_ settings: [RequiredSetting]) -> String {
        let options = settings.map(\.withoutDirectory).flatMap(\.options).map { "--\($0.name) \($0.value)" }
        return options.isEmpty ? "" : "; \(options.joined(separator: " ")) accepts it"
    }

    /// Whether it is a transcoder setting with a number that an image can have.
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
