// §8.2 recordings on their way to the store: bounded in memory whatever the store does, whole or not at all, and what is
// dropped is counted with its reason.
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { unpacked } from './packing.ts'
import { type CountedDrop, type PackToWrite, recorder, type Written } from './recorder.ts'
import { type DroppedFor, RECORDING_MAX_BYTES } from './recording.ts'
import type { RoomBounds } from './recording-room.ts'

const KIB = 1_024
const never = () => new Promise<never>(() => {})

function scene({ bounds, write }: { bounds?: RoomBounds; write(pack: PackToWrite): Promise<Written> }) {
  const drops: CountedDrop[] = []
  const counted: Partial<Record<DroppedFor, number>> = {}
  const tapes = recorder({
    clock: heldClock(),
    write,
    writeDrops: async (more) => void drops.push(...more),
    onDrop: (reason, count) => {
      counted[reason] = (counted[reason] ?? 0) + count
    },
    onFailure: () => {},
    ...(bounds && { bounds }),
  })
  let calls = 0
  function record(project_id: string, request: Buffer, parts: readonly Buffer[], status = 200): string {
    const trace_id = `trc_${calls++}`
    const who = { key_id: 'key_1', made_by: 'key_1', made_under: null }
    const tape = tapes.begin({ trace_id, project_id, endpoint: '/v1/chat/completions', ...who }, request)
    if (status > 0) tape.begin(status, true)
    for (const part of parts) tape.add(part)
    tapes.end(tape)
    return trace_id
  }
  return { tapes, record, drops, counted }
}

test('R78 memory is bounded while storage never finishes, for one project and for all, and every drop is counted', async () => {
  const bounds = { bytes: 2_000 * KIB, bytes_of_one: 1_200 * KIB }
  const { tapes, record, counted } = scene({ bounds, write: never })
  let most = 0
  for (let n = 0; n < 200; n++) {
    record(n % 2 === 0 ? 'greedy' : `other ${n % 5}`, randomBytes(60 * KIB), [randomBytes(60 * KIB)])
    await new Promise((turn) => setImmediate(turn))
    most = Math.max(most, tapes.pressure().bytes)
  }
  expect(most).toBeLessThanOrEqual(bounds.bytes)
  expect(tapes.pressure().waiting + (counted.memory ?? 0)).toBe(200)
  expect(counted.memory).toBeGreaterThan(150)
})

test('R78 streams that go on and on take no more than a share, of one project and of all: others are recorded', () => {
  const bounds = { bytes: 640 * KIB, bytes_of_one: 320 * KIB }
  const { tapes, record, counted } = scene({ bounds, write: never })
  for (const project_id of ['greedy', 'as greedy'])
    for (let n = 0; n < 40; n++) {
      const call = { trace_id: `trc_${project_id}${n}`, project_id, endpoint: '/v1/chat/completions' }
      const tape = tapes.begin({ ...call, key_id: 'key_1', made_by: 'key_1', made_under: null }, Buffer.alloc(0))
      tape.begin(200, true)
      for (let part = 0; part < 40; part++) tape.add(Buffer.alloc(4 * KIB))
    }
  expect(tapes.pressure().bytes).toBeLessThanOrEqual(bounds.bytes / 2)
  record('another', Buffer.alloc(8 * KIB), [Buffer.alloc(20 * KIB), Buffer.alloc(20 * KIB)])
  record('a fourth', Buffer.alloc(8 * KIB), [Buffer.alloc(10 * KIB)])
  expect([tapes.pressure().waiting, counted]).toEqual([2, {}])
  for (let n = 0; n < 40; n++) record('greedy', Buffer.alloc(20 * KIB), [])
  record('a fifth', Buffer.alloc(8 * KIB), [])
  expect(tapes.waiting('a fifth', 'trc_42')).toBeDefined()
})

