internal import Concurrency
internal import Downloader
internal import JobQueue

/// What runs beside the claim loop and ends with it.
extension WorkerRegistration {
    /// Beats, extends the lease by each answer, and passes on what was cancelled.
    func sendHeartbeats() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.heartbeat)
            if Task.isCancelled { return }
            let asked = lease.now
            do throws(QueueError) {
                let reply = try await session.heartbeat()
                if reply.leaseWasLost {
                    lease.lose()
                    stop.doorbell.signal()
                    return
                }
                lease.confirm(askedAt: asked, seconds: reply.lease.seconds)
                running.cancel(reply.cancelled)
            } catch {
                if error.code == .workerLost { lease.lose() }
                worker.observe(.queueUnavailable(error))
            }
        }
    }

    /// Does the queue's maintenance that is due: any worker may, and who comes first does.
    func runMaintenance() async { await everySecond { () throws(QueueError) in try await worker.queue.maintain() } }

    /// Does what others wait for, a dead worker's jobs above all, and is never behind the rest.
    func runUrgentMaintenance() async {
        await everySecond { () throws(QueueError) in try await worker.queue.maintainUrgent() }
    }

    private func everySecond(_ maintenance: () async throws(QueueError) -> Int) async {
        while !Task.isCancelled {
            do throws(QueueError) {
                // A full portion: more of the same is due.
                if try await maintenance() >= PostgresJobQueue.maintenancePortion { continue }
            } catch {
                worker.observe(.queueUnavailable(error))
            }
            try? await Task.sleep(for: Self.maintenance)
        }
    }

    /// Tells the other workers at once what was found of origins here, and hears every second what they found.
    func keepOrigins() async {
        guard let origins = worker.configuration.origins else { return }
        var rulesAsked: ContinuousClock.Instant?
        while !Task.isCancelled {
            let changes = origins.withLimits { $0.takeChanges() }
            do throws(QueueError) {
                try await worker.queue.report(origins.reports(changes))
                let known = try await worker.queue.originHolds().compactMap { SharedOrigin($0) }
                origins.withLimits {
                    $0.shared(changes)
                    $0.learn(known)
                }
            } catch {
                origins.withLimits { $0.putBack(changes) }
                worker.observe(.queueUnavailable(error))
                try? await Task.sleep(for: Self.manners)
            }
            if rulesAsked.map({ .now - $0 >= Self.rules }) ?? true, await learnFaults(origins) { rulesAsked = .now }
            await origins.changed.wait(atMost: Self.manners)
        }
    }

    /// Hears what counts against an origin; false when it could not, and the rules stay as they are.
    private func learnFaults(_ origins: OriginLimiter) async -> Bool {
        do throws(QueueError) {
            let faults = OriginFaults(try await worker.queue.originFaults())
            origins.withLimits { $0.faults = faults }
            return true
        } catch {
            worker.observe(.queueUnavailable(error))
            return false
        }
    }

    /// Vacuums and detaches where the login may; any worker may, and who comes first does.
    func runHousekeeping() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                try await worker.queue.runHousekeeping()
            } catch {
                worker.observe(.queueUnavailable(error))
            }
            try? await Task.sleep(for: Self.housekeeping)
        }
    }
}
