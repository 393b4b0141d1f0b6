// §artifacts against real processes: uploads that race over the same bytes on two replicas, and kill -9 in the middle of
// uploads and deletions. ARTIFACT_RACE and ARTIFACT_KILLS make either larger.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { artifactForm, FORM_TYPE } from '../support/forms.ts'
import { sized } from '../support/sizes.ts'
import { openScene, type Scene } from '../torture/scene.ts'
import type { ServerProcess } from '../torture/server-process.ts'

const UPLOADS = Number(process.env.ARTIFACT_RACE ?? sized(200))
const KILLS = Number(process.env.ARTIFACT_KILLS ?? sized(4, 2))
const AT_ONCE = 50
const LANES = 8
const KEPT = 6 // the oldest of more is deleted: there are deletions to break off, however slow the machine is

type Uploaded = { id: string; sha256: string }

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

function clientOf({ token, ports }: Scene) {
  const headers = { authorization: `Bearer ${token}` }
  const url = (replica: number, id = '') => `http://127.0.0.1:${ports[replica]}/v2/artifacts${id}`
  return {
    /** Undefined where no answer came. Whoever stood behind the others for too long asks again, as any client would. */
    async upload(bytes: Buffer, replica = 0): Promise<Uploaded | undefined> {
      const sent = {
        method: 'POST',
        headers: { ...headers, 'content-type': FORM_TYPE },
        body: artifactForm(bytes, OCTETS),
      }
      const answer = await fetch(url(replica), sent).catch(() => undefined)
      if (!answer) return undefined
      const body = (await answer.json().catch(() => undefined)) as Uploaded | undefined
      const retry_after_s = answer.headers.get('retry-after')
      if (answer.status === 503 && retry_after_s) {
        await sleep(Number(retry_after_s) * 1_000)
        return this.upload(bytes, replica)
      }
      if (answer.status !== 200) throw new Error(`an upload was answered ${answer.status}: ${JSON.stringify(body)}`)
      return body
    },
    async remove(id: string): Promise<boolean | undefined> {
      const answer = await fetch(url(0, `/${id}`), { method: 'DELETE', headers }).catch(() => undefined)
      await answer?.arrayBuffer().catch(() => undefined)
      return answer && answer.status === 200
    },
    list: async () => ((await (await fetch(url(0), { headers })).json()) as { data: Uploaded[] }).data,
    content: async (id: string) =>
      Buffer.from(await (await fetch(url(0, `/${id}/content`), { headers })).arrayBuffer()),
  }
}

const OCTETS = { kind: 'document', type: 'text/plain' }
/** Text, so that any kind takes it. */
const someBytes = (most: number) => Buffer.from(randomBytes(Math.ceil(Math.random() * (most / 2))).toString('hex'))

describe.sequential('§artifacts real processes', () => {
  test(`§artifacts ${UPLOADS} uploads of the same bytes race on two replicas: one object, one content`, async () => {
    const scene = await openScene({ engine: 'postgres', replicas: 2 })
    onTestFinished(() => scene.close())
    await Promise.all([scene.start(0), scene.start(1)])
    const client = clientOf(scene)
    const bytes = someBytes(200_000)
    const ids = new Set<string | undefined>()
    for (let sent = 0; sent < UPLOADS; sent += AT_ONCE) {
      const now = Array.from({ length: Math.min(AT_ONCE, UPLOADS - sent) }, (_, n) => client.upload(bytes, n % 2))
      for (const one of await Promise.all(now)) ids.add(one?.id)
    }
    const [counts] = await scene.rows<Record<string, unknown>>(`
      SELECT (SELECT COUNT(*) FROM artifact) AS artifacts,
             (SELECT COUNT(DISTINCT content_id) FROM artifact_content) AS contents,
             (SELECT COUNT(*) FROM artifact_loose_content) AS loose,
             (SELECT present FROM project_quota WHERE kind = 'artifacts') AS counted,
             (SELECT present FROM project_quota WHERE kind = 'artifacts_mib') AS counted_bytes`)
    expect(ids.size).toBe(1)
    expect(Object.values(counts ?? {}).map(Number)).toEqual([1, 1, 0, 1, bytes.length])
    expect(scene.loggedErrors()).toEqual([])
  })

  test(`§artifacts kill -9 in the middle, ${KILLS} times: nothing half, nothing left over, the quota exact`, async () => {
    const scene = await openScene({ engine: 'sqlite' })
    onTestFinished(() => scene.close())
    const client = clientOf(scene)
    const folder = join(scene.data_dir, 'artifacts')
    const there = new Map<string, string>() // digests of what was acknowledged and not deleted since
    const gone = new Set<string>()
    const open = new Set<string>() // whose deletion was asked for and not answered
    let isOver = false
    let server: ServerProcess = await scene.start()

    async function lane(): Promise<void> {
      while (!isOver) {
        const bytes = someBytes(400_000)
        const made = await client.upload(bytes)
        if (made) there.set(made.id, sha256(bytes))
        const [oldest] = there.keys()
        if (there.size > KEPT && oldest !== undefined) {
          const digest = there.get(oldest) ?? ''
          there.delete(oldest)
          const answered = await client.remove(oldest)
          if (answered === undefined) open.add(oldest)
          else if (answered) gone.add(oldest)
          else if (!gone.has(oldest)) there.set(oldest, digest)
        }
        if (!made) await sleep(20)
      }
    }
    const lanes = Array.from({ length: LANES }, lane)
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(200 + Math.random() * 600)
      await server.kill()
      server = await scene.start()
    }
    isOver = true
    await Promise.all(lanes)
    await server.kill()
    server = await scene.start()

    const listed = new Map((await client.list()).map(({ id, sha256: digest }) => [id, digest]))
    for (const [id, digest] of there) expect(listed.get(id), `${id} was acknowledged`).toBe(digest)
    for (const id of gone) expect(listed.has(id), `${id} was deleted`).toBe(false)
    for (const [id, digest] of listed) expect(sha256(await client.content(id))).toBe(digest)
    const rows = await scene.rows<{ content_id: string; bytes: number }>('SELECT content_id, bytes FROM artifact')
    const files = existsSync(folder) ? readdirSync(folder).sort() : []
    expect(files).toEqual(rows.map(({ content_id }) => content_id).sort())
    expect(await scene.rows('SELECT * FROM artifact_loose_content')).toEqual([])
    const quota = await scene.rows<{ kind: string; present: number }>(
      "SELECT kind, present FROM project_quota WHERE kind LIKE 'artifacts%' ORDER BY kind",
    )
    const sum = rows.reduce((total, { bytes }) => total + bytes, 0)
    expect(quota.map(({ present }) => present)).toEqual([rows.length, sum])
    expect([listed.size, gone.size > 0]).toEqual([rows.length, true])
    await server.kill()
  })
})
