public import ImageModel
internal import Transcoder

/// One job as the image manager sees it: a URL and the variants wanted of it.
public struct LoadRequest: Sendable {
    /// The source, its bytes as submitted: they are its identity in keys and blocklist.
    public var url: String
    /// The variants, in the pipeline's order; none stores the original alone.
    public var variants: [Variant]
    /// What SDWebImage's option bits say; none by default.
    public var options: LoadOptions
    /// What SDWebImage's context says; nothing by default.
    public var context: LoadContext
    /// Told of the bytes that have arrived, and of how many there will be where that is known; must not block.
    public var progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?
    /// Instead of the manager's blocklist: a worker's list is the database's.
    package var blocklist: (any Blocklist)?
    /// Asked before anything is given a real name; a worker that lost its lease answers false.
    package var mayPublish: @Sendable () -> Bool

    /// A request for `url` and `variants`.
    public init(
        url: String, variants: [Variant] = [], options: LoadOptions = [], context: LoadContext = LoadContext()
    ) {
        self.url = url
        self.variants = variants
        self.options = options
        self.context = context
        mayPublish = { true }
    }
}
