import Concurrency
import Glibc
import Terminal

/// A proxy that forwards connections to one place, and breaks them on request. One thread, at most 1,000 connections.
final class FaultProxy: Sendable {
    enum Mode: Sendable, Equatable {
        case forwarding
        /// Ends open connections and every new one.
        case dropping
        /// Forwards each portion of bytes after this time.
        case delaying(Duration)
        /// Accepts connections and bytes, forwards nothing, and ends these connections when the mode changes.
        case halfOpen
    }

    let place: SocketPlace
    private let mode = Locked((mode: Mode.forwarding, isStopped: false))
    private let thread = ThreadPool(name: "fault-proxy", threads: 1)
    /// Write end of a pipe that the thread polls.
    private let wake: Int32

    init(listening: SocketPlace, to target: SocketPlace) throws {
        let (listener, place) = try listening.listen()
        self.place = place
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CommandError.file("make", "a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        wake = ends[1]
        let loop = Loop(listener: listener, wake: ends[0], target: target, mode: mode)
        thread.submit { loop.run() }
    }

    deinit {
        mode.withLock { $0.isStopped = true }
        close(wake)
    }

    func set(_ new: Mode) {
        mode.withLock { $0.mode = new }
        signal()
    }

    func stop() {
        mode.withLock { $0.isStopped = true }
        signal()
    }

    /// The pipe holds more bytes than a run has changes.
    private func signal() { _ = write(wake, [1], 1) }

    /// The thread's state.
    ///
    /// Protected by the thread of the pool, which alone calls it.
    private final class Loop: @unchecked Sendable {
        private let listener: Int32
        private let wake: Int32
        private let target: SocketPlace
        private let shared: Locked<(mode: Mode, isStopped: Bool)>
        private var connections: [ForwardedConnection] = []
        private var mode = Mode.forwarding

        init(listener: Int32, wake: Int32, target: SocketPlace, mode: Locked<(mode: Mode, isStopped: Bool)>) {
            self.listener = listener
            self.wake = wake
            self.target = target
            shared = mode
        }

        func run() {
            defer {
                connections.removeAll()
                close(listener)
                close(wake)
            }
            while true {
                let (wanted, isStopped) = shared.withLock { ($0.mode, $0.isStopped) }
                if isStopped { return }
                if wanted != mode { change(to: wanted) }
                turn()
            }
        }

        private func change(to new: Mode) {
            if mode == .halfOpen || new == .dropping { connections.removeAll() }
            mode = new
        }

        /// Waits for events and handles them.
        private func turn() {
            var descriptors = [
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            let now = ContinuousClock.now
            for connection in connections {
                descriptors += connection.interest(now, isMuted: mode == .halfOpen)
            }
            let due = connections.compactMap(\.due).min()
            let wait = due.map { max(1, Int32(($0 - now) / .milliseconds(1)) + 1) } ?? -1
            guard poll(&descriptors, nfds_t(descriptors.count), wait) >= 0 else { return }
            var byte: UInt8 = 0
            if descriptors[0].revents != 0 { _ = read(wake, &byte, 1) }
            let later: Duration = if case .delaying(let time) = mode { time } else { .zero }
            for (index, connection) in connections.enumerated() {
                let events = (descriptors[2 + index * 2].revents, descriptors[3 + index * 2].revents)
                connection.handle(events, isMuted: mode == .halfOpen, delay: later)
            }
            connections.removeAll { $0.hasEnded }
            if descriptors[1].revents != 0 { accept() }
        }

        private func accept() {
            while true {
                guard let client = SocketPlace.accept(listener) else { return }
                guard mode != .dropping, connections.count < 1_000, let server = target.connect() else {
                    close(client)
                    continue
                }
                connections.append(ForwardedConnection(client: client, server: server))
            }
        }
    }
}
