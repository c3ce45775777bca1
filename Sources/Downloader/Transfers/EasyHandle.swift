internal import CCurl
private import Glibc

/// One transfer's handle. Wraps `CURL`.
struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>

    /// Nil if out of memory.
    init?() {
        guard Self.isLibraryReady, let handle = curl_easy_init() else { return nil }
        pointer = handle
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        larder_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
    }

    deinit {
        curl_easy_cleanup(pointer)
        errorText.deallocate()
    }

    /// Initialises libcurl once per process.
    static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK

    func set(_ option: CURLoption, _ value: Int) { larder_curl_set_long(pointer, option, value) }

    func set(_ option: CURLoption, _ text: String) { larder_curl_set_text(pointer, option, text) }

    /// Pauses or continues reading the response of a transfer in a multi handle.
    func pause(_ pauses: Bool) { curl_easy_pause(pointer, pauses ? CURLPAUSE_RECV : CURLPAUSE_CONT) }

    func clear(_ option: CURLoption) { larder_curl_set_pointer(pointer, option, nil) }

    /// 0 if not available.
    func count(_ info: CURLINFO) -> Int { larder_curl_get_long(pointer, info) }

    /// Time since the transfer's start; zero if the event has not happened.
    func time(_ info: CURLINFO) -> Duration { .microseconds(max(0, larder_curl_get_offset(pointer, info))) }

    /// The first such header of the last response, bytes as sent.
    func header(_ name: String) -> [UInt8]? {
        var header: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(pointer, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let value = header?.pointee.value
        else { return nil }
        return UnsafeBufferPointer(start: value, count: strlen(value)).map { UInt8(bitPattern: $0) }
    }

    /// The last response's headers, escaped and bounded (`ResponseHead`).
    var headers: [HeaderField] {
        var fields: [HeaderField] = []
        var previous: UnsafeMutablePointer<curl_header>?
        while fields.count < 128, let next = curl_easy_nextheader(pointer, UInt32(CURLH_HEADER), -1, previous) {
            previous = next
            guard let name = next.pointee.name, let value = next.pointee.value else { continue }
            fields.append(HeaderField(Self.escaped(name, limit: 128), Self.escaped(value, limit: 2048)))
        }
        return fields
    }

    private static func escaped(_ text: UnsafeMutablePointer<CChar>, limit: Int) -> String {
        let bytes = UnsafeBufferPointer(start: text, count: strlen(text))
        return PercentEscape.printable(bytes.lazy.map { UInt8(bitPattern: $0) }, limit: limit)
    }

    func errorMessage(_ code: CURLcode) -> String {
        let text = errorText.pointee == 0 ? curl_easy_strerror(code) : UnsafePointer(errorText)
        return text.map { PercentEscape.printable(String(cString: $0).utf8, limit: 200) } ?? ""
    }

    func clearError() { errorText.pointee = 0 }
}

struct CurlList: ~Copyable {
    let pointer: UnsafeMutablePointer<curl_slist>

    /// Nil for an empty list, or if out of memory.
    init?(_ texts: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts {
            guard let longer = curl_slist_append(list, text) else {
                curl_slist_free_all(list)
                return nil
            }
            list = longer
        }
        guard let list else { return nil }
        pointer = list
    }

    deinit { curl_slist_free_all(pointer) }
}
