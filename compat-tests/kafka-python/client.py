"""The matrix with kafka-python."""
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

import cells


def item(m):
    return cells.Item(m.partition, m.key.decode(), m.value.decode(), m.headers[0][1].decode(), m.timestamp)


def flat(polled):
    return [item(m) for ms in polled.values() for m in ms]


class Group:
    def __init__(self, bootstrap, topic, group):
        self.c = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                               enable_auto_commit=False, heartbeat_interval_ms=300)

    def poll(self):
        return flat(self.c.poll(timeout_ms=300))

    def commit(self):
        self.c.commit()

    def assigned(self):
        return len(self.c.assignment())

    def close(self):
        self.c.close()


class KafkaPython(cells.Client):
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def create_topic(self, topic, partitions):
        self.admin.create_topics([NewTopic(topic, partitions, 1)])

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])

    def topics(self):
        return set(self.admin.list_topics())

    def produce(self, topic, items, codec, acks, idempotent):
        p = KafkaProducer(bootstrap_servers=self.bootstrap, acks=acks if acks == "all" else int(acks),
                          compression_type=None if codec == "none" else codec, enable_idempotence=idempotent, linger_ms=5)
        try:
            fs = [p.send(topic, i.value.encode(), i.key.encode(), [("h", i.header.encode())], i.partition, i.timestamp) for i in items]
            p.flush(20)
            [f.get(20) for f in fs]
        finally:
            p.close()

    def join(self, topic, group):
        return Group(self.bootstrap, topic, group)

    def assign(self, topic, partition, start, n, ready):
        c = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
        try:
            tp, (how, arg) = TopicPartition(topic, partition), start
            c.assign([tp])
            if how == "beginning":
                c.seek_to_beginning(tp)
            elif how == "end":
                c.seek_to_end(tp)
                c.position(tp)
            elif how == "offset":
                c.seek(tp, arg)
            else:
                c.seek(tp, c.offsets_for_times({tp: arg})[tp].offset)
            ready()
            got, end = [], time.monotonic() + cells.LIMIT
            while len(got) < n:
                got += flat(c.poll(timeout_ms=300))
                if time.monotonic() > end:
                    raise AssertionError(f"{len(got)} of {n} records came")
            return got
        finally:
            c.close()


cells.main(KafkaPython)
