"""The servers of Benchmarks/hosts: Postgres with a standby behind pgbouncer, a bucket and an origin of images."""
import hashlib, http.client, io, os, random, shutil, signal, subprocess, threading, time, urllib.parse, urllib.request
import xml.etree.ElementTree

import psycopg2
from PIL import Image

from network import NETWORK

SERVER = "/usr/lib/postgresql/15/bin"
SOURCE = os.path.dirname(os.path.abspath(__file__)) + "/.."


def until(what, condition, limit=60):
    end = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"timed out: {what}")
        time.sleep(0.1)
    return found


class Database:
    """A primary, a standby and the pooler before them. `current` is the host whose server accepts writes.

    With `direct` the URL names both servers, and clients look for the one that does.
    """

    def __init__(self, home, primary, standby, pooler, direct):
        self.home, self.primary, self.standby, self.pooler = home, primary, standby, pooler
        self.current, self.session = primary, None
        self.url = f"postgresql://larder@{pooler.address}:6432/larder"
        if direct:
            self.url = (f"postgresql://larder@{primary.address}:5432,{standby.address}:5432/larder"
                        "?target_session_attrs=read-write")

    def directory(self, host):
        return f"{self.home}/{host.name}"

    def start(self, synchronous):
        data, primary = self.directory(self.primary), self.primary
        for host in (self.primary, self.standby):
            os.mkdir(self.directory(host), 0o700)
            shutil.chown(self.directory(host), "postgres", "postgres")
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "user": "postgres"}
        primary.run(
            f"{SERVER}/initdb", "-D", data, "-U", "larder", "-A", "trust", "-E", "UTF8", "--locale=C", **quiet)
        with open(data + "/pg_hba.conf", "a") as rules:
            rules.write(f"host all,replication larder {NETWORK}.0/24 trust\n")
        self.serve(primary)
        primary.run(f"{SERVER}/createdb", "-h", primary.address, "-U", "larder", "larder", **quiet)
        self.standby.run(
            f"{SERVER}/pg_basebackup", "-h", primary.address, "-U", "larder", "-D", self.directory(self.standby), "-R",
            "-c", "fast", **quiet)
        self.serve(self.standby)
        if synchronous:
            # Not in the standby's copy of the settings: after its promotion each commit would wait for one of its own.
            self.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            self.ask("SELECT pg_reload_conf()")
        state = "sync" if synchronous else "async"
        until(f"the standby is {state}", lambda: self.ask(
            "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s", state) == [(1,)])
        self.point(primary)
        self.pooling = self.pooler.start(
            "pgbouncer", "-q", "-u", "postgres", f"{self.home}/pgbouncer.ini", log=f"{self.home}/pgbouncer.log")

    def serve(self, host):
        """The settings are options and not in a file, which the standby would copy."""
        data = self.directory(host)
        settings = {"listen_addresses": host.address, "unix_socket_directories": "", "cluster_name": host.name}
        host.start(
            f"{SERVER}/postgres", "-D", data, *(f"--{name}={value}" for name, value in settings.items()),
            log=data + ".log", user="postgres")
        until(f"{host.name} accepts connections", lambda: host.run(
            f"{SERVER}/pg_isready", "-q", "-h", host.address, "-U", "larder", "-d", "postgres").returncode == 0)

    @staticmethod
    def connect(url):
        session = psycopg2.connect(
            url, tcp_user_timeout=4000, keepalives_idle=5, keepalives_interval=2, keepalives_count=3)
        session.autocommit = True
        return session

    def ask(self, statement, *values):
        """The rows that the current server answers; for one thread."""
        if not self.session:
            self.session = self.connect(f"postgresql://larder@{self.current.address}:5432/larder")
        cursor = self.session.cursor()
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def point(self, host):
        """Writes the pooler's configuration, and lets it read that if it runs."""
        with open(f"{self.home}/pgbouncer.users", "w") as users:
            users.write('"larder" ""\n')
        with open(f"{self.home}/pgbouncer.ini", "w") as file:
            file.write(
                f"[databases]\nlarder = host={host.address} port=5432\n[pgbouncer]\n"
                f"listen_addr = {self.pooler.address}\nlisten_port = 6432\nunix_socket_dir =\nauth_type = trust\n"
                f"auth_file = {self.home}/pgbouncer.users\npool_mode = transaction\nmax_client_conn = 500\n"
                # As docs/operations.md recommends: without the limits a call waits a minute for the dead primary.
                "default_pool_size = 20\nserver_login_retry = 1\ntcp_user_timeout = 10000\ntcp_keepidle = 5\n"
                "tcp_keepintvl = 2\ntcp_keepcnt = 3\n"
                "ignore_startup_parameters = extra_float_digits,options\n")
        if host is not self.primary:
            self.pooler.send(signal.SIGHUP, self.pooling)

    def promote(self):
        """Makes the standby the primary; returns once it accepts writes."""
        self.session = None
        self.current = self.standby
        self.ask("SELECT pg_promote(true, 60)")


