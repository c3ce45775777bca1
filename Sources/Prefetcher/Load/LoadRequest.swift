public import Transcoder

/// One job as the image manager sees it: a URL and the variants wanted of it.
public struct LoadRequest: Sendable {
    /// The source, its bytes as submitted: they are its identity in keys and blocklist.
    public var url: String
    /// The variants, in the pipeline's order; none stores the original alone.
    public var variants: [Variant]
    /// SDWebImage's option bits, 0 by default (SDWebImage 5.21.5, SDWebImageOptions).
    public var options: UInt64
    /// Asked before anything is given a real name; a worker that lost its lease answers false.
    package var mayPublish: @Sendable () -> Bool

    /// A request for `url` and `variants`.
    public init(url: String, variants: [Variant] = [], options: UInt64 = 0) {
        self.url = url
        self.variants = variants
        self.options = options
        mayPublish = { true }
    }
}
