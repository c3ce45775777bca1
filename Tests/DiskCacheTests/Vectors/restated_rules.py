"""The rules for file names and derived keys once more, written apart from the Swift ones, with Python's own library.

The argument is ios17 or ios27. Reads lines `key TAB suffix`, writes lines `file name TAB derived key TAB escaped URL`,
all of it UTF-8 in hexadecimal.
"""

import hashlib
import re
import sys
from urllib.parse import quote, unquote_to_bytes

ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")
NAME = "!$&'()*+,;=~-._"
OWNER = NAME + ":"
PATH = NAME + ":@/"
QUERY = PATH + "?"
WEB = ("ftp", "file", "http", "https", "ws", "wss")
NO_EXTENSION = re.compile("[ \u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def is_legal(text, legal):
    return re.fullmatch(r"(?:[A-Za-z0-9%s]|%%[0-9A-Fa-f]{2})*" % re.escape(legal), text) is not None


def escaped(text, legal, rules):
    """A legal text stays. iOS 17 escapes another one whole, iOS 27 leaves the escapes that stand there."""
    if is_legal(text, legal):
        return text
    return quote(text, safe=legal) if rules == "ios17" else quote(ESCAPES.sub("%25", text), safe=legal + "%")


def host_of(name, scheme, rules):
    if name.startswith("[") and name.endswith("]"):
        address, percent, zone = name[1:-1].partition("%")
        if not is_legal(address, OWNER):
            return None
        if percent and not (zone.startswith("25") and is_legal(zone[2:], "-._~")):
            zone = "25" + quote(zone, safe="")
        return "[" + address + percent + zone + "]"
    if is_legal(name, NAME):
        return name
    if rules == "ios27" and (scheme or "").lower() not in WEB:
        return None if re.search(r"[][]", name) else escaped(name, NAME, rules)
    if rules == "ios27" and not is_legal(re.sub("[^\0-\x7f]", "", name).replace("%", "%%"), NAME):
        return None
    try:
        # Names of these tests are equal in IDNA 2003 and UTS 46.
        name = name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    return name if is_legal(name, NAME) and len(name.rstrip(".")) <= 253 else None


def number(port):
    return str(int(port)) if port and int(port) < 2**63 else None


def joined(parts):
    scheme, owner, host, port, path, query, fragment = parts
    return (
        ("" if scheme is None else scheme + ":")
        + ("" if host is None else "//" + ("" if owner is None else ":".join(owner) + "@") + host)
        + ("" if port is None else ":" + port)
        + path
        + ("" if query is None else "?" + query)
        + ("" if fragment is None else "#" + fragment)
    )


def parse(key, rules, is_components=False):
    """The parts of NSURL, or of NSURLComponents, escaped; None when the key is no URL."""
    if not key:
        return None
    scheme = None
    if rules == "ios27":
        match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*|):", key)
    else:
        match = re.match(r"([^:/?#\[\]@]*):", key)
        if match and match[1] and not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", match[1]):
            return None
    if match and (match[1] or not is_components):
        scheme = match[1]
    rest = key if scheme is None else key[len(scheme) + 1 :]
    authority, path, query, fragment = re.fullmatch(
        r"(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", rest, re.S
    ).groups()
    owner = host = port = None
    if authority is not None:
        user, at, place = authority.rpartition("@")
        match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", place)
        if not match:
            return None
        host, port = match[1], match[2]
        if port == "" and is_components and not host.startswith("["):
            port = None
        if at:
            owner = user.rsplit(":", 1) if rules == "ios27" else user.split(":", 1)
    before = joined((scheme, owner, host, port, path, query, fragment))
    if owner is not None:
        owner = [escaped(text, OWNER, rules) for text in owner]
    if host is not None:
        host = host_of(host, scheme, rules)
        if host is None:
            return None
    if not is_legal(path, PATH):
        first, slash, more = path.partition("/")
        if rules == "ios17":
            path = quote(first, safe=PATH.replace(":", "")) + slash + quote(more, safe=PATH)
        elif scheme is None and host is None and ":" in first:
            return None
        else:
            path = escaped(path, PATH, rules)
    query = None if query is None else escaped(query, QUERY, rules)
    fragment = None if fragment is None else escaped(fragment, QUERY, rules)
    if rules == "ios17" and joined((scheme, owner, host, port, path, query, fragment)) != before:
        port = number(port)
    return scheme, owner, host, port, path, query, fragment


def extension(path):
    name = path.rstrip("/").rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot + 1 :] if 0 < dot < len(name) - 1 else ""


def without_extension(path):
    ext = extension(path)
    if ext:
        path = path.rstrip("/")[: -len(ext) - 1]
    path = re.sub("/+", "/", path)
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def decoded(path):
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return None


def url_extension(url):
    scheme, _, host, _, path, _, _ = url
    if scheme is not None and host is None and not path.startswith("/"):
        return None
    path = decoded(path)
    if path is None:
        return None
    return "" if NO_EXTENSION.search(extension(path)) else extension(path)


def file_name(key, rules):
    digest = hashlib.md5(key.split("\0")[0].encode()).hexdigest()
    url = parse(key, rules)
    ext = url_extension(url) if url else None
    if ext is None:
        ext = extension(key)
    ext = ext.replace("\0", "").replace(":", "")
    if not ext or len(ext.encode("utf-16-le")) // 2 > 222 or 33 + len(ext.encode()) > 255:
        return digest
    return digest + "." + ext


def derived(key, suffix, rules):
    url = parse(key, rules)
    ext = url_extension(url) if url else extension(key)
    if not ext:
        return key + "-" + suffix
    if url is None or (url[0] or "").lower() == "file":
        return (without_extension(key) + "-" + suffix).rstrip("/") + "." + ext
    url = parse(joined(url), "ios17", is_components=True)
    if url is None:
        return "nil"
    scheme, owner, host, port, path, query, fragment = url
    path = (without_extension(decoded(path) or "") + "-" + suffix).rstrip("/") + "." + ext
    if path.startswith("//") if host is None else not path.startswith("/"):
        return "nil"
    first, slash, more = path.partition("/")
    path = quote(first, safe=PATH.replace(":", "")) + slash + quote(more, safe=PATH)
    return joined((scheme, owner, host, number(port) or port, path, query, fragment))


for line in sys.stdin:
    key, suffix = (bytes.fromhex(field).decode() for field in line.rstrip("\n").split("\t"))
    url = parse(key, sys.argv[1])
    answers = file_name(key, sys.argv[1]), derived(key, suffix, sys.argv[1]), joined(url) if url else "nil"
    print(*(answer.encode().hex() for answer in answers), sep="\t")
