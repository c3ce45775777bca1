"""Figures of the benchmarks that are scripts: medians with their range, printed as JSON lines and saved."""
import datetime, json, os, platform, statistics, subprocess


def short(number):
    return float(f"{number:.4g}")


def figure(name, values, unit, against=None, others=None):
    """The median of the rounds' values and, with `against`, the median of the rounds' ratios to `others`."""
    found = {"name": name, "unit": unit, "value": short(statistics.median(values)),
             "values": {"low": short(min(values)), "high": short(max(values))}, "rounds": [short(one) for one in values]}
    if against:
        ratios = [value / max(other, 1e-9) for value, other in zip(values, others)]
        found |= {"against": against, "ratio": short(statistics.median(ratios)),
                  "ratios": {"low": short(min(ratios)), "high": short(max(ratios))}}
    return found


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def report(found, benchmark, what, rounds, larder, load, directory=None):
    """Prints the figures and, with a directory (Benchmarks/Results), saves them there."""
    for line in found:
        print(json.dumps({key: line[key] for key in ("name", "value", "unit", "ratio", "against") if key in line}))
    if directory is None:
        return
    source = os.path.dirname(os.path.abspath(__file__))
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    build = "release" if "release" in os.path.realpath(larder) else "debug"
    result = {
        "benchmark": benchmark, "date": day, "rounds": rounds, "input": f"{what}; {build} build",
        "machine": {
            "commit": output_of("git", "-C", source, "rev-parse", "--short=12", "HEAD"), "cores": str(os.cpu_count()),
            "kernel": platform.release(), "load": f"{load:.3g} before, {os.getloadavg()[0]:.3g} after",
        },
        "measurements": found,
    }
    with open(f"{directory}/{day}-{benchmark}.json", "w") as file:
        file.write(json.dumps(result, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
