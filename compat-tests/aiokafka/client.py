"""The matrix with aiokafka, driven from one event loop on a thread of its own."""
import asyncio
import threading

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import cells

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()


def run(coroutine):
    return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, cells.LIMIT), loop).result()


def item(m):
    return cells.Item(m.partition, m.key.decode(), m.value.decode(), m.headers[0][1].decode(), m.timestamp)


def flat(polled):
    return [item(m) for ms in polled.values() for m in ms]


class Group:
    def __init__(self, bootstrap, topic, group):
        async def start():
            self.c = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                                      enable_auto_commit=False, heartbeat_interval_ms=300)
            await self.c.start()
        run(start())

    def poll(self):
        return flat(run(self.c.getmany(timeout_ms=300)))

    def commit(self):
        run(self.c.commit())

    def assigned(self):
        return len(self.c.assignment())

    def close(self):
        run(self.c.stop())


class Aiokafka(cells.Client):
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

        async def start():
            self.admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
            await self.admin.start()
        run(start())

    def create_topic(self, topic, partitions):
        r = run(self.admin.create_topics([NewTopic(topic, partitions, 1)]))
        if r.topic_errors[0][1]:
            raise RuntimeError(r)

    def delete_topic(self, topic):
        run(self.admin.delete_topics([topic]))

    def topics(self):
        return set(run(self.admin.list_topics()))

    def produce(self, topic, items, codec, acks, idempotent):
        async def go():
            p = AIOKafkaProducer(bootstrap_servers=self.bootstrap, acks=acks if acks == "all" else int(acks),
                                 compression_type=None if codec == "none" else codec, enable_idempotence=idempotent, linger_ms=5)
            await p.start()
            try:
                fs = [await p.send(topic, i.value.encode(), i.key.encode(), i.partition, i.timestamp, [("h", i.header.encode())])
                      for i in items]
                for f in fs:
                    await f
            finally:
                await p.stop()
        run(go())

    def join(self, topic, group):
        return Group(self.bootstrap, topic, group)

    def assign(self, topic, partition, start, n, ready):
        async def position():
            c = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
            await c.start()
            tp, (how, arg) = TopicPartition(topic, partition), start
            c.assign([tp])
            if how == "beginning":
                await c.seek_to_beginning(tp)
            elif how == "end":
                await c.seek_to_end(tp)
                await c.position(tp)
            elif how == "offset":
                c.seek(tp, arg)
            else:
                c.seek(tp, (await c.offsets_for_times({tp: arg}))[tp].offset)
            return c

        async def read(c):
            got = []
            try:
                while len(got) < n:
                    got += flat(await c.getmany(timeout_ms=300))
            finally:
                await c.stop()
            return got
        c = run(position())
        ready()
        return run(read(c))


cells.main(Aiokafka)
