#!/usr/bin/env python3
"""Receives Larder's webhooks on 127.0.0.1:PORT and prints a line for each batch that is finished.

    examples/webhook.py SECRET_FILE [PORT]

The signature is that of Standard Webhooks 1.0, for which most languages have a library.
"""
import base64
import hashlib
import hmac
import http.server
import json
import sys
import time

with open(sys.argv[1]) as file:
    KEY = base64.b64decode(file.read().strip().removeprefix("whsec_"))
MAX_BYTES = 64 * 1024
MAX_AGE = 300
seen = set()


def is_authentic(headers, body):
    sent = headers["webhook-timestamp"] or ""
    if not sent.isdigit() or abs(time.time() - int(sent)) > MAX_AGE:
        return False
    message = f"{headers['webhook-id']}.{sent}.".encode() + body
    code = base64.b64encode(hmac.new(KEY, message, hashlib.sha256).digest()).decode()
    # While a secret is replaced, a sender may send several signatures.
    return any(hmac.compare_digest("v1," + code, one) for one in (headers["webhook-signature"] or "").split())


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers["Content-Length"] or 0), MAX_BYTES))
        if not is_authentic(self.headers, body):
            self.send_error(401)
            return
        # The same id again is the same end of the same batch.
        if self.headers["webhook-id"] not in seen:
            seen.add(self.headers["webhook-id"])
            batch = json.loads(body)["data"]
            name = batch["batch"] or batch["batchID"]
            print(f"{name}: {batch['succeeded']} of {batch['total']} images, {batch['failed']} failed", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


port = int(sys.argv[2]) if len(sys.argv) > 2 else 8099
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
print(f"listening on port {server.server_port}", flush=True)
server.serve_forever()
