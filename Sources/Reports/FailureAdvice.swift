import ImageModel
import Terminal

/// A failure's meaning and remedy. docs/errors.md describes the queue's reaction.
package struct FailureAdvice {
    /// A short heading without a full stop.
    package let meaning: String
    /// What an operator can do; `BATCH` stands for the batch.
    package let action: String
    /// Its domain and code.
    private var error = ""

    /// A retry makes jobs ready; a worker must run them.
    private static let retry = "larder retry BATCH && larder work --drain"

    private init(_ meaning: String, _ action: String) {
        self.meaning = meaning
        self.action = action
    }

    /// - Parameter status: the HTTP status, for error 2001.
    package init(domain: String, code: Int, status: Int?) {
        self =
            switch domain {
            case FailureCode.Domain.webImage: Self.webImage(code, status)
            case FailureCode.Domain.transport: Self.transport(code)
            case FailureCode.Domain.larder: Self.larder(code)
            default: FailureAdvice("\(domain) \(code)", "The message below says more.")
            }
        error = "\(domain) \(code)"
    }

    /// A failure's meaning; with `-v` also `(SDWebImageErrorDomain 2001)`.
    package static func text(domain: String, code: Int, status: Int? = nil) -> String {
        let meaning = FailureAdvice(domain: domain, code: code, status: status).meaning
        return Console.showsCodes ? "\(meaning) (\(domain) \(code))" : meaning
    }

    /// What to do about the failures of a batch.
    ///
    /// - Parameter batch: the name or number; nil for failures of several batches.
    package func action(for batch: String?) -> String {
        action.replacing("BATCH", with: batch.map(ShellWord.quoted) ?? "--error '\(error)'")
    }

    private static func webImage(_ code: Int, _ status: Int?) -> FailureAdvice {
        switch code {
        case 1000:
            FailureAdvice(
                "The URL is empty or malformed",
                "Correct it in the list. larder enqueue --dry-run --from FILE reports such lines with their numbers.")
        case 1001:
            FailureAdvice(
                "The response is not an image that is accepted",
                "Open one of the URLs: the body may be an HTML page, cut short or damaged. "
                    + "--allow-format accepts further formats.")
        case 1003:
            FailureAdvice(
                "The URL is blocked",
                "larder blocklist list shows why and until when. larder blocklist remove URL ends a block; "
                    + "--options RetryFailed ignores it.")
        case 2001: httpStatus(status)
        case 2002: FailureAdvice("Cancelled", "Enqueue the URLs again if the images are wanted.")
        case 2003, 2004:
            FailureAdvice("The response was refused", "Compare its headers with what the pipeline's context accepts.")
        default: FailureAdvice("SDWebImage error \(code)", "The message below says more.")
        }
    }

    private static func httpStatus(_ status: Int?) -> FailureAdvice {
        guard let status else { return FailureAdvice("The origin answered with an error", "Open one of the URLs.") }
        let meaning = "The origin answered with HTTP status \(status)"
        switch status {
        case 404, 410: return FailureAdvice(meaning, "The image is not there: remove the URL from the list.")
        case 401, 403, 407:
            return FailureAdvice(
                meaning, "Give the workers a credential profile for this origin, or correct the signed URLs.")
        case 408, 425, 429, 500...:
            return FailureAdvice(
                meaning,
                "All attempts failed. When the origin has recovered: \(retry). larder queue set reduces the rate.")
        default: return FailureAdvice(meaning, "Open one of the URLs.")
        }
    }

    private static func transport(_ code: Int) -> FailureAdvice {
        switch code {
        case -1001:
            FailureAdvice("No response in time", "Check whether the origin responds, then \(retry).")
        case -1002: FailureAdvice("The scheme is not supported", "Correct the URLs in the list.")
        case -1003:
            FailureAdvice("The host name was not found", "Check the spelling of the host, then the name servers.")
        case -1004, -1005:
            FailureAdvice(
                code == -1004 ? "No connection to the origin" : "The connection was lost, or the body was cut short",
                "Check whether the origin responds, then \(retry).")
        case -1007: FailureAdvice("Too many redirects", "Put the final URLs in the list.")
        case -1100: FailureAdvice("The file does not exist", "Check the path, and the directory that the worker sees.")
        case -1101: FailureAdvice("It is no regular file", "Correct the URLs in the list.")
        case -1102: FailureAdvice("The worker may not read the file", "Give the worker's user permission.")
        case -1200: FailureAdvice("The TLS handshake failed", "Check the protocol versions that the origin accepts.")
        case -1202:
            FailureAdvice(
                "The certificate of the origin is not trusted",
                "Renew it, or give the workers its certificate authority in a credential profile.")
        default: FailureAdvice("The transfer failed", "The message below says more.")
        }
    }

    private static func larder(_ code: Int) -> FailureAdvice {
        switch code {
        case 101:
            FailureAdvice(
                "The address is private or local, or the bucket or the directory is not open",
                "For a worker --allow-address CIDR opens a range, --allow-bucket URL a bucket, --allow-path DIR files.")
        case 102: FailureAdvice("The port is not allowed", "--allow-port N opens a port for a worker.")
        case 103: FailureAdvice("A redirect leads from https to http", "Put the final URLs in the list.")
        case 104: FailureAdvice("robots.txt or X-Robots-Tag forbids it", "Ask the owner of the origin.")
        case 105: FailureAdvice("The job's context is invalid", "Correct the context in the producer.")
        case 106:
            FailureAdvice("The origin is held", "larder status --origins shows why; larder resume --origin ends it.")
        case 107:
            FailureAdvice(
                "The pipeline's JSON is wrong",
                "Correct it with larder pipeline set, then enqueue the URLs again: a retry keeps the wrong version.")
        case 201: FailureAdvice("The body is too large", "--max-body raises the limit.")
        case 202, 203: FailureAdvice("The image has too many pixels", "--max-pixels and --max-edge raise the limits.")
        case 204: FailureAdvice("The animation has too many frames", "--max-frames raises the limit.")
        case 205: FailureAdvice("The image takes too much memory", "--max-memory raises the limit.")
        case 206: FailureAdvice("The image takes too much processor time", "--hard-time raises the limit.")
        case 301: FailureAdvice("The transcoder ended", "\(retry); larder doctor tests the transcoders.")
        case 302:
            FailureAdvice("The image ends every transcoder", "Keep the file for a bug report, then remove the URL.")
        case 401, 402:
            FailureAdvice("A variant could not be made", "The original is stored. Compare the variant with the image.")
        case 403: FailureAdvice("A file could not be stored", "Check the space and the permissions of the cache.")
        case 404: FailureAdvice("The file name belongs to another image", "Add {sha256} or {host} to the template.")
        case 501: FailureAdvice("A worker had a fault of its own", "larder status --health names it.")
        default: FailureAdvice("Larder error \(code)", "The message below says more.")
        }
    }
}