test('R78 a project whose large packs are stuck holds up neither its small ones nor other projects', async () => {
  const written: string[] = []
  const { tapes, record } = scene({
    async write({ packed, waiting }) {
      if (packed.length > 128 * KIB) await never()
      written.push(...waiting.map(({ trace_id }) => trace_id))
      return 'written'
    },
  })
  for (let n = 0; n < 10; n++) record('stuck', randomBytes(200 * KIB), [])
  const small = [record('stuck', Buffer.from('small'), []), record('free', Buffer.from('small'), [])]
  await tapes.flush()
  expect(written.sort()).toEqual(small.sort())
})

test('§8.2 what is written is what was gathered, in packs of one project, each call once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ project: fc.nat(2), request: fc.nat(90_000), parts: fc.array(fc.nat(50_000)) }), {
        maxLength: 30,
      }),
      async (calls) => {
        const packs: { project_id: string; traces: string[]; plain: Buffer }[] = []
        const { tapes, record, counted } = scene({
          async write({ project_id, waiting, plain_bytes, packed }) {
            const traces = waiting.map(({ trace_id }) => trace_id)
            packs.push({ project_id, traces, plain: await unpacked(packed, plain_bytes) })
            return 'written'
          },
        })
        const sent = new Map<string, Buffer>()
        for (const { project, request, parts } of calls) {
          const [body, answer] = [Buffer.alloc(request, 'r'), parts.map((bytes) => Buffer.alloc(bytes, 'a'))]
          sent.set(record(`project ${project}`, body, answer), Buffer.concat([body, ...answer]))
        }
        await tapes.drained()
        expect(packs.flatMap(({ traces }) => traces).sort()).toEqual([...sent.keys()].sort())
        for (const { traces, plain } of packs)
          expect(plain.equals(Buffer.concat(traces.map((id) => sent.get(id) as Buffer)))).toBe(true)
        expect([counted, tapes.pressure()]).toEqual([{}, { bytes: 0, large: 0, waiting: 0 }])
      },
    ),
    { numRuns: 20 },
  )
})

test('§8.2 never half: where there is no room in mid-stream all of it goes, and what is too large is not kept', () => {
  const { tapes, record, counted } = scene({
    bounds: { bytes: 100 * KIB, bytes_of_one: 100 * KIB },
    write: never,
  })
  const id = record('a', Buffer.from('x'), [Buffer.alloc(60 * KIB), Buffer.alloc(60 * KIB), Buffer.from('the end')])
  expect([tapes.waiting('a', id), tapes.pressure().bytes, counted]).toEqual([undefined, 0, { memory: 1 }])
  record('a', Buffer.alloc(RECORDING_MAX_BYTES + 1), [Buffer.from('x')])
  expect([tapes.pressure().bytes, counted]).toEqual([0, { memory: 1, too_large: 1 }])
})

test('§8.2 a call that nobody answered is neither recorded nor missed', () => {
  const { tapes, record, counted } = scene({ write: never })
  record('a', Buffer.from('refused'), [], 0)
  expect([tapes.pressure(), counted]).toEqual([{ bytes: 0, large: 0, waiting: 0 }, {}])
})

test('§8.2 a store that is away is asked again a few times; then what waited is dropped, and told once it is back', async () => {
  let is_away = true
  const { tapes, record, drops } = scene({
    write: async () => {
      if (is_away) throw new Error('away')
      return 'written'
    },
  })
  record('a', Buffer.from('first'), [])
  for (let n = 0; n < 9; n++) await tapes.flush()
  expect(tapes.pressure().waiting).toBe(1)
  await tapes.flush()
  expect([tapes.pressure().bytes, drops]).toEqual([0, [expect.objectContaining({ reason: 'store', count: 1 })]])
  is_away = false
  record('a', Buffer.from('second'), [])
  await tapes.flush()
  expect(tapes.pressure()).toEqual({ bytes: 0, large: 0, waiting: 0 })
})
