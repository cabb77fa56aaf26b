#!/usr/bin/env python3
"""Attacks a server for some seconds as broken and hostile clients would: slow loris, pipelining, broken
chunks, smuggling shapes, bad UTF-8, 10 MB heads, mutated requests, aborts at any byte. Then the server
must answer as before, with nothing left of it all. The same seed makes the same attacks.

    tests/http_fuzz.py --seconds 300 --bin build/sanitize/bin
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

CHAT = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3, "temperature": 0}
GOOD_STATUSES = {200, 400, 401, 404, 405, 408, 413, 414, 415, 417, 429, 431, 503, 505}
STATUS_LINE = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Z][A-Za-z ]*\r\n")


def request(path="/v1/chat/completions", body=None, fields=b"", method="POST"):
    data = body if isinstance(body, bytes) else json.dumps(CHAT if body is None else body).encode()
    return (f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n".encode()
            + fields + b"\r\n" + data)


def chunked(pieces):
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return (b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body
            + b"0\r\n\r\n")


VALID = [
    request(),
    request(body={**CHAT, "stream": True, "stream_options": {"include_usage": True}}),
    request("/v1/completions", {"prompt": [[5, 6], [7]], "max_tokens": 2}),
    request("/tokenize", {"prompt": "one two"}, b"X-Request-Id: fuzz\r\n"),
    request("/detokenize", {"tokens": [5, 6, 7]}, b"Expect: 100-continue\r\n"),
    chunked([b'{"prompt"', b':"a b"}']),
    b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"GET http://x/openapi.json?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
]
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
SHAPES = [
    b"POST / HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n\r\n" + tail + SMUGGLED
    for tail in (b"", b"0\r\n\r\n", b"5\r\nabcde\r\n0\r\n\r\n")
    for fields in (
        b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: +5", b"Content-Length: 5, 5", b"Content-Length : 5", b"Content-Length: 5 ;",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x", b"Transfer-Encoding:\r\n chunked",
        b"Transfer-Encoding: \x0bchunked", b"X: y\rTransfer-Encoding: chunked", b"X: \x00",
        b"X: y\nContent-Length: 5", b"Trans fer: 1",
        b"Content-Encoding: gzip", b"Expect: nonsense", b"Host: y")
] + [b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", b"GET /\r\n", b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
     b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n" * 5000]
BODIES = [b"", b"{", b"null", b"\xff\xfe", b'{"messages":[{"role":"user","content":"\xc3\x28"}]}',
          b"[" * 5000, b'{"prompt":"\\ud800"}', b'{"prompt":"a\x00b"}', b'{"temperature":1e400}',
          b'{"messages":[],"messages":[]}', b'{"prompt":' + b"9" * 4000 + b"}", b"\xef\xbb\xbf{}"]


class Attacker:
    """One hostile client after the other, on a thread of its own."""

    def __init__(self, port, seed, until):
        self.port, self.until = port, until
        self.random = random.Random(seed)
        self.done, self.answers, self.wrong = 0, 0, []

    def run(self):
        attacks = [self.mutated, self.mutated, self.mutated, self.shape, self.shape, self.body,
                   self.pipeline, self.dripped, self.aborted, self.aborted, self.unread, self.huge,
                   self.loris]
        while time.monotonic() < self.until and len(self.wrong) < 5:
            attack = self.random.choice(attacks)
            try:
                attack()
            except OSError:
                pass  # cut off, as hostile clients are
            except Exception as error:  # pylint: disable=broad-except
                self.wrong.append((repr(error), attack.__name__))
            self.done += 1

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def check(self, said, sent):
        """Every status in what a connection said is one that is defined, and none is a 500."""
        for found in STATUS_LINE.finditer(said):
            status = int(found.group(1))
            self.answers += 1
            if status not in GOOD_STATUSES and status != 100:
                self.wrong.append((status, sent[:300]))
        if b"smuggled" in said and sent in SHAPES:
            self.wrong.append(("smuggled", sent[:300]))

    def exchange(self, *pieces, wait=0.3):
        with contextlib.closing(self.connect()) as client:
            with contextlib.suppress(OSError):
                for piece in pieces:
                    client.sendall(piece)
            client.settimeout(wait)
            said = b""
            with contextlib.suppress(OSError):
                while more := client.recv(65536):
                    said += more
                    if len(said) > 1 << 22:
                        break
            self.check(said, b"".join(pieces))

    def mutated(self):
        data = bytearray(self.random.choice(VALID))
        for _ in range(self.random.randint(1, 6)):
            at = self.random.randrange(len(data))
            kind = self.random.randrange(4)
            if kind == 0:
                data[at] = self.random.randrange(256)
            elif kind == 1:
                del data[at:at + self.random.randint(1, 20)]
            elif kind == 2:
                data[at:at] = bytes(self.random.choice(b"\r\n :;,\0\t\xff0a{}[]\"")
                                    for _ in range(self.random.randint(1, 4)))
            else:
                other = self.random.choice(VALID)
                data[at:at] = other[self.random.randrange(len(other)):]
            if not data:
                return
        self.exchange(bytes(data))

    def shape(self):
        self.exchange(self.random.choice(SHAPES))

    def body(self):
        path = self.random.choice(["/v1/chat/completions", "/v1/completions", "/tokenize",
                                   "/detokenize", "/v1/embeddings"])
        self.exchange(request(path, self.random.choice(BODIES)))

    def pipeline(self):
        self.exchange(*[self.random.choice(VALID) for _ in range(self.random.randint(2, 12))])

    def dripped(self):
        data = self.random.choice(VALID)
        step = self.random.randint(1, 40)
        self.exchange(*[data[at:at + step] for at in range(0, len(data), step)])

    def aborted(self):
        data = self.random.choice(VALID)
        with contextlib.closing(self.connect()) as client:
            client.sendall(data[:self.random.randint(0, len(data))])
            if self.random.random() < 0.3:
                client.settimeout(0.2)
                client.recv(self.random.randint(1, 200))
            if self.random.random() < 0.5:  # a reset instead of an orderly end
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def unread(self):
        """Asks for much and reads none of it."""
        long = request(body={**CHAT, "stream": True, "max_tokens": 400, "ignore_eos": True})
        with contextlib.closing(self.connect()) as client:
            client.sendall(long)
            time.sleep(self.random.random() * 0.2)

    def huge(self):
        if self.random.random() < 0.5:
            self.exchange(b"GET / HTTP/1.1\r\nHost: x\r\nX: ", *[b"x" * (1 << 20)] * 10, wait=3)
        else:
            self.exchange(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n",
                          *[b"x" * (1 << 20)] * 10, wait=3)

    def loris(self):
        """Opens many and leaves them hanging in the middle of a head or body."""
        hanging = []
        for _ in range(self.random.randint(1, 30)):
            hanging.append(self.connect())
            data = self.random.choice(VALID)
            hanging[-1].sendall(data[:self.random.randrange(len(data))])
        time.sleep(self.random.random() * 0.3)
        for client in hanging:
            client.close()


def gauge(server, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in server.get("/metrics")[1].splitlines()
               if line.startswith(name + "{"))


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def attack(server, seconds, threads, seed):
    """Attacks; returns the attackers, the bytes the front grew by, and what was wrong."""
    from serving import wait_for  # pylint: disable=import-outside-toplevel
    status, before, _ = server.post("/v1/chat/completions", CHAT)
    assert status == 200, before

    def wave(length, first_seed):
        until = time.monotonic() + length
        attackers = [Attacker(server.port, first_seed + i, until) for i in range(threads)]
        running = [threading.Thread(target=one.run) for one in attackers]
        for one in running:
            one.start()
        for one in running:
            one.join()
        return attackers

    def quiet():
        return (gauge(server, "vllm:num_requests_running") == 0
                and gauge(server, "vllm:num_requests_waiting") == 0)

    # A first wave fills pools and caches; what the second adds would grow for ever.
    attackers = wave(seconds * 0.3, seed)
    wait_for(quiet, 60, "no request is left")
    rss, fds = resident_bytes(server.process.pid), descriptors(server.process.pid)
    attackers += wave(seconds * 0.7, seed + 1000)
    wait_for(quiet, 60, "no request is left")
    wait_for(lambda: descriptors(server.process.pid) <= fds + 2, 60, "descriptors are closed")
    wrong = [entry for one in attackers for entry in one.wrong]
    grown = resident_bytes(server.process.pid) - rss
    status, after, _ = server.post("/v1/chat/completions", CHAT)
    if status != 200 or after["choices"] != before["choices"]:
        wrong.append(("afterwards", after))
    if gauge(server, "dure:group_restarts_total") != 0:
        wrong.append(("restarts", gauge(server, "dure:group_restarts_total")))
    return attackers, grown, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-growth", type=float, default=64, help="MiB of resident memory")
    parser.add_argument("--bin", help="folder of dure and dure-rank")
    flags = parser.parse_args()
    if flags.bin:
        os.environ["DURE_BIN"] = flags.bin
    from serving import serving  # pylint: disable=import-outside-toplevel
    with serving("--idle-timeout", "5") as server:
        attackers, grown, wrong = attack(server, flags.seconds, flags.threads, flags.seed)
    print(f"{sum(one.done for one in attackers)} attacks, {sum(one.answers for one in attackers)} "
          f"answers, {grown / 2**20:.1f} MiB more resident, {len(wrong)} wrong")
    for entry in wrong[:10]:
        print("wrong:", entry)
    if server.process.returncode != 0 or "ERROR: AddressSanitizer" in server.output:
        print(server.output[-8000:])
        return 1
    return 1 if wrong or grown > flags.most_growth * 2**20 else 0


if __name__ == "__main__":
    sys.exit(main())
