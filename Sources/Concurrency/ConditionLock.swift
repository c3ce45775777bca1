import Glibc

/// A value under a lock, with a condition on which threads wait. Waiting blocks the thread.
///
/// Protected by `mutex`, which is held during every access of `value`.
package final class ConditionLock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A wait's time limit must not depend on the time of day.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value and wakes one waiting thread, or all.
    package func change(wakingAll: Bool = false, _ body: (inout Value) -> Void) {
        pthread_mutex_lock(mutex)
        body(&value)
        if wakingAll { pthread_cond_broadcast(condition) } else { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
    }

    /// Calls `body` now and after each change until it returns a value.
    package func wait<Answer>(for body: (inout Value) -> sending Answer?) -> sending Answer {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let answer = body(&value) { return answer }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// As `wait(for:)`, but returns nil after `limit`.
    package func wait<Answer>(
        atMost limit: Duration, for body: (inout Value) -> sending Answer?
    ) -> sending Answer? {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + Int(limit.components.attoseconds / 1_000_000_000)
        end.tv_sec += Int(limit.components.seconds) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let answer = body(&value) { return answer }
            if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { return body(&value) }
        }
    }
}
