#!/usr/bin/env python3
"""Writes signatures.json beside itself: requests and their signatures by botocore, whose signer S3's own clients use.

Run with botocore 1.44 on PYTHONPATH, for example `PYTHONPATH=.build/s3 python3 Tests/ObjectStoreTests/Vectors/signatures.py`.
"""
import datetime
import hashlib
import json
import pathlib
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.compat
import botocore.credentials

MOMENT = datetime.datetime(2026, 11, 25, 1, 2, 3, tzinfo=datetime.timezone.utc)
SECONDS = int(MOMENT.timestamp())


def case(name, method="GET", host="bucket.s3.eu-west-1.amazonaws.com", key="", query=(), headers=None, body=b"",
         token=None, unsigned=False, region="eu-west-1", secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"):
    path = "/" + urllib.parse.quote(key, safe="/-_.~")
    request = botocore.awsrequest.AWSRequest(
        method=method, url=f"https://{host}{path}", params=dict(query), headers=dict(headers or {}), data=body)
    request.context["payload_signing_enabled"] = not unsigned
    request.context["client_config"] = None
    signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials("AKIDEXAMPLE", secret, token), "s3", region)
    signer.add_auth(request)
    return {
        "name": name, "method": method, "host": host, "path": path, "query": [list(pair) for pair in query],
        "headers": [[k, v] for k, v in (headers or {}).items()],
        "payload": "UNSIGNED-PAYLOAD" if unsigned else hashlib.sha256(body).hexdigest(),
        "token": token, "region": region, "secret": secret, "time": SECONDS,
        "authorization": request.headers["Authorization"],
    }


def main():
    # botocore reads the clock by one of these names, by its version.
    for module in (botocore.auth, botocore.compat):
        if hasattr(module, "get_current_datetime"):
            module.get_current_datetime = lambda remove_tzinfo=True: MOMENT.replace(
                tzinfo=None if remove_tzinfo else datetime.timezone.utc)
    everything = "".join(map(chr, range(0x20, 0x7f)))
    cases = [
        case("an object", key="default/0a1b2c.jpg"),
        case("the bucket"),
        case("a query that is not sorted",
             query=[("prefix", "a/b"), ("list-type", "2"), ("max-keys", "1000"), ("continuation-token", "1+/=")]),
        case("names without value", "POST", key="big.png", query=[("uploads", "")]),
        case("several names of which one has no value", "POST", query=[("z", "1"), ("delete", ""), ("Z", "2")]),
        case("every printable character of ASCII in a key", key="p/" + everything),
        case("every printable character of ASCII in a query", query=[("prefix", everything), (everything, "x")]),
        case("characters beyond ASCII", key="übung/图片.jpg", query=[("prefix", "图 片")]),
        case("names of which one is the beginning of another", query=[("a-b", "1"), ("a", "2"), ("aa", "3")]),
        case("a body", "PUT", key="x.jpg", body=b"image", headers={"Content-Type": "image/jpeg"}),
        case("metadata and white space", "PUT", key="x", body=b"1", headers={
            "X-Amz-Meta-Two": "a   b", "x-amz-meta-One": "  c ", "Cache-Control": "public,  max-age=60"}),
        case("a condition", "PUT", key="x", body=b"1", headers={"If-None-Match": "*"}),
        case("a session token", key="x", token="FwoGZXIvYXdzE//+=="),
        case("an unsigned body", "PUT", key="x", body=b"1", unsigned=True,
             headers={"Content-MD5": "xMpCOKC5I4INzFCab3WEmw=="}),
        case("another port", host="localhost:9000", key="bucket/x"),
        case("another region and secret", region="auto", secret="s", key="x"),
        case("a deletion", "DELETE", key="x"), case("a head", "HEAD", key="x"),
    ]
    target = pathlib.Path(__file__).with_name("signatures.json")
    target.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


main()
