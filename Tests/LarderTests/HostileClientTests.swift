import HTTPServer
import TestSupport
import Testing

/// Clients of `serve` and of `work --listen` that never finish a request, or write one that can be read in two ways.
@Suite(.timeLimit(.minutes(5)))
struct HostileClientTests {
    /// What Python prints, with `ask`, the status of the answer to some bytes, and `connect`.
    private func python(_ script: String) async throws -> String {
        let address = try #require(ListenAddress("127.0.0.1:0"))
        let endpoint = try await HTTPEndpoint(address) { $1.send(HTTPAnswer(body: Array("here\n".utf8))) }
        let given = """
            import socket, sys
            def connect(first):
                client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
                client.sendall(first)
                return client
            def ask(request):
                with connect(request) as client:
                    answer = b""
                    try:
                        while more := client.recv(4096): answer += more
                    except ConnectionResetError: pass
                return answer.split(b" ")[1].decode() if answer else "closed"
            whole = b"GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n"

            """
        let outcome = try await RunningCommand(
            "/usr/bin/python3", ["-c", given + script, "\(endpoint.port)"], environment: [:]
        ).outcome()
        await endpoint.close()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        return outcome.text
    }

    @Test(arguments: [
        #"b"""#, #"b"GET / HTTP/1.1\r\nX: ""#, #"b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx""#,
    ])
    func `clients that do not finish a request leave room for others`(begun: String) async throws {
        let answers = try await python(
            """
            slow = [connect(\(begun)) for _ in range(200)]
            print(*[ask(whole) for _ in range(20)])
            """)
        #expect(answers == Array(repeating: "200", count: 20).joined(separator: " ") + "\n")
    }

    @Test(arguments: [
        #"Content-Length: 0\r\nContent-Length: 44"#, #"Content-Length: 4\r\nTransfer-Encoding: chunked"#,
        #"Transfer-Encoding : chunked"#,
    ])
    func `a request whose length can be read in two ways is refused`(headers: String) async throws {
        let answer = try await python(
            #"print(ask(b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\#(headers)\r\n\r\n0\r\n\r\n"))"#)
        #expect(answer == "400\n")
    }
}
