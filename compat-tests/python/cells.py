"""The matrix of ../cells for clients written in Python.

A client is an object with the methods that `Client` below lists; `main` plays every cell and prints
"PASS cell" or "FAIL cell: reason". Blocking calls have their own time limits.
"""
import os
import sys
import threading
import time
from collections import namedtuple

PARTITIONS, PER_PARTITION, LIMIT = 4, 50, 40.0

Item = namedtuple("Item", "partition key value header timestamp")


class Client:
    """What a client library has to do. Groups are objects with poll() -> [Item], commit(), assigned() -> int, close()."""

    def create_topic(self, topic, partitions): raise NotImplementedError
    def delete_topic(self, topic): raise NotImplementedError
    def topics(self): raise NotImplementedError
    def produce(self, topic, items, codec, acks, idempotent): raise NotImplementedError
    def join(self, topic, group): raise NotImplementedError
    # Reads n items of one partition; start is ("beginning"|"end"|"offset"|"time", argument). ready() is
    # called once the position is fixed.
    def assign(self, topic, partition, start, n, ready): raise NotImplementedError


def items(per_partition, word="key"):
    start = int(time.time() * 1000) - 60_000
    return [Item(p, f"{word}-{p}-{i}", f"value-{p}-{i}" + "x" * (i % 97), str(i), start + i * 1000)
            for i in range(per_partition) for p in range(PARTITIONS)]


def same(got, want):
    if len(got) != len(want):
        raise AssertionError(f"{len(got)} records came back, want {len(want)}")
    for p in range(PARTITIONS):
        g, w = [i for i in got if i.partition == p], [i for i in want if i.partition == p]
        if g != w:
            raise AssertionError(f"partition {p} differs: {len(g)} records, want {len(w)}; first {g[:1]}, want {w[:1]}")


def until(what, ok, step=lambda: time.sleep(0.05)):
    end = time.monotonic() + LIMIT
    while not ok():
        if time.monotonic() > end:
            raise AssertionError("never " + what)
        step()


def drain(n, *groups):
    got, end, i = [], time.monotonic() + LIMIT, 0
    while len(got) < n:
        got += groups[i % len(groups)].poll()
        i += 1
        if time.monotonic() > end:
            raise AssertionError(f"{len(got)} of {n} records came")
    return got


class Suite:
    def __init__(self, client):
        self.c, self.failed = client, 0
        self.prefix = f"py-{os.getpid()}-{time.time_ns():x}"

    def cell(self, name, f, *args):
        try:
            f(*args)
            print("PASS", name, flush=True)
        except Exception as e:  # a cell that fails is told, whatever the library raised
            self.failed += 1
            print(f"FAIL {name}: {type(e).__name__} {e}".replace("\n", " "), flush=True)

    def topic(self, name):
        t = f"{self.prefix}-{name}"
        self.c.create_topic(t, PARTITIONS)
        return t

    def fill(self, name):
        t, want = self.topic(name), items(PER_PARTITION)
        self.c.produce(t, want, "none", "all", False)
        return t, want

    def read_all(self, t, want):
        return [i for p in range(PARTITIONS)
                for i in self.c.assign(t, p, ("beginning", 0), sum(w.partition == p for w in want), lambda: None)]

    def create(self):
        t = self.topic("create")
        until("listed", lambda: t in self.c.topics())

    def delete(self):
        t = self.topic("delete")
        self.c.delete_topic(t)
        until("gone", lambda: t not in self.c.topics())

    def produce(self, codec, acks, idempotent):
        t, want = self.topic(f"produce-{codec}-{acks}-{idempotent}"), items(PER_PARTITION)
        rest = want
        if acks == "0":
            # Without acks a record sent before a new partition has found its leader is lost, on Kafka too.
            self.c.produce(t, want[:PARTITIONS], codec, "all", False)
            rest = want[PARTITIONS:]
        self.c.produce(t, rest, codec, acks, idempotent)
        same(self.read_all(t, want), want)

    def group(self):
        t, want = self.fill("group")
        g = self.c.join(t, t)
        try:
            same(drain(len(want), g), want)
        finally:
            g.close()

    def assign(self):
        t, want = self.fill("assign")
        same(self.read_all(t, want), want)

    def rebalance(self):
        t, want = self.fill("rebalance")
        a = self.c.join(t, t)
        try:
            same(drain(len(want), a), want)
            a.commit()
            b = self.c.join(t, t)
            try:
                # Both poll at once: an eager rebalance makes each wait for the other's join.
                def both():
                    ts = [threading.Thread(target=g.poll) for g in (a, b)]
                    [x.start() for x in ts]
                    [x.join() for x in ts]
                until("split", lambda: a.assigned() == b.assigned() == PARTITIONS // 2, both)
                more = items(PER_PARTITION, "more")
                self.c.produce(t, more, "none", "all", False)
                same(drain(len(more), a, b), more)
                a.commit()
                b.commit()
            finally:
                b.close()
            until("all back with the first member", lambda: a.assigned() == PARTITIONS, a.poll)
        finally:
            a.close()

    def seek(self, how):
        t, want = self.fill("seek-" + how)
        want, arg = [i for i in want if i.partition == 1], 0
        ready = lambda: None
        if how == "offset":
            arg, want = 17, want[17:]
        elif how == "time":
            arg, want = want[23].timestamp, want[23:]
        elif how == "end":
            want = [Item(1, "new", "new", "1", int(time.time() * 1000))]
            ready = lambda: self.c.produce(t, want, "none", "all", False)
        got = self.c.assign(t, 1, (how, arg), len(want), ready)
        if got != want:
            raise AssertionError(f"got {len(got)} records from {got[:1]}, want {len(want)} from {want[:1]}")

    def resume(self):
        t, want = self.fill("resume")
        g = self.c.join(t, t)
        try:
            same(drain(len(want), g), want)
            g.commit()
        finally:
            g.close()
        more = items(20, "more")
        self.c.produce(t, more, "none", "all", False)
        g = self.c.join(t, t)
        try:
            same(drain(len(more), g), more)
        finally:
            g.close()


def main(make):
    s = Suite(make(sys.argv[1]))
    s.cell("create-topic", s.create)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        for acks in ("0", "1", "all"):
            s.cell(f"produce-{codec}-acks-{acks}", s.produce, codec, acks, False)
    s.cell("idempotent", s.produce, "none", "all", True)
    s.cell("consume-group", s.group)
    s.cell("consume-assign", s.assign)
    s.cell("rebalance", s.rebalance)
    for how in ("beginning", "end", "offset", "time"):
        s.cell("seek-" + how, s.seek, how)
    s.cell("commit-resume", s.resume)
    s.cell("delete-topic", s.delete)
    sys.stdout.flush()
    os._exit(1 if s.failed else 0)
