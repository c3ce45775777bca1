internal import Concurrency
internal import Downloader
private import Glibc
public import ImageModel
package import Transcoder

/// A picture of what has arrived of an original, which a load with `LoadOptions.progressiveLoad` delivers before its
/// result. It is stored nowhere.
public struct PartialImage: Sendable, Hashable {
    /// Its number in the load, from 1.
    public let number: Int
    /// The bytes of the original that had arrived.
    public let received: Int
    /// The format of `bytes`.
    public let format: ImageFormat
    /// The size in pixels.
    public let width, height: Int
    /// The image file.
    public let bytes: [UInt8]
}

/// When the next partial image of a load is to be made. A pure value.
struct PartialPace {
    /// The most images of a load, including those that could not be made.
    static let limit = 100

    private let interval: Duration
    /// The time until the next look at the file.
    private(set) var wait: Duration
    private var count = 0, received = 0

    /// - Parameter interval: the least time between two images.
    init(interval: Duration) { (self.interval, wait) = (interval, interval) }

    var isOver: Bool { count >= Self.limit }

    /// Whether an image is to be made of a body of this length; not twice of the same.
    mutating func accepts(_ received: Int) -> Bool {
        guard !isOver, received > 0, received != self.received else { return false }
        (self.received, count) = (received, count + 1)
        return true
    }

    /// The next image waits four times as long as this one took, and a slow load has fewer towards its end.
    mutating func took(_ time: Duration, after elapsed: Duration) { wait = max(interval, time * 4, elapsed / 16) }
}

/// Makes the partial images of one load from the file that its body is written to.
///
/// Each is a request to a transcoder under the limits of every image. An image that cannot be made is left out.
/// Source: SDWebImage 5.21.5, `SDImageLoaderDecodeProgressiveImageData`.
package struct PartialImages: Sendable {
    /// The least bytes that are written to the file at once.
    package static let pieceBytes = 1 << 10

    private let transcoders: any Transcoding
    private let variant: Variant?
    private let deliver: @Sendable (PartialImage) -> Void
    private let interval: Duration
    var scale = 1.0
    var scaleDownBytes: Int?
    /// Animations show their first frame, unless they are kept as objects.
    var drawing: TranscodeRequest.Options = .firstFrameOnly

    /// - Parameters:
    ///   - variant: what is drawn; nil for the whole image.
    ///   - interval: the least time between two images.
    package init(
        _ variant: Variant?, by transcoders: any Transcoding, every interval: Duration = .milliseconds(150),
        _ deliver: @escaping @Sendable (PartialImage) -> Void
    ) {
        (self.variant, self.transcoders, self.interval, self.deliver) = (variant, transcoders, interval, deliver)
    }

    /// Delivers images of `file` until `load`, which writes it, has returned.
    package func during<Value, Failure: Error>(
        _ file: Int32, _ load: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let ended = AsyncEvent()
        async let images: Void = run(file, until: ended)
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try await load()) } catch { result = .failure(error) }
        ended.signal()
        // The last image is not interrupted, which would end its transcoder.
        await images
        return try result.get()
    }

    private func run(_ file: Int32, until ended: AsyncEvent) async {
        let start = ContinuousClock.now
        var pace = PartialPace(interval: interval), number = 0, last: String?
        while !pace.isOver {
            if await ended.wait(atMost: pace.wait) || Task.isCancelled { return }
            let received = Self.length(of: file), began = ContinuousClock.now
            guard pace.accepts(received) else { continue }
            do throws(TranscodeError) {
                let (made, bytes) = try await image(of: file), digest = SHA256Digest.hex(of: bytes)
                if digest != last {
                    number += 1
                    last = digest
                    deliver(
                        PartialImage(
                            number: number, received: received, format: made.format, width: made.width,
                            height: made.height, bytes: bytes))
                }
            } catch {
                // Only too few bytes are worth another attempt.
                guard error.code == .undecodable else { return }
            }
            pace.took(.now - began, after: .now - start)
        }
    }

    private func image(of source: Int32) async throws(TranscodeError) -> (TranscodedVariant, [UInt8]) {
        let variant = try drawn(), output = try Self.output(), target = output.descriptor
        let report = try await transcoders.transcode(failure: { $0 }) { () throws(TranscodeError) in
            var request = TranscodeRequest(
                source: source, variants: [variant], outputs: [target], scale: scale, options: drawing)
            request.scaleDownBytes = scaleDownBytes
            request.isPartial = true
            request.wantsDigest = false
            return request
        }
        let made = try report.variants[0].get()
        return (made, output.prefix(made.bytes))
    }

    private func drawn() throws(TranscodeError) -> Variant {
        if let variant { return variant }
        do throws(VariantError) { return try Variant(json: #"{"name":"partial"}"#.utf8) } catch {
            throw TranscodeError(.transform, error.message)
        }
    }

    private static func output() throws(TranscodeError) -> MemoryFile {
        do throws(FetchError) { return try MemoryFile(name: "a partial image") } catch {
            throw TranscodeError(.localFault, error.message)
        }
    }

    private static func length(of file: Int32) -> Int {
        var status = stat()
        return fstat(file, &status) == 0 ? Int(status.st_size) : 0
    }
}

extension LoadPlan {
    /// Nil unless the load wants partial images. Encrypted bytes and the images of own coders have none.
    func partialImages(by transcoders: any Transcoding, every interval: Duration) -> PartialImages? {
        guard let deliver = request.partial, request.options.contains(.progressiveLoad), decryptor == nil, coder == nil
        else { return nil }
        let variant = request.context.result ?? request.variants.first
        var images = PartialImages(variant, by: transcoders, every: interval, deliver)
        images.scale = scale
        images.scaleDownBytes = scaleDownLimit
        images.drawing = drawing.contains(.keepsAnimation) ? drawing : drawing.union(.firstFrameOnly)
        return images
    }
}
