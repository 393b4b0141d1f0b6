// The harness is measured before it measures: framing, arithmetic, warm-up, attribution, and honesty about waiting.
import { createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { unbundled } from './bundled-frames.ts'
import { attribute, type CallFrame, type CpuProfile } from './cpu-profile.ts'
import { exponent, logarithmsExponent, quantile, slope } from './figures.ts'
import { messageReader } from './http1-message.ts'
import { runLoad } from './load-loops.ts'
import { type Contender, type Round, summarize } from './measure.ts'
import { growthOf } from './soak.ts'
import { leastStolen, undisturbed } from './undisturbed.ts'
import { isSteady } from './warm-up.ts'

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'
const CHUNKED =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\na;x=y\r\n0123456789\r\n0\r\nt: 1\r\n\r\n'
const EMPTY = 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n'

function read(pieces: readonly Buffer[]): string[] {
  const whole: string[] = []
  let body = ''
  const take = messageReader({
    head(text) {
      body = `${text.slice(9, 12)} `
    },
    body(bytes, from, to) {
      body += bytes.toString('latin1', from, to)
    },
    end: () => void whole.push(body),
  })
  for (const piece of pieces) take(piece)
  return whole
}

test('messages end where they end, wherever the bytes are cut', () => {
  const bytes = Buffer.from(SIZED + CHUNKED + EMPTY + SIZED)
  const expected = ['200 hello', '200 abc0123456789', '204 ', '200 hello']
  for (let cut = 0; cut <= bytes.length; cut++)
    expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(expected)
  expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(expected)
  expect(read([bytes.subarray(0, SIZED.length - 1)])).toEqual([])
})

test('quantiles are values that were measured', () => {
  const hundred = Array.from({ length: 100 }, (_none, at) => 100 - at)
  expect([0, 0.2, 0.5, 0.99, 1].map((share) => quantile(hundred, share))).toEqual([1, 20, 50, 99, 100])
  expect(quantile([], 0.5)).toBe(0)
})

test('a slope is not moved by a few wild samples', () => {
  const flat = Array.from({ length: 30 }, (_none, at) => [at, at === 29 || at === 3 ? 1_000 : 7] as const)
  expect(slope(flat)).toBe(0)
  expect(slope(flat.map(([x, y]) => [x, y + 2 * x] as const))).toBe(2)
})

test('growth is told from its exponent, and a logarithm from a root', () => {
  const sizes = [10, 100, 1_000, 10_000, 100_000]
  const curve = (cost: (n: number) => number) => exponent(sizes.map((n) => [n, cost(n)] as const))
  expect(curve((n) => 3 * n)).toBeCloseTo(1)
  expect(curve(() => 40)).toBeCloseTo(0)
  expect(curve((n) => 40 + Math.log(n))).toBeLessThan(logarithmsExponent(sizes))
  expect(curve((n) => 40 + n ** 0.5)).toBeGreaterThan(logarithmsExponent(sizes))
})

test('warm means that the cost has stopped falling', () => {
  expect(isSteady([900, 500])).toBe(false)
  expect(isSteady([900, 500, 300, 200, 150])).toBe(false)
  expect(isSteady([900, 200, 201, 199, 200])).toBe(true)
  expect(isSteady([200, 230, 199, 240])).toBe(true)
})

test('ratios are of the same round, and a reference is no base', () => {
  const round = (cpu: number[]) =>
    cpu.map((cpu_us) => ({ cpu_us, per_second: 1 / cpu_us, idle: 0, failures: 0 }) as Round)
  const contenders = ['direct', 'base', 'ours'].map(
    (name) => ({ name, reference_only: name === 'direct' }) as Contender,
  )
  // The machine is ten times slower in the second round; ours costs 1.5 × in all but one of the three.
  const [, base, ours] = summarize([round([5, 100, 150]), round([5, 1_000, 1_500]), round([5, 10, 30])], contenders)
  expect([base?.cpu_ratio.median, ours?.cpu_ratio.median, ours?.cpu_ratio.p80]).toEqual([1, 1.5, 3])
})

test('a leak is told from a heap that settles, and from one that wavers', () => {
  const MB = 1024 * 1024
  const points = (bytes: (at: number) => number) =>
    Array.from({ length: 12 }, (_none, at) => [at * 50, bytes(at) * MB] as const)
  expect(growthOf(points((at) => 80 + (at % 3) * 4)).flat).toBe(true)
  expect(growthOf(points((at) => 80 + Math.min(at, 4) * 10)).flat).toBe(true) // it settles in the first third
  expect(growthOf(points((at) => 80 + (at % 3) * 4 + at)).flat).toBe(false)
  expect(growthOf([]).flat).toBe(false) // nothing measured is nothing shown
})

test('time is told by what ran, and on whose account', () => {
  const frame = (functionName: string, url = ''): CallFrame => ({ functionName, url, lineNumber: 9 })
  const ours = (path: string) => `file:///x/dist/src/${path}.js`
  const stacks: CallFrame[][] = [
    [frame('(garbage collector)')],
    [frame('(idle)')],
    [frame('emit', 'node:events'), frame('settle', ours('inference/settle'))],
    [frame('function'), frame('commitTogether', ours('storage/sqlite'))],
    [frame('run', 'file:///x/node_modules/fastify/lib/hooks.js')],
    [frame('dispatch'), frame('post', 'node:inspector')],
  ]
  const nodes: CpuProfile['nodes'] = []
  const leaves = stacks.map((stack) => {
    const ids = stack.map((callFrame) => nodes.push({ id: nodes.length + 1, callFrame }))
    for (const [at, id] of ids.entries()) {
      const caller = nodes[(ids[at + 1] ?? 0) - 1]
      if (caller) caller.children = [id]
    }
    return ids[0] as number
  })
  const { ran, account } = attribute({ nodes, samples: leaves, timeDeltas: [10, 999, 30, 40, 20, 999] })
  expect(ran.map(({ name, share }) => [name, share])).toEqual([
    ['SQLite: begin and commit', 0.4],
    ['node: sockets, streams, events', 0.3],
    ['fastify', 0.2],
    ['garbage collection', 0.1],
  ])
  expect(account.map(({ name }) => name)).toEqual([
    'storage/sqlite.ts',
    'inference/settle.ts',
    '(fastify)',
    '(garbage collection)',
  ])
})

test('a function of the bundle is told by the source that it came from', () => {
  const text = [
    'import x',
    '// src/usage/usage-store.ts',
    'function insert() {}',
    '',
    '// node_modules/fastify/lib/reply.js',
    'y',
  ]
  const at = (lineNumber: number, url = 'file:///x/dist/cli/chunk-ABC.js') => ({ functionName: 'f', url, lineNumber })
  const frames = [at(0), at(2), at(5), at(5, 'node:events')]
  const nodes = frames.map((callFrame, id) => ({ id, callFrame }))
  const told = unbundled({ nodes, samples: [], timeDeltas: [] }, () => text.join('\n'))
  expect(told.nodes.map(({ callFrame }) => callFrame.url)).toEqual([
    'file:///x/dist/cli/chunk-ABC.js',
    'file:///x/dist/src/usage/usage-store.js',
    'file:///x/dist/node_modules/fastify/lib/reply.js',
    'node:events',
  ])
})

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
const STALL_AT_MS = 100
const STALL_MS = 800

/** Answers at once, but for a stretch in which everything that comes waits for its end. */
async function stallingServer(): Promise<number> {
  let started = 0
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on(
      'data',
      messageReader({
        head: () => {},
        body: () => {},
        end: () => {
          started ||= performance.now()
          const into = performance.now() - started - STALL_AT_MS
          const wait = into >= 0 && into < STALL_MS ? STALL_MS - into : 0
          setTimeout(() => socket.write(OK), wait)
        },
      }),
    )
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as { port: number }).port
}

test('an open loop tells of everything that waited behind a stall', async () => {
  const plan = { path: '/', headers: {}, body: '{}', connections: 1, seconds: 1, per_second: 200 }
  const { requests, failures, p50_ms } = await runLoad({ ...plan, port: await stallingServer() })
  expect([requests, failures]).toEqual([200, 0])
  // Four in five were due during the stall. A loop that waits for answers would have sent one of them, and call it rare.
  expect(p50_ms).toBeGreaterThan(STALL_MS / 4)
})

test('what the host disturbed is tried again, five times at the most, and the least disturbed try counts', async () => {
  let tries = 0
  const count = async () => ++tries
  expect(await undisturbed(1, count)).toMatchObject({ value: 1, set_aside: [] })
  const always = await undisturbed(-1, count) // nothing is as quiet as this
  expect(tries).toBe(6)
  expect(always.set_aside).toHaveLength(4)
  const tried = [0.3, 0.1, 0.2].map((stolen, value) => ({ value, stolen }))
  expect(leastStolen(tried)).toEqual({ value: 1, stolen: 0.1, set_aside: [tried[0], tried[2]] })
})
