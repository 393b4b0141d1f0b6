// §8.1, §11 purge jobs after real generations: nothing of a prompt or an answer is left in the store's files, a repeat is
// 410 and charged to nobody, and what was remembered of prompts is forgotten on every replica.
import { expect, test } from 'vitest'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import { artifactForm, FORM_TYPE } from '../support/forms.ts'
import { foundPieces, piecesOf } from '../support/found-pieces.ts'
import { type Scene, type Stage, withScene } from '../support/inference-scene.ts'

const CALLS = 3 * Number(process.env.PURGE_CALLS ?? 100) // `PURGE_CALLS=3340` for ten thousand
const AT_ONCE = 20

/** Different in every 16 bytes from every other. */
const secretText = (n: number) => Array.from({ length: 12 }, (_, at) => `${n}:${at}:unrepeated;`).join(' ')

const LARGE_TEXT = Array.from({ length: 20_000 }, (_, at) => `large ${at};`).join('unrepeated ')

async function generate(stage: Stage, n: number, session_id: string): Promise<void> {
  const text = secretText(n)
  const headers = { ...(n % 2 === 0 && { 'x-session-id': session_id }) }
  if (n % 3 === 0) {
    const body = { model: stage.model, input: text, store: true }
    await stage.ask('/v1/responses', { body, headers: { ...headers, 'agent-idempotency-key': `r${n}` } })
  } else {
    await stage.chat({ messages: [{ role: 'user', content: text }] }, { keyed: `k${n}`, headers })
  }
}

async function generateMany(scene: Scene, stage: Stage): Promise<void> {
  const { id } = (await stage.post('/v2/sessions', {})).body
  for (let from = 0; from < CALLS; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => generate(stage, from + n, id)))
  // Too large for a row: kept, and stored, in parts.
  stage.one.behave({ text: LARGE_TEXT })
  await stage.chat({}, { keyed: 'large' })
  await stage.ask('/v1/responses', { body: { model: stage.model, input: 'x', store: true } })
  // Refused with words that quote the prompt, in the trace and in the record of the refusal.
  stage.one.behave({ status: 400, body: JSON.stringify({ error: { message: `cannot read: ${secretText(CALLS)}` } }) })
  await stage.chat({ messages: [{ role: 'user', content: secretText(CALLS) }] })
  stage.one.behave({})
  const form = artifactForm(secretText(CALLS + 1))
  await stage.send('POST', '/v2/artifacts', { payload: form, headers: { 'content-type': FORM_TYPE } })
  await scene.refused.flush()
}

/** Everything sealed that lies in the store, wherever. */
async function sealedIn(db: OpenDb): Promise<Buffer[]> {
  const rows = await db.rows<{ sealed: Uint8Array }>(sql`
    SELECT sealed FROM stored_response UNION ALL SELECT sealed FROM idempotency WHERE sealed IS NOT NULL
    UNION ALL SELECT sealed FROM session_event WHERE sealed IS NOT NULL UNION ALL SELECT sealed FROM artifact_content
    UNION ALL SELECT sealed FROM large_body_part`)
  return rows.map(({ sealed }) => Buffer.from(sealed))
}

async function purge(scene: Scene, stage: Stage, more: object = {}) {
  const job = { filter: { everything: true }, confirm: 'home', mode: 'erase', ...more }
  const { id } = (await stage.post('/v2/purge-jobs', job)).body
  await scene.housekeep('run purge jobs')
  return (await stage.get(`/v2/purge-jobs/${id}/receipt`)).body
}

withScene((scene) => {
  test.runIf(ENGINE === 'sqlite')(
    '§8.1 after everything no 16 bytes of prompts, answers or what was sealed of them are in the files',
    async () => {
      const stage = await scene().stage()
      await generateMany(scene(), stage)
      const { db, location, clock } = scene()
      clock.advance(1)
      const sealed = await sealedIn(db)
      expect(sealed.length).toBeGreaterThan(CALLS)
      const plain = Array.from({ length: CALLS + 2 }, (_, n) => Buffer.from(secretText(n)))
      const wanted = new Set([...sealed, ...plain].flatMap(piecesOf))
      expect(foundPieces(location, wanted)).toBeGreaterThan(CALLS) // it can see them
      const ledger = await stage.ledger()
      const receipt = await purge(scene(), stage)
      expect(receipt.storage.state).toBe('rewritten')
      expect(foundPieces(location, wanted)).toBe(0)
      expect(await stage.ledger()).toEqual(ledger)
      const counts = Object.fromEntries(
        receipt.erased.map((one: { kind: string; count: number }) => [one.kind, one.count]),
      )
      expect(counts).toMatchObject({
        sessions: 1,
        artifacts: 1,
        responses: CALLS / 3 + 1,
        traces: CALLS + 2,
        prefix_memory: 1,
      })
      expect(counts.kept_answers).toBeGreaterThanOrEqual(CALLS)
    },
  )

  test('§11 a generation whose kept answer was erased is 410 and neither asked for nor charged again', async () => {
    const stage = await scene().stage()
    const first = await stage.chat({}, { keyed: 'once' })
    const other = await stage.chat({}, { keyed: 'other' })
    expect([first.status, other.status]).toEqual([200, 200])
    scene().clock.advance(1)
    const [asked, ledger] = [stage.one.requests.length, await stage.ledger()]
    await purge(scene(), stage, { filter: { trace_ids: [first.headers['agent-trace-id']] }, confirm: undefined })
    const again = await stage.chat({}, { keyed: 'once' })
    expect([again.status, again.headers['x-should-retry']]).toEqual([410, 'false'])
    expect([stage.one.requests.length, await stage.ledger()]).toEqual([asked, ledger])
    const kept = await stage.chat({}, { keyed: 'other' })
    expect([kept.status, kept.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
  })

  test('§8.1 what was remembered of prompts is forgotten, also by a replica that did not run the job', async () => {
    const stage = await scene().stage()
    const messages = [{ role: 'user', content: 'a long prompt that is sent again and again '.repeat(200) }]
    const replica = (await scene().startProcess('second')).as(stage.key)
    const repeated = async () => {
      const { headers } = await replica.post('/v1/chat/completions', stage.bodyOf({ messages }))
      return (await stage.get(`/v2/usage?trace_id=${headers['agent-trace-id']}`)).body.data[0].repeated_tokens_est
    }
    expect(await repeated()).toBe(0)
    expect(await repeated()).toBeGreaterThan(1_000)
    scene().clock.advance(1)
    await purge(scene(), stage, { kinds: ['prefix_memory'] })
    expect(await repeated()).toBe(0)
    expect(await repeated()).toBeGreaterThan(1_000)
  })
})
