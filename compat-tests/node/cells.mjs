// The matrix of ../cells for clients written for Node. A client is an object with createTopic, deleteTopic, topics, produce, join and
// assign (see ../python/cells.py for what each means); main plays every cell and prints "PASS cell" or "FAIL cell: reason".
const PARTITIONS = 4, PER_PARTITION = 50, LIMIT = 40_000

export const sleep = ms => new Promise(r => setTimeout(r, ms))

export function within (promise, what, ms = LIMIT) {
  let timer
  return Promise.race([promise, new Promise((_, no) => { timer = setTimeout(() => no(new Error('never ' + what)), ms) })]).finally(() => clearTimeout(timer))
}

function items (perPartition, word = 'key') {
  const start = Date.now() - 60_000
  const out = []
  for (let i = 0; i < perPartition; i++) {
    for (let p = 0; p < PARTITIONS; p++) {
      out.push({ partition: p, key: `${word}-${p}-${i}`, value: `value-${p}-${i}` + 'x'.repeat(i % 97), header: String(i), timestamp: start + i * 1000 })
    }
  }
  return out
}

function same (got, want) {
  if (got.length !== want.length) throw new Error(`${got.length} records came back, want ${want.length}`)
  for (let p = 0; p < PARTITIONS; p++) {
    const g = JSON.stringify(got.filter(i => i.partition === p)); const w = JSON.stringify(want.filter(i => i.partition === p))
    if (g !== w) throw new Error(`partition ${p} differs: ${g.slice(0, 150)} want ${w.slice(0, 150)}`)
  }
}

export async function until (what, ok) {
  const end = Date.now() + LIMIT
  while (!await ok()) {
    if (Date.now() > end) throw new Error('never ' + what)
    await sleep(50)
  }
}

// A group has received (an array that grows), commit(), assigned(), close().
const take = async (n, ...groups) => {
  await until(`${n} records`, () => groups.reduce((sum, g) => sum + g.received.length, 0) >= n)
  return groups.flatMap(g => g.received.splice(0))
}

export async function main (make) {
  const c = await make(process.argv[2])
  const prefix = `node-${process.pid}-${Date.now().toString(36)}`
  let failed = 0
  const cell = async (name, f) => {
    if (process.env.CELL && process.env.CELL !== name) return // one cell alone, to look into it
    try {
      await within(f(), 'done', 90_000)
      console.log('PASS', name)
    } catch (e) {
      failed++
      console.log(`FAIL ${name}: ${String(e?.stack ?? e).replaceAll('\n', ' ').slice(0, 400)}`)
    }
  }
  const topic = async name => {
    await c.createTopic(`${prefix}-${name}`, PARTITIONS)
    return `${prefix}-${name}`
  }
  const fill = async name => {
    const t = await topic(name); const want = items(PER_PARTITION)
    await c.produce(t, want, 'none', 'all', false)
    return [t, want]
  }
  const readAll = async (t, want) => { // all at once: a new group may wait seconds for more members
    const read = p => c.assign(t, p, 'beginning', 0, want.filter(w => w.partition === p).length, async () => {})
    return (await Promise.all([...Array(PARTITIONS).keys()].map(read))).flat()
  }
  const produce = (codec, acks, idempotent) => async () => {
    const t = await topic(`produce-${codec}-${acks}-${idempotent}`); const want = items(PER_PARTITION)
    let rest = want
    if (acks === '0') { // without acks a record sent before a new partition has found its leader is lost, on Kafka too
      await c.produce(t, want.slice(0, PARTITIONS), codec, 'all', false)
      rest = want.slice(PARTITIONS)
    }
    await c.produce(t, rest, codec, acks, idempotent)
    same(await readAll(t, want), want)
  }
  await cell('create-topic', async () => {
    const t = await topic('create')
    await until('listed', async () => (await c.topics()).includes(t))
  })
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) for (const acks of ['0', '1', 'all']) await cell(`produce-${codec}-acks-${acks}`, produce(codec, acks, false))
  await cell('idempotent', produce('none', 'all', true))
  await cell('consume-group', async () => {
    const [t, want] = await fill('group')
    const g = await c.join(t, t)
    try { same(await take(want.length, g), want) } finally { await g.close() }
  })
  await cell('consume-assign', async () => {
    const [t, want] = await fill('assign')
    same(await readAll(t, want), want)
  })
  await cell('rebalance', async () => {
    const [t, want] = await fill('rebalance')
    const a = await c.join(t, t)
    try {
      same(await take(want.length, a), want)
      await a.commit()
      const b = await c.join(t, t)
      try {
        await until('split', () => a.assigned() === PARTITIONS / 2 && b.assigned() === PARTITIONS / 2)
        const more = items(PER_PARTITION, 'more')
        await c.produce(t, more, 'none', 'all', false)
        same(await take(more.length, a, b), more)
        await a.commit(); await b.commit()
      } finally { await b.close() }
      await until('all back with the first member', () => a.assigned() === PARTITIONS)
    } finally { await a.close() }
  })
  for (const how of ['beginning', 'end', 'offset', 'time']) {
    await cell('seek-' + how, async () => {
      const [t, all] = await fill('seek-' + how)
      let want = all.filter(i => i.partition === 1); let arg = 0; let ready = async () => {}
      if (how === 'offset') { arg = 17; want = want.slice(17) }
      if (how === 'time') { arg = want[23].timestamp; want = want.slice(23) }
      if (how === 'end') {
        want = [{ partition: 1, key: 'new', value: 'new', header: '1', timestamp: Date.now() }]
        ready = () => c.produce(t, want, 'none', 'all', false)
      }
      const got = await c.assign(t, 1, how, arg, want.length, ready)
      if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`got ${got.length} records from ${JSON.stringify(got[0])}, want ${want.length} from ${JSON.stringify(want[0])}`)
    })
  }
  await cell('commit-resume', async () => {
    const [t, want] = await fill('resume')
    const g = await c.join(t, t)
    try { same(await take(want.length, g), want); await g.commit() } finally { await g.close() }
    const more = items(20, 'more')
    await c.produce(t, more, 'none', 'all', false)
    const h = await c.join(t, t)
    try { same(await take(more.length, h), more) } finally { await h.close() }
  })
  await cell('delete-topic', async () => {
    const t = await topic('delete')
    await c.deleteTopic(t)
    await until('gone', async () => !(await c.topics()).includes(t))
  })
  process.exit(failed ? 1 : 0)
}
