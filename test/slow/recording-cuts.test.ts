// §8.1: what is purged out of packs of recordings, as a kill leaves it at every step; some of the steps are killed in
// truth. Whoever comes afterwards finds each other recording as it was, to the byte; what was cut stays cut; and nothing
// is left lying about.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle } from '../../scripts/bundle.mjs'
import { newTraceId } from '../../src/core/ids.ts'
import { sql } from '../../src/storage/db.ts'
import { openCutting } from '../support/cutting-store.ts'
import { planted } from '../support/planted.ts'
import { projectIn } from '../support/projects.ts'

const PROGRAM = fileURLToPath(new URL('../support/cutting-process.ts', import.meta.url))
// Beside the sources, where packages are found.
const BUNDLED = fileURLToPath(new URL(`../../dist/cutting-${process.pid}`, import.meta.url))
const KILLED_ONE_IN = 8 // of the steps; at the others, what a kill leaves is copied

interface Sent {
  trace_id: string
  request: Buffer
  answer: Buffer
  is_purged: boolean
}

let folder = ''
let project_id = ''
const sent: Sent[] = []

type Store = Awaited<ReturnType<typeof openCutting>>

function record({ recordings }: Store, bytes: number, is_purged: boolean): Sent {
  const trace_id = newTraceId(Date.parse('2026-01-01T00:00:00Z') + sent.length)
  const [request, answer] = [randomBytes(bytes), randomBytes(100)]
  const who = { project_id, key_id: 'key_1', made_by: 'key_1', made_under: null, endpoint: '/v1/chat/completions' }
  const tape = recordings.tapes.begin({ trace_id, ...who }, request)
  tape.begin(200)
  tape.add(answer)
  recordings.tapes.end(tape)
  return { trace_id, request, answer, is_purged }
}

beforeAll(async () => {
  bundle(PROGRAM, BUNDLED)
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'switchyard-cuts-'))
  const store = await openCutting(folder)
  project_id = await projectIn(store.db)
  // One pack in its row, one in a file that stays too large for a row, and one of which nothing is left.
  for (const [bytes, purged] of [
    [300, [true, false, true, false]],
    [60_000, [true, false, false, false]],
    [60_000, [true, true, true]],
  ] as const) {
    for (const is_purged of purged) sent.push(record(store, bytes, is_purged))
    await store.recordings.tapes.drained()
  }
  const { quota } = store
  await store.db.transaction(async (tx) => {
    for (const { trace_id } of sent.filter(({ is_purged }) => is_purged)) {
      await tx.rows(sql`
        UPDATE recording_pack SET is_cut = 1
        WHERE id = (SELECT pack_id FROM recording WHERE trace_id = ${trace_id})`)
      await tx.rows(sql`DELETE FROM recording WHERE trace_id = ${trace_id}`)
      await quota.giveBack(tx, project_id, { items: 1, bytes: 0 })
    }
  })
  expect(store.files()).toHaveLength(2)
  await store.db.close()
})

afterAll(() => {
  for (const one of [folder, BUNDLED]) rmSync(one, { recursive: true, force: true })
})

function cut(at: string, step: number | 'every', torn = false): NodeJS.Signals | null {
  const args = [join(BUNDLED, 'cutting-process.js'), at, project_id, String(step), torn ? 'torn' : '']
  const { signal, status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (signal === null && status !== 0) throw new Error(stderr)
  return signal
}

/** In a folder that is removed afterwards, and those beside it that are named after it. */
async function inCopy<T>(work: (at: string) => Promise<T>): Promise<T> {
  const place = mkdtempSync(`${folder}-`)
  const at = join(place, 'store')
  cpSync(folder, at, { recursive: true })
  return work(at).finally(() => rmSync(place, { recursive: true, force: true }))
}

/** What is wrong after a kill at this step, and after somebody else has come to the end. */
const faultsAfter = (step: number) =>
  inCopy(async (at) => {
    expect(cut(at, step)).toBe('SIGKILL')
    return faultsIn(at)
  })

async function faultsIn(at: string): Promise<string[]> {
  const store = await openCutting(at)
  try {
    const found = await wrongContents(store)
    await store.recordings.eraseCut(project_id)
    await store.sweepLater()
    return [...found, ...(await wrongContents(store)), ...(await leftovers(store))]
  } catch (error) {
    return [String(error)]
  } finally {
    await store.db.close()
  }
}

async function wrongContents({ recordings }: Store): Promise<string[]> {
  const faults: string[] = []
  for (const { trace_id, request, answer, is_purged } of sent) {
    const found = await recordings
      .read(project_id, trace_id, recordings.room.place(project_id))
      .catch((error) => String(error))
    if (is_purged !== (found === undefined)) faults.push(`${trace_id}: ${is_purged ? 'is back' : 'is lost'}`)
    else if (typeof found === 'string') faults.push(`${trace_id}: ${found}`)
    else if (found && !(request.equals(found.request) && answer.equals(found.answer)))
      faults.push(`${trace_id}: other bytes`)
  }
  return faults
}

async function leftovers({ db, files }: Store): Promise<string[]> {
  const [row] = await db.rows<Record<string, number>>(sql`
    SELECT (SELECT COUNT(*) FROM recording_pack WHERE is_cut = 1) AS uncut,
           (SELECT COUNT(*) FROM artifact_loose_content) AS loose,
           (SELECT COUNT(*) FROM recording_pack p WHERE NOT EXISTS (
              SELECT 1 FROM recording r WHERE r.pack_id = p.id)) AS of_nobody,
           (SELECT SUM(plain_bytes) FROM recording_pack)
             - (SELECT SUM(request_bytes + answer_bytes) FROM recording) AS plain,
           (SELECT present FROM project_quota WHERE kind = 'recordings') - (SELECT COUNT(*) FROM recording) AS items,
           (SELECT present FROM project_quota WHERE kind = 'recordings_mib')
             - (SELECT SUM(packed_bytes) FROM recording_pack) AS bytes`)
  const packs = await db.rows<{ content_id: string }>(sql`
    SELECT content_id FROM recording_pack WHERE content_id IS NOT NULL ORDER BY content_id`)
  const wanted = packs.map(({ content_id }) => content_id)
  return [
    ...Object.entries(row ?? {}).flatMap(([name, count]) => (Number(count) === 0 ? [] : [`${name}: ${count}`])),
    ...(files().join() === wanted.join() ? [] : [`files: ${files().join()}, wanted ${wanted.join()}`]),
  ]
}

test('§8.1 killed at any step of cutting packs: nothing is half, nothing is lost, and what is left is swept', async () => {
  await inCopy(async (at) => {
    expect(cut(at, 'every')).toBe(null)
    expect(await faultsIn(at)).toEqual([])
    let step = 1
    for (; existsSync(`${at}-${step}`); step++) {
      expect(await faultsIn(`${at}-${step}`), `as it was at step ${step}`).toEqual([])
      if (step % KILLED_ONE_IN === 1) expect(await faultsAfter(step), `after a kill at step ${step}`).toEqual([])
    }
    expect(step).toBeGreaterThan(20) // that many steps there are
  })
})

planted('§8.1 planted: packs that are exchanged in more than one commit are caught', async () => {
  await inCopy(async (at) => {
    expect(cut(at, 'every', true)).toBe(null)
    const found: string[] = []
    for (let step = 1; existsSync(`${at}-${step}`) && found.length === 0; step++)
      found.push(...(await faultsIn(`${at}-${step}`)))
    expect(found).not.toEqual([])
  })
})
