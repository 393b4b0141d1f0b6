// §8.1 purge jobs against real processes: kill -9 in the middle of a job, again and again, on one server and on two
// replicas that fight over it. PURGE_THINGS and PURGE_KILLS make it larger.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { sized } from '../support/sizes.ts'
import { ENGINES, type Engine, openScene, type Scene } from '../torture/scene.ts'
import type { ServerProcess } from '../torture/server-process.ts'

const THINGS = Number(process.env.PURGE_THINGS ?? sized(20_000))
const KILLS = Number(process.env.PURGE_KILLS ?? sized(4, 2))
const LOOK_MS = 5
const WITHIN_MS = 120_000

function clientOf({ token, ports }: Scene) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async <Body>(path: string, body?: object): Promise<[number, Body]> => {
    const sent = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const answer = await fetch(`http://127.0.0.1:${ports[0]}/v2/${path}`, sent)
    return [answer.status, (await answer.json()) as Body]
  }
}

/** Stored responses, straight into the store. */
async function fill(scene: Scene, engine: Engine): Promise<string[]> {
  const [project] = await scene.rows<{ id: string }>('SELECT id FROM project')
  const bytes = engine === 'sqlite' ? 'randomblob(64)' : "decode(md5(n::text), 'hex')"
  const text = engine === 'sqlite' ? "printf('%06d', n)" : "lpad(n::text, 6, '0')"
  await scene.write(`
    INSERT INTO stored_response (id, project_id, trace_id, created_at, sequence, sealed, bytes)
    WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < ${THINGS})
    SELECT 'resp_' || ${text}, '${project?.id}', 'trc_' || ${text}, '2020-01-01T00:00:00.000Z', n, ${bytes}, 64
    FROM count`)
  return (await scene.rows<{ id: string }>('SELECT id FROM stored_response')).map(({ id }) => id).sort()
}

test.each(ENGINES)(
  '§8.1 %s: killed in the middle of a job, again and again: the receipt is right or absent',
  async (engine) => {
    const replicas = engine === 'postgres' ? 2 : 1
    const scene = await openScene({ engine, replicas })
    onTestFinished(() => scene.close())
    const servers: ServerProcess[] = await Promise.all(Array.from({ length: replicas }, (_, n) => scene.start(n)))
    const ask = clientOf(scene)
    const left = async () => {
      const [row] = await scene.rows<{ left: number }>('SELECT COUNT(*) AS left FROM stored_response')
      return Number(row?.left)
    }
    const receiptOf = async (id: string) => ask<Record<string, unknown>>(`purge-jobs/${id}/receipt`)
    const ids = await fill(scene, engine)
    expect(ids).toHaveLength(THINGS)
    const asked = { filter: { to: '2021-01-01T00:00:00Z' }, kinds: ['responses'], mode: 'erase' }
    const [, { id }] = await ask<{ id: string }>('purge-jobs', asked)

    let in_the_middle = 0
    for (let before = THINGS; in_the_middle < KILLS && before > 0; ) {
      for (let waited = 0; waited < WITHIN_MS && (await left()) === before; waited += LOOK_MS) await sleep(LOOK_MS)
      await Promise.all(servers.map((server) => server.kill())) // whichever of them was at work
      before = await left()
      if (before > 0) in_the_middle++
      await scene.write('UPDATE housekeeping_lease SET expires_at = 0') // as if the dead one's time had passed
      const [restarted] = await Promise.all(
        servers.map((_server, n) => scene.start(n).then((one) => (servers[n] = one))),
      )
      expect(restarted?.isRunning()).toBe(true)
      const [status] = await receiptOf(id)
      if (status === 200) expect(await left()).toBe(0)
    }
    let [status, receipt] = await receiptOf(id)
    for (let waited = 0; waited < WITHIN_MS && status !== 200; waited += 200) {
      await sleep(200)
      ;[status, receipt] = await receiptOf(id)
    }
    const digest = createHash('sha256')
    for (const one of ids) digest.update(`responses ${one}\n`)
    expect(receipt).toMatchObject({ erased: [{ kind: 'responses', count: THINGS }], digest: digest.digest('hex') })
    expect([await left(), in_the_middle > 0]).toEqual([0, true])
    await Promise.all(servers.map((server) => server.kill()))
  },
)
