/// The plain way to sleep: until somebody wakes it.
package final class ConditionWait: Parking {
    private let woken = ConditionLock(false)

    package init() {}

    package func park() {
        woken.wait { woken -> Void? in
            guard woken else { return nil }
            woken = false
            return ()
        }
    }

    package func wake() { woken.change { $0 = true } }
}
