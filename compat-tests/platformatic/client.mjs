// The matrix with @platformatic/kafka.
import { Admin, Consumer, Producer, MessagesStreamModes, MessagesStreamFallbackModes, ListOffsetTimestamps } from '@platformatic/kafka'
import { main, until } from './cells.mjs'

const item = m => ({ partition: m.partition, key: m.key.toString(), value: m.value.toString(), header: [...m.headers.values()][0].toString(), timestamp: Number(m.timestamp) })

await main(async bootstrap => {
  const base = { clientId: 'cells', bootstrapBrokers: [bootstrap], retries: 3 }
  const admin = new Admin(base)
  return {
    // A produce that meets one partition whose leader isn't known yet is sent again as a whole, so the others would have it twice: a
    // topic is ready here once every partition answers.
    async createTopic (topic, partitions) {
      await admin.createTopics({ topics: [topic], partitions, replicas: 1 })
      const all = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: ListOffsetTimestamps.LATEST }))
      await until('ready', () => admin.listOffsets({ topics: [{ name: topic, partitions: all }] }).then(() => true, () => false))
    },
    deleteTopic: topic => admin.deleteTopics({ topics: [topic] }),
    topics: () => admin.listTopics({ includeInternals: false }),
    async produce (topic, items, compression, acks, idempotent) {
      const p = new Producer({ ...base, idempotent, acks: acks === 'all' ? -1 : Number(acks), compression })
      await p.send({
        messages: items.map(i => ({
          topic, partition: i.partition, key: Buffer.from(i.key), value: Buffer.from(i.value),
          headers: new Map([[Buffer.from('h'), Buffer.from(i.header)]]), timestamp: BigInt(i.timestamp)
        }))
      })
      await p.close()
    },
    async join (topic, groupId) {
      const consumer = new Consumer({ ...base, groupId, heartbeatInterval: 300, sessionTimeout: 10_000, rebalanceTimeout: 10_000, maxWaitTime: 200 })
      const stream = await consumer.consume({ topics: [topic], autocommit: false, mode: MessagesStreamModes.COMMITTED, fallbackMode: MessagesStreamFallbackModes.EARLIEST })
      const g = { received: [], next: new Map() }
      // A rebalance has come through when the stream has gone back to the committed offsets and the fetch that was under way is
      // done: the library delivers that one whole, though its partitions may be another member's by now.
      let waitFor = ''
      consumer.on('consumer:group:join', () => { waitFor = 'offsets' })
      stream.on('offsets', () => { if (waitFor === 'offsets') waitFor = 'fetch' })
      stream.on('fetch', () => { if (waitFor === 'fetch') waitFor = '' })
      stream.on('data', m => {
        g.received.push(item(m))
        g.next.set(m.partition, m)
      })
      stream.on('error', () => {})
      g.commit = () => consumer.commit({ offsets: [...g.next.values()].map(m => ({ topic, partition: m.partition, offset: m.offset + 1n, leaderEpoch: -1 })) })
      g.assigned = () => waitFor ? -1 : (consumer.assignments ?? []).filter(a => a.topic === topic).reduce((n, a) => n + a.partitions.length, 0)
      g.close = async () => {
        await stream.close()
        await consumer.close(true)
      }
      return g
    },
    async assign (topic, partition, how, arg, n, ready) {
      const groupId = `${topic}-${partition}-${how}-${Math.random()}`
      const consumer = new Consumer({ ...base, groupId, heartbeatInterval: 300, maxWaitTime: 200 })
      const stamp = { beginning: ListOffsetTimestamps.EARLIEST, end: ListOffsetTimestamps.LATEST, time: BigInt(arg) }[how]
      let offset = BigInt(arg)
      if (how !== 'offset') offset = (await consumer.listOffsets({ topics: [topic], partitions: { [topic]: [partition] }, timestamp: stamp })).get(topic)[partition] ?? (await consumer.listOffsets({ topics: [topic], timestamp: stamp })).get(topic)[partition]
      // The library reads a whole topic by group: the other partitions start at their ends.
      const ends = (await consumer.listOffsets({ topics: [topic] })).get(topic)
      const offsets = ends.map((e, p) => ({ topic, partition: p, offset: p === partition ? offset : e }))
      const stream = await consumer.consume({ topics: [topic], autocommit: false, mode: MessagesStreamModes.MANUAL, offsets })
      const received = []
      stream.on('data', m => { if (m.partition === partition) received.push(item(m)) })
      stream.on('error', () => {})
      try {
        await ready()
        const end = Date.now() + 40_000
        while (received.length < n) {
          if (Date.now() > end) throw new Error(`${received.length} of ${n} records came`)
          await new Promise(resolve => setTimeout(resolve, 20))
        }
        return received
      } finally {
        await stream.close()
        await consumer.close(true)
      }
    }
  }
})
