public import ImageModel

/// Which failures put a URL on the blocklist, where nobody says otherwise.
///
/// The rule of a library without a database; workers go by the rows of `retry_rule`, which say the same where both speak.
/// Source: SDWebImage 5.21.5, `SDWebImageDownloader.shouldBlockFailedURLWithURL:error:`.
public enum BlockRule {
    /// Bad URLs and bad pictures block, of the transport all but what may pass; other domains never do.
    public static func standard(_ failure: FailureReason) -> Bool {
        switch failure.domain {
        case "SDWebImageErrorDomain": failure.code == 1000 || failure.code == 1001
        case "NSURLErrorDomain": !passing.contains(failure.code)
        default: false
        }
    }

    /// Cancelled, timed out, host not found, no connection, connection lost, not connected, roaming off, data not allowed.
    private static let passing: Set<Int> = [-999, -1001, -1003, -1004, -1005, -1009, -1018, -1020]
}
