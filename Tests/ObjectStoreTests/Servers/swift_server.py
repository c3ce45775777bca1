#!/usr/bin/python3
"""OpenStack Swift's s3api on free ports of loopback, one replica, in a directory of its own; prints the port of the
proxy and ends with its parent process.

Usage: swift_server.py DIRECTORY        the Python packages are on PYTHONPATH

The access key is `test:tester`, the secret `testing`.
"""
import ctypes, os, signal, socket, subprocess, sys, time

ctypes.CDLL(None).prctl(1, signal.SIGTERM)
home = os.path.abspath(sys.argv[1])
os.makedirs(f"{home}/disks/d1")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(name, text):
    with open(f"{home}/{name}", "w") as file:
        file.write(text)


write("swift.conf", "[swift-hash]\nswift_hash_path_suffix = larder\n[storage-policy:0]\nname = one\ndefault = yes\n")
ports = {kind: free_port() for kind in ("account", "container", "object", "proxy")}
from swift.common.ring import RingBuilder

for kind in ("account", "container", "object"):
    ring = RingBuilder(4, 1, 1)
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1", "port": ports[kind], "device": "d1",
                  "replication_ip": "127.0.0.1", "replication_port": ports[kind]})
    ring.rebalance()
    ring.get_ring().save(f"{home}/{kind}.ring.gz")
    write(f"{kind}.conf", f"""[DEFAULT]
swift_dir = {home}
devices = {home}/disks
mount_check = false
bind_ip = 127.0.0.1
bind_port = {ports[kind]}
user = root
workers = 0
fallocate_reserve = 0
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
""")
write("proxy.conf", f"""[DEFAULT]
swift_dir = {home}
bind_ip = 127.0.0.1
bind_port = {ports["proxy"]}
user = root
workers = 0
[pipeline:main]
pipeline = catch_errors cache bulk s3api tempauth slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
storage_domain = localhost
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
""")
start = "import sys; from swift.common.wsgi import run_wsgi; sys.exit(run_wsgi(sys.argv[1], sys.argv[2]))"
children = []
for kind in ("account", "container", "object", "proxy"):
    log = open(f"{home}/{kind}.log", "w")
    children.append(subprocess.Popen(
        [sys.executable, "-c", start, f"{home}/{kind}.conf", f"{kind}-server"], stdout=log, stderr=log,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM)))
while True:
    if any(child.poll() is not None for child in children):
        sys.exit(f"a server of Swift ended, see {home}/*.log")
    try:
        for port in ports.values():
            socket.create_connection(("127.0.0.1", port)).close()
        break
    except OSError:
        time.sleep(0.1)
print(ports["proxy"], flush=True)
signal.signal(signal.SIGTERM, lambda *_: [child.terminate() for child in children] and sys.exit(0))
signal.pause()
