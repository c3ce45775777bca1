internal import CCurl

/// The handle that runs many transfers and keeps their connections. The corresponding C type is `CURLM`.
///
/// Used on the network thread, except for `wake`, which libcurl allows on any thread.
struct MultiHandle: ~Copyable, @unchecked Sendable {  // protected by: one thread
    private let pointer: UnsafeMutableRawPointer

    /// A handle that keeps at most `connections` open, `perHost` to one host and port.
    init?(connections: Int, perHost: Int) {
        guard EasyHandle.isLibraryReady, let handle = curl_multi_init() else { return nil }
        pointer = handle
        larder_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, 2 * connections)
        larder_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        larder_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, perHost)
        larder_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        larder_curl_multi_set_long(handle, CURLMOPT_MAX_CONCURRENT_STREAMS, 32)
    }

    deinit { curl_multi_cleanup(pointer) }

    func add(_ easy: borrowing EasyHandle) -> Bool { curl_multi_add_handle(pointer, easy.pointer) == CURLM_OK }

    /// Removes a transfer; none of its callbacks runs afterwards.
    func remove(_ easy: borrowing EasyHandle) { curl_multi_remove_handle(pointer, easy.pointer) }

    /// Sleeps until a socket or a timer is due, the time is over, or `wake` is called, before or during the sleep.
    func poll(milliseconds: Int32) { curl_multi_poll(pointer, nil, 0, milliseconds, nil) }

    func wake() { curl_multi_wakeup(pointer) }

    /// Runs what is due in all transfers.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(pointer, &running)
    }

    /// The next transfer that has ended.
    func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }
}
