"""The matrix with librdkafka, through confluent-kafka-python."""
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition, OFFSET_BEGINNING, OFFSET_END
from confluent_kafka.admin import AdminClient, NewTopic

import cells


def item(m):
    return cells.Item(m.partition(), m.key().decode(), m.value().decode(), m.headers()[0][1].decode(), m.timestamp()[1])


class Group:
    def __init__(self, conf, topic, group):
        self.c = Consumer({**conf, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
                           "heartbeat.interval.ms": 300, "session.timeout.ms": 10000})
        self.c.subscribe([topic])

    def poll(self):
        out = []
        for m in self.c.consume(100, 0.3):
            if m.error():
                raise RuntimeError(m.error())
            out.append(item(m))
        return out

    def commit(self):
        self.c.commit(asynchronous=False)

    def assigned(self):
        return len(self.c.assignment())

    def close(self):
        self.c.close()


class Rdkafka(cells.Client):
    def __init__(self, bootstrap):
        self.conf = {"bootstrap.servers": bootstrap}
        self.admin = AdminClient(self.conf)

    def create_topic(self, topic, partitions):
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(20)

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])[topic].result(20)

    def topics(self):
        return set(self.admin.list_topics(timeout=20).topics)

    def produce(self, topic, items, codec, acks, idempotent):
        p = Producer({**self.conf, "acks": acks, "compression.type": codec, "enable.idempotence": idempotent, "linger.ms": 5})
        errors = []
        for i in items:
            p.produce(topic, i.value, i.key, i.partition, timestamp=i.timestamp, headers=[("h", i.header)],
                      on_delivery=lambda e, _: errors.append(e) if e else None)
        if p.flush(20) or errors:
            raise RuntimeError(f"not delivered: {errors[:1]}")

    def join(self, topic, group):
        return Group(self.conf, topic, group)

    def assign(self, topic, partition, start, n, ready):
        c = Consumer({**self.conf, "group.id": "none", "enable.auto.commit": False})
        try:
            how, arg = start
            tp = TopicPartition(topic, partition, arg)
            if how == "beginning":
                tp.offset = OFFSET_BEGINNING
            elif how == "end":
                tp.offset = c.get_watermark_offsets(tp, timeout=20)[1]
            elif how == "time":
                tp = c.offsets_for_times([tp], timeout=20)[0]
            c.assign([tp])
            ready()
            got, end = [], time.monotonic() + cells.LIMIT
            while len(got) < n:
                for m in c.consume(100, 0.3):
                    if m.error():
                        raise RuntimeError(m.error())
                    got.append(item(m))
                if time.monotonic() > end:
                    raise AssertionError(f"{len(got)} of {n} records came")
            return got
        finally:
            c.close()


cells.main(Rdkafka)
