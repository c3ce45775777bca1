import JobQueue
import Terminal

/// A schedule as a line of text.
enum ScheduleLine {
    static func text(_ schedule: Schedule) -> String {
        var parts = ["\(schedule.cron) \(schedule.timeZone)"]
        parts.append(schedule.urls.map { $0.counted("URL") } ?? "query")
        if schedule.isPaused {
            parts.append("paused")
        } else if let batch = schedule.waitingFor {
            parts.append(
                "due since \(schedule.nextAt ?? "") and waits, \(schedule.lastError ?? ""): 'larder status \(batch)' "
                    + "shows it, 'larder cancel \(batch)' ends it")
        } else {
            parts.append(schedule.nextAt.map { "next at \($0)" } ?? "no next time yet")
        }
        if let at = schedule.lastAt {
            let result =
                (schedule.waitingFor == nil ? schedule.lastError : nil)
                ?? "\(Int(schedule.lastURLs ?? 0).counted("URL")) in batch \(schedule.lastBatch ?? 0)"
            parts.append("last at \(at): \(result)")
        }
        if schedule.missed > 0 { parts.append("\(Int(schedule.missed).counted("run")) missed") }
        return PrintableText.text("\(schedule.name): " + parts.joined(separator: ", "))
    }
}