class Bucket:
    """moto's bucket `images`, in memory, read and listed without signatures."""

    def __init__(self, host, home):
        self.host, self.endpoint, self.thread = host, f"http://{host.address}:9000", threading.local()
        modules = f"{SOURCE}/.build/object-stores"
        if not os.path.exists(modules + "/complete"):
            raise SystemExit("moto is missing: run scripts/object-stores")
        host.start(
            "/usr/bin/python3", f"{SOURCE}/Tests/ObjectStoreTests/Servers/moto_server.py", host.address, "9000",
            log=f"{home}/moto.log", environment={
                "PYTHONPATH": modules, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
                "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"})
        until("moto makes a bucket", self.make)

    def make(self):
        try:
            return urllib.request.urlopen(
                urllib.request.Request(self.endpoint + "/images", method="PUT"), timeout=10).status == 200
        except OSError:
            return False

    def names(self):
        """The keys of all objects with their sizes."""
        found, token = {}, ""
        while True:
            query = "list-type=2&max-keys=1000" + (f"&continuation-token={urllib.parse.quote(token)}" if token else "")
            with urllib.request.urlopen(f"{self.endpoint}/images?{query}", timeout=60) as answer:
                page = xml.etree.ElementTree.fromstring(answer.read())
            space = page.tag[:page.tag.index("}") + 1] if "}" in page.tag else ""
            for entry in page.iter(space + "Contents"):
                found[entry.find(space + "Key").text] = int(entry.find(space + "Size").text)
            token = page.findtext(space + "NextContinuationToken")
            if not token:
                return found

    def digests(self, key):
        """The SHA-256 of an object's bytes, and that of its metadata; moto wants a signature and does not verify it."""
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=id/20260101/us-east-1/s3/aws4_request, "
                                   "SignedHeaders=host, Signature=0"}
        if not hasattr(self.thread, "connection"):
            self.thread.connection = http.client.HTTPConnection(self.host.address, 9000, timeout=60)
        self.thread.connection.request("GET", f"/images/{urllib.parse.quote(key)}", headers=signed)
        answer = self.thread.connection.getresponse()
        return hashlib.sha256(answer.read()).hexdigest(), answer.headers["x-amz-meta-sha256"]


class Origin:
    """An nginx with `count` distinct JPEG images. `digests`: the SHA-256 of each, by its URL."""

    def __init__(self, host, home, count, seed):
        self.log, self.digests = f"{home}/requests", {}
        os.mkdir(home + "/images")
        chance = random.Random(seed)
        for number in range(count):
            picture = Image.frombytes("RGB", (8, 6), chance.randbytes(8 * 6 * 3)).resize((96, 72), Image.BICUBIC)
            bytes_ = io.BytesIO()
            picture.save(bytes_, "JPEG", quality=85)
            with open(f"{home}/images/{number}.jpg", "wb") as file:
                file.write(bytes_.getvalue())
            url = f"http://{host.address}:8080/{number}.jpg"
            self.digests[url] = hashlib.sha256(bytes_.getvalue()).hexdigest()
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = " ".join(f"{kind}_temp_path {home}/{kind};" for kind in kinds)
        with open(home + "/nginx.conf", "w") as conf:
            conf.write(f"""
                user root; daemon off; worker_processes 1; pid {home}/nginx.pid; error_log {home}/nginx.log;
                events {{ worker_connections 1024; }}
                http {{
                    {paths} keepalive_requests 1000000; sendfile on; log_format uri '$uri'; access_log {self.log} uri;
                    types {{ image/jpeg jpg; }} server {{ listen {host.address}:8080; root {home}/images; }}
                }}""")
        host.start("nginx", "-c", home + "/nginx.conf", "-e", home + "/nginx.log", log=home + "/nginx.log")

    def requests(self):
        with open(self.log) as file:
            return sum(1 for _ in file)
