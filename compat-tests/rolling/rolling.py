"""rolling.py BROKERS TOPIC GROUP: the work of main.go with librdkafka."""
import collections
import os
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

BROKERS, TOPIC, GROUP = sys.argv[1:4]
PARTITIONS, INTERVAL, ENOUGH, PATIENCE = 6, 0.004, 200, 90

lock = threading.Lock()
acked, read, stored = set(), collections.Counter(), collections.Counter()
errors, notices, moves = [], collections.Counter(), [0]
ready, end_producing, end_consuming = threading.Event(), threading.Event(), threading.Event()


def error(what, e):
    with lock:
        errors.append(f"{what}: {e}")


def notice(e):
    # librdkafka tells here of connections that broke: "informational", by its own documentation, unless fatal
    if e.fatal():
        error("fatal", e)
    notices[e.name()] += 1


def base(**more):
    return {"bootstrap.servers": BROKERS, "error_cb": notice, "log_level": 0, **more}


def produce():
    p = Producer(base(**{"enable.idempotence": True, "linger.ms": 5}))

    def delivered(e, m):
        if e is not None:
            error("produce", e)
        else:
            acked.add(m.value())

    n = 0
    while not end_producing.is_set():
        p.produce(TOPIC, key=str(n), value=str(n), on_delivery=delivered)
        n += 1
        p.poll(0)
        time.sleep(INTERVAL)
    left = p.flush(PATIENCE)
    if left:
        error("flush", f"{left} records are left")


def moved(_consumer, _partitions):
    with lock:
        if ready.is_set() and not end_consuming.is_set():
            moves[0] += 1


def consume():
    c = Consumer(base(**{"group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest",
                         "partition.assignment.strategy": "cooperative-sticky"}))
    c.subscribe([TOPIC], on_assign=moved, on_revoke=moved, on_lost=moved)
    while not end_consuming.is_set():
        batch = c.consume(500, timeout=0.2)
        got = 0
        for m in batch:
            if m.error():
                if m.error().code() != KafkaError._PARTITION_EOF:
                    error("fetch", m.error())
                continue
            got += 1
            with lock:
                read[m.value()] += 1
        if got:
            try:
                for p in c.commit(asynchronous=False):
                    if p.error:
                        error("commit", p.error)
            except KafkaException as e:
                error("commit", e)
    c.close()


def read_all():
    c = Consumer(base(**{"group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest"}))
    partitions = [TopicPartition(TOPIC, i, 0) for i in range(PARTITIONS)]
    ends = [c.get_watermark_offsets(p, timeout=30)[1] for p in partitions]
    c.assign(partitions)
    left, until = sum(ends), time.time() + PATIENCE
    while left > 0 and time.time() < until:
        for m in c.consume(1000, timeout=0.2):
            if not m.error():
                stored[m.value()] += 1
                left -= 1
    behind = sum(ends) - sum(max(p.offset, 0) for p in c.committed(partitions, timeout=30))
    c.close()
    return behind


producer = threading.Thread(target=produce)
consumers = [threading.Thread(target=consume) for _ in range(2)]
for t in [producer, *consumers]:
    t.start()
while len(acked) < ENOUGH or len(read) < ENOUGH:
    time.sleep(0.02)
time.sleep(8)
ready.set()
print("ready", flush=True)
sys.stdin.read()
end_producing.set()
producer.join()
until = time.time() + PATIENCE
while len(read) < len(acked) and time.time() < until:
    time.sleep(0.05)
end_consuming.set()
for t in consumers:
    t.join()
behind = read_all()
lost = sum(1 for v in acked if v not in stored)
missed = sum(1 for v in acked if v not in read)
doubled, again = sum(stored.values()) - len(stored), sum(read.values()) - len(read)
for e in errors[:5]:
    print("librdkafka error:", e)
print(f"librdkafka: {len(acked)} acknowledged, {lost} lost, {doubled} doubled; the group read {len(read)}, missed {missed}, read {again} again, "
      f"is {behind} behind; {moves[0]} rebalance calls; {len(errors)} errors")
print("librdkafka notices:", dict(notices))
bad = lost + missed + doubled + again + moves[0] + len(errors) > 0 or behind != 0 or not acked
print("FAIL librdkafka" if bad else "PASS librdkafka", flush=True)
os._exit(0)
