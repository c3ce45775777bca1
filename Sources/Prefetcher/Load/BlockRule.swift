public import ImageModel

/// Which failures put a URL on the blocklist of a program without a database, unless its delegate decides.
///
/// Workers follow the rows of `retry_rule`, which differ in that an invalid URL (1000) does not block and a limit does.
/// Source: SDWebImage 5.21.5, `SDWebImageDownloader.shouldBlockFailedURLWithURL:error:`.
public enum BlockRule {
    /// Whether the failure blocks: an invalid URL, a bad image, and every transport error that is not transient.
    public static func standard(_ failure: FailureReason) -> Bool {
        switch (failure.domain, failure.code) {
        case ("SDWebImageErrorDomain", 1000): true
        case ("LarderErrorDomain", _): false
        default: FailureClassification.of(domain: failure.domain, code: failure.code).blocks
        }
    }
}
