import Glibc

/// The plain way to sleep: on a condition variable.
package final class ConditionParking: Parking, @unchecked Sendable {  // protected by: `mutex`
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var woken = false

    package init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func park() {
        pthread_mutex_lock(mutex)
        while !woken { pthread_cond_wait(condition, mutex) }
        woken = false
        pthread_mutex_unlock(mutex)
    }

    package func wake() {
        pthread_mutex_lock(mutex)
        woken = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }
}
