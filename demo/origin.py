#!/usr/bin/python3
"""The origins of the demo: nginx for the good images, and ten URLs that fail in ten ways, each on its own port.

    demo/origin.py DIRECTORY

DIRECTORY holds `images` (of render.py); logs and configuration go to DIRECTORY/origin. When all answer, it prints one
line of JSON: {"good": "http://127.0.0.1:PORT", "bad": {NAME: URL, ...}, "ports": [...]}. It ends with its standard
input, and so with its parent process, and stops nginx.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"
# Only relative paths: the prefix comes from the command line and can contain any character.
NGINX = """
daemon off;
master_process off;
pid origin/nginx.pid;
error_log origin/nginx-error.log warn;
events {{ worker_connections 512; }}
http {{
    types {{
        image/jpeg jpg jpeg; image/png png; image/gif gif; image/webp webp; image/avif avif; image/heic heic;
    }}
    default_type application/octet-stream;
    charset off;
    sendfile on;
    log_format one_line escape=none '$status $uri';
    access_log origin/access.log one_line;
    client_body_temp_path origin/body;
    proxy_temp_path origin/proxy;
    fastcgi_temp_path origin/fastcgi;
    uwsgi_temp_path origin/uwsgi;
    scgi_temp_path origin/scgi;
    server {{
        listen {host}:{port};
        root images;
        location ~ /[.] {{ return 404; }}
    }}
}}
"""


def start_nginx(directory):
    """Starts nginx in DIRECTORY and returns its process and its port."""
    nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not nginx:
        raise SystemExit("origin: nginx is missing: run scripts/setup")
    for _ in range(5):  # another process can take the free port
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        with open(os.path.join(directory, "origin", "nginx.conf"), "w") as file:
            file.write(NGINX.format(host=HOST, port=port))
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", nginx, "-p", directory, "-c", "origin/nginx.conf",
             "-e", "origin/nginx-error.log"],
            stdin=subprocess.DEVNULL, stdout=sys.stderr)
        while process.poll() is None:
            try:
                connection = http.client.HTTPConnection(HOST, port, timeout=5)
                connection.request("GET", "/.up")
                connection.getresponse().read()
                return process, port
            except OSError:
                time.sleep(0.02)
    raise SystemExit("origin: nginx does not start, see origin/nginx-error.log")


# -- Ten ways to fail. Each function answers one request; `refused` and `private address` need no server.


def not_found(request):
    request.answer(404, b"no such image\n", "text/plain")


def internal_error(request):
    request.answer(500, b"the database is away\n", "text/plain")


def cut_short(request):
    body = request.server.image
    request.answer(200, body[:len(body) // 3], "image/jpeg", length=len(body))


def not_an_image(request):
    request.answer(200, b"<!doctype html><title>Please log in</title><p>Please log in.</p>\n", "text/html")


def too_large(request):
    """64 MiB in chunks without a Content-Length."""
    request.answer(200, request.server.image[:4096], "image/jpeg", length=None)
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    for _ in range(1024):
        request.wfile.write(chunk)
    request.wfile.write(b"0\r\n\r\n")


def no_answer(request):
    request.connection.settimeout(60)
    request.connection.recv(1)  # until the client closes the connection


def redirect_loop(request):
    request.send_response(302)
    request.send_header("Location", "/there" if request.path != "/there" else "/back")
    request.send_header("Content-Length", "0")
    request.end_headers()


def bomb(request):
    request.answer(200, request.server.bomb, "image/png")


BAD = {
    "404": ("missing.jpg", not_found),
    "500": ("broken.jpg", internal_error),
    "truncated": ("truncated.jpg", cut_short),
    "not an image": ("login.jpg", not_an_image),
    "too large": ("endless.jpg", too_large),
    "timeout": ("silent.jpg", no_answer),
    "redirect loop": ("round.jpg", redirect_loop),
    "bomb": ("bomb.png", bomb),
}


def bomb_png(edge=12_000):
    """144 megapixels of white in 32 kB: a PNG with one bit per pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + b"\xff" * (edge // 8)) * edge
    header = struct.pack(">IIBBBBB", edge, edge, 1, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9))
            + chunk(b"IEND", b""))


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with self.server.log_lock, open(self.server.log, "a") as log:
            log.write(f"{self.server.what}\n")
        self.close_connection = True
        self.server.behaviour(self)

    def answer(self, status, body, kind, length=0):
        """`length` 0 stands for the length of the body; with None the body is the first chunk."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
            body = f"{len(body):x}\r\n".encode() + body + b"\r\n"
        else:
            self.send_header("Content-Length", str(length or len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients that close the connection are expected."""


def start_bad(directory, images):
    """Starts the failing servers and returns their URLs by name."""
    with open(os.path.join(directory, "images", "manifest.json")) as file:
        sample = max((each for each in json.load(file) if each["format"] == "jpeg"), key=lambda each: each["bytes"])
    with open(os.path.join(images, sample["file"]), "rb") as file:
        image = file.read()
    lock, urls = threading.Lock(), {}
    for what, (name, behaviour) in BAD.items():
        server = Server((HOST, 0), Request)
        server.what, server.behaviour, server.image = what, behaviour, image
        server.bomb = bomb_png() if behaviour is bomb else None
        server.log, server.log_lock = os.path.join(directory, "origin", "bad.log"), lock
        threading.Thread(target=server.serve_forever, daemon=True).start()
        urls[what] = f"http://{HOST}:{server.server_port}/{name}"
    return urls


def main(directory):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the demo handles it, and then the standard input ends
    os.makedirs(os.path.join(directory, "origin"), exist_ok=True)
    for log in ("access.log", "bad.log"):
        open(os.path.join(directory, "origin", log), "w").close()
    urls = start_bad(directory, os.path.join(directory, "images"))
    # Bound but not listening: connections are refused, and no other process gets the port.
    closed = socket.socket()
    closed.bind((HOST, 0))
    urls["refused"] = f"http://{HOST}:{closed.getsockname()[1]}/refused.jpg"
    # The address is refused before a request is sent.
    urls["private address"] = "http://10.0.0.1:8080/router.jpg"
    nginx, port = start_nginx(directory)
    try:
        ports = [int(url.split(":")[2].split("/")[0]) for url in urls.values()]
        print(json.dumps({"good": f"http://{HOST}:{port}", "bad": urls, "ports": [port, *ports]}), flush=True)
        sys.stdin.buffer.read()
    finally:
        nginx.terminate()
        nginx.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: demo/origin.py DIRECTORY")
    main(os.path.abspath(sys.argv[1]))
