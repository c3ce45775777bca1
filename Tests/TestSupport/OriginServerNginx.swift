import Concurrency
import Foundation
import Glibc

/// The real nginx on a port of its own, serving a directory; ends with its last reference.
///
/// nginx inherits a socket that listens already (its upgrade protocol, the variable NGINX), so that there is no
/// moment to wait for and no port to lose to another process. (Without a master process nginx 1.22 crashes on that.)
package final class NginxServer: Sendable {
    /// Where the system keeps it; nil when it is not installed.
    package static let program: String? = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].first {
        access($0, X_OK) == 0
    }

    /// What the files under `root` are served from.
    package let root: String
    package let port: UInt16
    /// The certificate of a TLS server, self-signed for 127.0.0.1 and localhost.
    package let certificate: String?
    private let directory: String
    private nonisolated(unsafe) var child: ChildProcess  // protected by: touched by init and deinit only

    /// Starts nginx. `locations` is configuration within its server block; `servers` gives, for the port, other
    /// configuration in the place of that block.
    ///
    /// - Throws: `OriginServerError` when nginx (or openssl, for TLS) is missing or does not start.
    package init(
        files: [String: [UInt8]] = [:], tls: Bool = false, locations: String = "",
        servers: ((UInt16) -> String)? = nil
    ) throws {
        guard let program = Self.program else { throw OriginServerError(message: "nginx is not installed") }
        var template = Array("\(NSTemporaryDirectory())/larder-nginx-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw OriginServerError(message: "mkdtemp: errno \(errno)") }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let root = directory + "/root"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        for (name, bytes) in files {
            guard FileManager.default.createFile(atPath: "\(root)/\(name)", contents: Data(bytes)) else {
                throw OriginServerError(message: "cannot write \(name)")
            }
        }
        let certificate = tls ? try Self.makeCertificate(directory) : nil
        let (listener, port) = try listeningSocket("127.0.0.1")
        defer { close(listener) }
        let server = """
            server {
              listen 127.0.0.1:\(port)\(tls ? " ssl http2" : "");
              \(tls ? "ssl_certificate \(directory)/cert.pem; ssl_certificate_key \(directory)/key.pem;" : "")
              root \(root);
              \(locations)
            }
            """
        let configuration = """
            \(geteuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 1; pid \(directory)/pid; error_log \(directory)/error.log;
            events { worker_connections 512; }
            http {
              access_log off; default_type application/octet-stream; keepalive_requests 100000;
              client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
              fastcgi_temp_path \(directory)/fastcgi; uwsgi_temp_path \(directory)/uwsgi;
              scgi_temp_path \(directory)/scgi;
              \(servers?(port) ?? server)
            }
            """
        try configuration.write(toFile: "\(directory)/nginx.conf", atomically: false, encoding: .utf8)
        child = try ChildProcess(
            program, ["-p", directory, "-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"],
            environment: ["NGINX=3;", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"], descriptors: [-1, -1, -1, listener],
            // nginx 1.22 that gets the signal before its master waits for signals never ends. Blocked, it stays pending
            // until then.
            blocked: [SIGTERM])
        self.root = root
        self.port = port
        self.certificate = certificate
        self.directory = directory
    }

    deinit {
        // Not by SIGKILL, which would leave the worker process behind.
        child.kill(SIGTERM)
        _ = child.wait()
        try? FileManager.default.removeItem(atPath: directory)
    }

    package func url(_ path: String) -> String { "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port)\(path)" }

    /// Makes `cert.pem` and `key.pem` in a directory, signed by itself, for 127.0.0.1 and localhost; the certificate's
    /// path.
    static func makeCertificate(_ directory: String) throws -> String {
        let certificate = "\(directory)/cert.pem"
        var openssl = try ChildProcess(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", "\(directory)/key.pem", "-out", certificate,
            ], descriptors: [-1, -1, -1])
        let status = openssl.wait()
        guard status == .exited(0) else { throw OriginServerError(message: "openssl made no certificate") }
        return certificate
    }
}
