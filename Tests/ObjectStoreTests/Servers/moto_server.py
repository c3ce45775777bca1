#!/usr/bin/python3
"""moto's S3 with faults on demand; prints its port and ends with its parent process.

Usage: moto_server.py [ADDRESS PORT]   default: a free port of loopback

POST /larder/faults/BUCKET  a JSON list: one fault for each of the next requests to the bucket, null for none
GET  /larder/requests/BUCKET  the requests so far, one "METHOD path?query" a line
"""
import json
import os
import socket
import struct
import sys
import threading
import time

from moto.server import create_backend_app
from werkzeug.serving import make_server, WSGIRequestHandler

FAULTS = {
    "slow down": (503, "SlowDown"), "internal": (500, "InternalError"), "skew": (403, "RequestTimeTooSkewed"),
    "denied": (403, "AccessDenied"), "bad digest": (400, "XAmzContentSHA256Mismatch"),
    "not implemented": (501, "NotImplemented"), "bad gateway": (502, None), "expired": (400, "ExpiredToken"),
    "precondition failed": (412, "PreconditionFailed"), "late error": (200, "InternalError"),
}


class Faults:
    def __init__(self, app):
        self.app = app
        self.lock = threading.Lock()
        self.waiting = {}
        self.seen = {}

    def __call__(self, environ, start_response):
        parts = environ["PATH_INFO"].split("/")
        if parts[1] == "larder":
            return self.control(parts[2], parts[3], environ, start_response)
        query = environ.get("QUERY_STRING", "")
        line = environ["REQUEST_METHOD"] + " " + environ["PATH_INFO"] + ("?" + query if query else "")
        with self.lock:
            self.seen.setdefault(parts[1], []).append(line)
            queue = self.waiting.get(parts[1], [])
            fault = queue.pop(0) if queue else None
        if fault in FAULTS:
            self.drain(environ)
            status, code = FAULTS[fault]
            body = f"<Error><Code>{code}</Code><Message>scripted</Message></Error>".encode() if code else b""
            start_response(f"{status} Scripted", [("Content-Length", str(len(body)))])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
        if fault == "reset":
            self.reset(environ)
        if fault == "reset upload":
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0) // 2)
            self.reset(environ)
        if fault == "trickle":
            return self.trickle(environ, start_response)
        if fault == "lost answer":
            list(self.app(environ, lambda *arguments: None))
            self.reset(environ)
        if fault == "cut answer":
            return self.cut(environ)
        if fault and fault.startswith("slow "):
            time.sleep(float(fault[5:]))
        return self.app(environ, start_response)

    def control(self, verb, bucket, environ, start_response):
        with self.lock:
            if verb == "faults":
                self.waiting[bucket] = json.loads(self.drain(environ))
            body = "\n".join(self.seen.get(bucket, [])).encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    @staticmethod
    def drain(environ):
        return environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))

    @staticmethod
    def reset(environ):
        """Raises what ends the handler, which then closes the socket: its reader holds the descriptor until then."""
        connection = environ["werkzeug.socket"]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        raise ConnectionError("scripted")

    def trickle(self, environ, start_response):
        """The response in ten pieces with pauses."""
        body = b"".join(self.app(environ, start_response))
        for start in range(0, len(body), len(body) // 10 + 1):
            time.sleep(0.02)
            yield body[start : start + len(body) // 10 + 1]

    def cut(self, environ):
        """Half of the body, then a reset."""
        head = []
        body = b"".join(self.app(environ, lambda *arguments: head.extend(arguments)))
        lines = [f"HTTP/1.1 {head[0]}"] + [f"{name}: {value}" for name, value in head[1]]
        environ["werkzeug.socket"].sendall("\r\n".join(lines + ["", ""]).encode() + body[: len(body) // 2])
        self.reset(environ)


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass

    def connection_dropped(self, error, environ=None):
        """Without this, werkzeug would wait for the next request on the connection of a scripted reset."""
        self.close_connection = True


def main():
    parent = os.getppid()
    # Not moto's DomainDispatcherApplication: for each request it lists moto's 175 directories under one lock. With many
    # connections on a busy machine the threads then wait for the lock and for the interpreter's, requests for more than
    # 15 s. Made before the port is printed, as the import takes seconds.
    app = Faults(create_backend_app("s3"))
    address, port = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("127.0.0.1", 0)
    server = make_server(address, port, app, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    while os.getppid() == parent:
        time.sleep(0.5)
    sys.exit()


main()
