"""What `larder run` makes of local files, which an HTTP server on loopback serves to it."""
import functools, http.server, json, os, subprocess, threading


class Silent(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def larder_files(larder, home, names, mixes, settings):
    """The files of each mix by image and variant; an image of which one cannot be made has none.

    `mixes` has the names of variants by mix, `settings` the settings by the name of the variant. The originals are those in
    home/root with these names.
    """
    handler = functools.partial(Silent, directory=home + "/root")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    environment = dict(os.environ, LARDER_HOME=home)
    with open(home + "/urls.txt", "w") as file:
        file.writelines(f"{address}{name}\n" for name in names)
    found = {}
    try:
        for mix, variants in mixes.items():
            words = [word for one in variants for word in ("--variant", json.dumps({"name": one, **settings[one]}))]
            cache = f"{home}/{mix}"
            done = subprocess.run(
                [larder, "run", "--from", home + "/urls.txt", "--cache", cache, "--batch", mix, "--json", "--durability",
                 "none", "--options", "DecodeFirstFrameOnly", "--allow-address", "127.0.0.0/8", "--allow-port",
                 str(server.server_port), "--wall-time", "10m", *words], env=environment, stdout=subprocess.PIPE, text=True)
            for line in map(json.loads, done.stdout.splitlines()):
                if line.get("outcome") == "succeeded" and not any(one["error"] for one in line["variants"]):
                    name = line["url"].removeprefix(address)
                    found[mix, name] = {one["name"]: f"{cache}/{one['path']}" for one in line["variants"]}
    finally:
        subprocess.run([larder, "db", "stop"], env=environment, stdout=subprocess.DEVNULL)
        server.shutdown()
    return found
