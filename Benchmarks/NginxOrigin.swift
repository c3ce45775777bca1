import Concurrency
import Foundation
import Glibc
import Measuring

/// An nginx that serves the same files over HTTP/1.1 and, with TLS, over HTTP/2. It ends with its last reference.
///
/// It inherits listening sockets (nginx's upgrade protocol, the variable NGINX), so that it is ready at once and no
/// other process can take the ports.
final class NginxOrigin: Sendable {
    let root: String
    /// Self-signed.
    let certificate: String
    /// HTTP/1.1 without TLS, HTTP/2 with TLS.
    let ports: (plain: UInt16, tls: UInt16)
    private nonisolated(unsafe) var child: ChildProcess  // protector: used by init and deinit only

    /// Starts nginx in `directory`. `rate` limits each connection under `/slow/`, in bytes per second.
    ///
    /// - Throws: `MeasuringError` when nginx or openssl is missing.
    init(in directory: String, rate: Int) throws {
        let places = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"]
        guard let program = places.first(where: FileManager.default.isExecutableFile) else {
            throw MeasuringError("nginx is missing; it serves the downloads")
        }
        root = directory + "/root"
        certificate = directory + "/cert.pem"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        _ = try Shell.output(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
              -addext 'subjectAltName=IP:127.0.0.1' -keyout '\(directory)/key.pem' -out '\(certificate)' 2>/dev/null
            """)
        let (plain, tls) = (try Self.listen(), try Self.listen())
        defer { for listener in [plain, tls] { close(listener.descriptor) } }
        ports = (plain.port, tls.port)
        let configuration = """
            \(geteuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 1; pid \(directory)/pid; error_log \(directory)/error.log;
            events { worker_connections 1024; }
            http {
              access_log off; default_type application/octet-stream; keepalive_requests 1000000; sendfile on; tcp_nopush on;
              client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
              fastcgi_temp_path \(directory)/fastcgi; uwsgi_temp_path \(directory)/uwsgi; scgi_temp_path \(directory)/scgi;
              server {
                listen 127.0.0.1:\(ports.plain); listen 127.0.0.1:\(ports.tls) ssl http2;
                ssl_certificate \(certificate); ssl_certificate_key \(directory)/key.pem;
                root \(root);
                location /slow/ { alias \(root)/; limit_rate \(rate); }
              }
            }
            """
        try configuration.write(toFile: "\(directory)/nginx.conf", atomically: false, encoding: .utf8)
        child = try ChildProcess(
            program, ["-p", directory, "-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"],
            environment: ["NGINX=3;4;", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
            descriptors: [-1, -1, -1, plain.descriptor, tls.descriptor])
    }

    deinit {
        // SIGKILL would leave nginx's worker process running.
        child.kill(SIGTERM)
        _ = child.wait()
    }

    private static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(descriptor, raw, length) == 0 && Glibc.listen(descriptor, 1024) == 0
                    && getsockname(descriptor, raw, &length) == 0
            }
        }
        guard isListening else { throw MeasuringError("cannot listen on 127.0.0.1: errno \(errno)") }
        return (descriptor, UInt16(bigEndian: name.sin_port))
    }
}
