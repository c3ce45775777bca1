"""Processor time and memory of process trees, and an nginx that serves a directory."""
import contextlib, os, re, shutil, subprocess, tempfile


def tree(roots):
    """These processes and all below them."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(name))
            except OSError:
                pass
    found = list(roots)
    for pid in found:
        found += children.get(pid, [])
    return found


def memory(roots):
    """The sum of the proportional set sizes in MiB."""
    total = 0
    for pid in tree(roots):
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += int(re.search(r"^Pss: *(\d+)", file.read(), re.M)[1])
        except (OSError, TypeError):
            pass
    return total / 1024


def seconds(roots):
    """The processor time of these processes and of their ended children."""
    total = 0
    for pid in tree(roots):
        try:
            with open(f"/proc/{pid}/stat") as file:
                total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass
    return total / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def nginx(root, port):
    """The address of an nginx on loopback that serves a directory, which its user must be able to read."""
    home = tempfile.mkdtemp(prefix="larder-nginx-")
    os.chmod(home, 0o755)
    paths = " ".join(f"{name}_temp_path {home}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(home + "/nginx.conf", "w") as file:
        file.write(f"""
            daemon off; {'user root;' if os.getuid() == 0 else ''} worker_processes 1; pid {home}/nginx.pid;
            events {{ worker_connections 1024; }}
            http {{ access_log off; sendfile on; keepalive_requests 1000000; {paths}
              server {{ listen 127.0.0.1:{port}; root {root}; }} }}""")
    process = subprocess.Popen(["nginx", "-c", home + "/nginx.conf", "-e", home + "/error.log"])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home, ignore_errors=True)
