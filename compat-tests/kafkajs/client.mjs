// The matrix with kafkajs, which leaves the codecs to packages: snappy has one for kafkajs, LZ4 frames come from lz4-napi (the native
// module under kafkajs-lz4 is older than this Node), zstd is Node's own.
import zlib from 'node:zlib'
import { promisify } from 'node:util'
import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'
import lz4 from 'lz4-napi'
import { main, until, within } from './cells.mjs'

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = kafkajs
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({ compress: e => lz4.compressFrame(e.buffer), decompress: b => lz4.decompressFrame(b) })
const compress = promisify(zlib.zstdCompress); const decompress = promisify(zlib.zstdDecompress)
CompressionCodecs[CompressionTypes.ZSTD] = () => ({ compress: e => compress(e.buffer), decompress })

const item = (partition, m) => ({ partition, key: m.key.toString(), value: m.value.toString(), header: m.headers.h.toString(), timestamp: Number(m.timestamp) })

await main(async bootstrap => {
  const kafka = new Kafka({ clientId: 'cells', brokers: [bootstrap], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const read = async (topic, group, { fromBeginning = true, only } = {}) => {
    const consumer = kafka.consumer({ groupId: group, heartbeatInterval: 300, sessionTimeout: 10_000, rebalanceTimeout: 10_000, maxWaitTimeInMs: 200 })
    const g = { received: [], next: new Map(), owns: 0, consumer }
    consumer.on(consumer.events.GROUP_JOIN, e => { g.owns = (e.payload.memberAssignment[topic] ?? []).length })
    consumer.on(consumer.events.REBALANCING, () => { g.owns = 0 })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (only !== undefined && partition !== only) return
        g.received.push(item(partition, message))
        g.next.set(partition, (BigInt(message.offset) + 1n).toString())
      }
    })
    g.commit = () => consumer.commitOffsets([...g.next].map(([partition, offset]) => ({ topic, partition, offset })))
    g.assigned = () => g.owns
    g.close = () => consumer.disconnect()
    return g
  }
  return {
    // A produce that meets one partition whose leader isn't known yet is sent again as a whole, so the others would have it twice: a
    // topic is ready here once every partition answers.
    async createTopic (topic, numPartitions) {
      await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions }] })
      await until('ready', () => admin.fetchTopicOffsets(topic).then(offsets => offsets.length === numPartitions, () => false))
    },
    deleteTopic: topic => admin.deleteTopics({ topics: [topic] }),
    topics: () => admin.listTopics(),
    async produce (topic, items, codec, acks, idempotent) {
      const p = kafka.producer({ idempotent, maxInFlightRequests: idempotent ? 1 : null, createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
      await p.connect()
      const compression = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }[codec]
      await p.send({
        topic, acks: acks === 'all' ? -1 : Number(acks), compression,
        messages: items.map(i => ({ partition: i.partition, key: i.key, value: i.value, headers: { h: i.header }, timestamp: String(i.timestamp) }))
      })
      await p.disconnect()
    },
    join: (topic, group) => read(topic, group),
    // kafkajs consumes by group only: a group of its own, whose consumer seeks.
    async assign (topic, partition, how, arg, n, ready) {
      const g = await read(topic, `${topic}-${partition}-${how}-${Math.random()}`, { fromBeginning: how !== 'end', only: partition })
      try {
        if (how === 'offset') g.consumer.seek({ topic, partition, offset: String(arg) })
        if (how === 'time') {
          const at = (await admin.fetchTopicOffsetsByTimestamp(topic, arg)).find(o => o.partition === partition)
          g.consumer.seek({ topic, partition, offset: at.offset })
        }
        if (how === 'end') await within(new Promise(resolve => g.consumer.on(g.consumer.events.FETCH, resolve)), 'fetched')
        if (how === 'offset' || how === 'time') g.received.length = 0
        await ready()
        const end = Date.now() + 40_000
        while (g.received.length < n) {
          if (Date.now() > end) throw new Error(`${g.received.length} of ${n} records came`)
          await new Promise(resolve => setTimeout(resolve, 20))
        }
        return g.received.splice(0)
      } finally { await g.close() }
    }
  }
})
