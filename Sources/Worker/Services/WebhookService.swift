internal import Concurrency
package import Downloader
private import FoundationEssentials
private import ImageModel
package import JobQueue

/// Posts the webhooks of finished batches, signed as Standard Webhooks 1.0 defines.
///
/// Sends `webhook-id`, `webhook-timestamp` and `webhook-signature`: `v1,` and the base64 HMAC-SHA256 of
/// `id.timestamp.body`.
package struct WebhookService: WorkerService {
    /// Applies the worker's address policy.
    let downloader: ImageDownloader
    let key: [UInt8]
    let queue: PostgresJobQueue
    private let due: MaintenanceSignal.Subscription
    let observe: @Sendable (WorkerEvent) -> Void

    /// - Parameter observe: called for each attempt and each database error.
    package init(
        downloader: ImageDownloader, key: [UInt8], queue: PostgresJobQueue,
        signal: MaintenanceSignal = MaintenanceSignal(), observe: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.downloader = downloader
        self.key = key
        self.queue = queue
        due = signal.subscribe()
        self.observe = observe
    }

    /// Posts webhooks when maintenance is due, and every 5 s while no heartbeat is answered.
    package func run() async {
        while !Task.isCancelled {
            await sendDue()
            await due.wait(atLeast: .seconds(1), atMost: .seconds(5))
        }
    }

    /// Posts the due webhooks one after another.
    package func sendDue() async {
        do throws(QueueError) {
            while !Task.isCancelled, let webhook = try await queue.workers.takeWebhook() {
                try await send(webhook)
            }
        } catch {
            observe(.queueUnavailable(error))
        }
    }

    private func send(_ webhook: DueWebhook) async throws(QueueError) {
        var status: Int?
        var failure: FetchError?
        do throws(FetchError) {
            status = try await downloader.post(
                Array(webhook.payload.utf8), to: webhook.url, headers: try Self.headers(of: webhook, key: key))
        } catch {
            // Cancelled with the worker: another worker posts it in a minute.
            if error.code == .cancelled { return }
            status = error.httpStatus
            failure = error
        }
        try await queue.workers.finish(webhook, status: status, error: failure?.description)
        observe(.webhook(batch: webhook.batch, error: failure))
    }

    /// The headers of an attempt.
    static func headers(of webhook: DueWebhook, key: [UInt8]) throws(FetchError) -> [HeaderField] {
        let signed = "\(webhook.id).\(webhook.sentAt).\(webhook.payload)"
        guard let code = HMACSHA256.code(of: Array(signed.utf8), key: key) else {
            throw FetchError(.localFault, "no memory to sign a webhook")
        }
        return [
            HeaderField("Content-Type", "application/json"), HeaderField("Accept", "*/*"),
            HeaderField("webhook-id", webhook.id), HeaderField("webhook-timestamp", "\(webhook.sentAt)"),
            HeaderField("webhook-signature", "v1,\(Data(code).base64EncodedString())"),
        ]
    }
}
