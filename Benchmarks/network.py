"""Hosts on one machine: namespaces for network, processes, name and mounts, each with an address on one bridge."""
import json, os, signal, subprocess

from processes import tree

NETWORK = "10.98.0"


def sh(command):
    subprocess.run(command, shell=True, check=True)


def make_bridge():
    """The bridge in this network namespace, which has the address 10.98.0.1 on it."""
    sh(f"ip link set lo up && ip link add lan type bridge && ip addr add {NETWORK}.1/24 dev lan && ip link set lan up")
    # The check of all objects makes tens of thousands of connections within the minute for which a port is kept.
    with open("/proc/sys/net/ipv4/tcp_tw_reuse", "w") as reuse:
        reuse.write("1")


class Host:
    """Its first process keeps the namespaces; all others end with it."""

    def __init__(self, name, number):
        self.name, self.address, self.link = name, f"{NETWORK}.{number}", f"to-{name}"
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--pid", "--uts", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             f"hostname {name} && ip link set lo up && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.holder.stdout.readline() != b"ready\n":
            raise SystemExit(f"no namespaces for {name}")
        self.first = tree([self.holder.pid])[1]
        sh(f"ip link add {self.link} type veth peer name eth0 netns {self.first}")
        sh(f"ip link set {self.link} master lan && ip link set {self.link} up")
        inside = " ".join(self.words())
        sh(f"{inside} ip addr add {self.address}/24 dev eth0 && {inside} ip link set eth0 up")
        shown = self.run("ip", "-json", "link", "show", "eth0", capture_output=True, check=True).stdout
        self.card = json.loads(shown)[0]["address"]

    def keep_link_addresses(self, hosts):
        """Keeps the link addresses of other hosts, so that packets to one that is gone are lost without an answer.

        It is so behind a router; on one link the kernel answers after three seconds that there is no such host.
        """
        others = (one for one in hosts if one is not self)
        lines = "".join(f"neigh replace {one.address} lladdr {one.card} dev eth0 nud permanent\n" for one in others)
        self.run("ip", "-batch", "-", input=lines, text=True, check=True)

    def words(self, *command, user=None):
        account = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return ["nsenter", "-t", str(self.first), "-n", "-p", "-u", "-m", "--", *account, *command]

    def run(self, *command, user=None, **more):
        return subprocess.run(self.words(*command, user=user), **more)

    def start(self, *command, log, user=None, environment=None):
        """A process of this host with its output in a file; its exit code is the command's."""
        with open(log, "a") as output:
            return subprocess.Popen(
                self.words(*command, user=user), env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)

    @staticmethod
    def send(number, process):
        """Sends a signal to a process that `start` returned: nsenter is its parent."""
        os.kill(tree([process.pid])[1], number)

    def cut(self):
        """No packet passes, and no connection ends."""
        sh(f"ip link set {self.link} down")

    def mend(self):
        sh(f"ip link set {self.link} up")

    def kill(self):
        """The link first, so that no process of the host can say good-bye."""
        sh(f"ip link del {self.link}")
        os.kill(self.first, signal.SIGKILL)
        self.holder.wait()
