"""The rules for file names and derived keys once more, written apart from the Swift ones, with Python's own library.

Reads lines `key TAB suffix`, writes lines `file name TAB derived key`, all of it UTF-8 in hexadecimal.
"""

import hashlib
import re
import sys
from urllib.parse import quote, unquote_to_bytes

ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")
LEGAL = "!$&'()*+,;=~-._:@/"


def tidy(part, legal):
    """Escapes what is illegal and leaves escapes that stand there."""
    return quote(ESCAPES.sub("%25", part), safe=legal + "%")


def host_of(name):
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    return name if re.fullmatch(r"(?:[A-Za-z0-9!$&'()*+,;=~._-]|%[0-9A-Fa-f]{2})*", name) else None


def authority_of(text):
    user, at, place = text.rpartition("@")
    match = re.fullmatch(r"(\[[^\]]*\]|[^:\[]*)(:[0-9]*)?", place)
    if not match:
        return None
    name, port = match[1], match[2] or ""
    if name.startswith("["):
        if not re.fullmatch(r"\[(?:[A-Za-z0-9!$&'()*+,;=~._:-]|%[0-9A-Fa-f]{2})*\]", name):
            return None
    else:
        name = host_of(name)
        if name is None:
            return None
    return tidy(user, "!$&'()*+,;=~-._:") + at + name + port


def parse(key):
    """(scheme, authority, path, rest) as RFC 3986 appendix B splits them, or None."""
    if not key:
        return None
    scheme, authority, path, query, fragment = re.fullmatch(
        r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", key, re.S
    ).groups()
    if scheme is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return None
    if authority is not None:
        authority = authority_of(authority)
        if authority is None:
            return None
    rest = ""
    for part in (query, fragment):
        if part:
            rest += part[0] + tidy(part[1:], LEGAL + "?")
    return scheme, authority, path, rest


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


def decoded_path(url):
    scheme, authority, path, _ = url
    if scheme is not None and authority is None and not path.startswith("/"):
        return None
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return None


def url_extension(url):
    path = decoded_path(url)
    return None if path is None else extension(path)


def file_name(key):
    digest = hashlib.md5(key.split("\0")[0].encode()).hexdigest()
    url = parse(key)
    ext = url_extension(url) if url else None
    if ext is None:
        ext = extension(key)
    ext = ext.replace("\0", "").replace(":", "")
    if not ext or len(ext.encode("utf-16-le")) // 2 > 222 or 33 + len(ext.encode()) > 255:
        return digest
    return digest + "." + ext


def derived(key, suffix):
    url = parse(key)
    ext = url_extension(url) if url else extension(key)
    if not ext:
        return key + "-" + suffix
    if url is None or (url[0] or "").lower() == "file":
        return (without_extension(key) + "-" + suffix).rstrip("/") + "." + ext
    scheme, authority, _, rest = url
    path = (without_extension(decoded_path(url)) + "-" + suffix).rstrip("/") + "." + ext
    path = quote(path, safe=LEGAL)
    if scheme is None and authority is None:
        first, slash, more = path.partition("/")
        path = first.replace(":", "%3A") + slash + more
    return (scheme + ":" if scheme is not None else "") + ("//" + authority if authority is not None else "") + path + rest


for line in sys.stdin:
    key, suffix = (bytes.fromhex(field).decode() for field in line.rstrip("\n").split("\t"))
    print(file_name(key).encode().hex(), derived(key, suffix).encode().hex(), sep="\t")
