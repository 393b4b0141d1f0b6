// Stored responses: sealed, one project's own, and chained.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { MAKER, seals, storedTurns } from '../../test/support/stored-responses.ts'
import { type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { newId } from '../core/ids.ts'
import { sealing } from '../core/sealing.ts'
import { foundProject } from '../start/bootstrap.ts'
import { sql } from '../storage/db.ts'
import { largeBodies } from '../storage/large-bodies.ts'
import { responseFrom } from './from-chat.ts'
import { CHAIN_MAX, CHAIN_MAX_BYTES, READ_MAX_BYTES } from './response-chain.ts'
import { keptInput, readItemsPage } from './response-items.ts'
import { type Item, readResponseRequest } from './response-request.ts'
import { inputItems, mostOf, responseStore } from './response-store.ts'

const ANYBODY = () => true

withDb((db) => {
  const store = (secret = seals) => responseStore(db(), secret)

  let projects = 0

  async function project(): Promise<string> {
    const founding = { name: 'p', owner_email: `r${++projects}@example.com`, verified: true }
    return (await foundProject(db(), founding, NOON)).project.id
  }

  const turn = storedTurns(db)

  /** A store, and the most rows that one statement of it has read. */
  function counting() {
    let [most, bytes] = [0, 0]
    const rows: Tampering['rows'] = async (statement, run) => {
      const read = (await run(statement)) as { sealed?: Uint8Array | null }[]
      most = Math.max(most, read.length)
      for (const { sealed } of read) bytes += sealed?.length ?? 0
      return read
    }
    return { on: responseStore(tamperedDb(db(), { rows }), seals), most: () => most, bytes: () => bytes }
  }

  const texts = (items: readonly Item[]) => items.map(({ content }) => (content as { text: string }[])[0]?.text)

  test('§1 an id that an upstream gives out twice is the later answer; another project’s stays as it is', async () => {
    const [ours, theirs] = [await project(), await project()]
    const id = newId('resp')
    const said = async (project_id: string) => (await store().find(project_id, id))?.response.output
    await turn(ours, { id, said: 'first' })
    await turn(ours, { id, said: 'second' })
    await turn(theirs, { id, said: 'of somebody else' })
    expect(JSON.stringify(await said(ours))).toContain('second')
    expect(await said(theirs)).toBeUndefined()
  })

  test('§7.2 what was stored is found again, whole, by its own project only', async () => {
    const [mine, other] = [await project(), await project()]
    const id = await turn(mine)
    expect(await store().find(mine, id)).toMatchObject({
      trace_id: 'trc_1',
      native: null,
      response: { id, status: 'completed', instructions: 'Secret.' },
      input: [{ id: id.replace('resp', 'msg').concat('_i0'), role: 'user' }],
    })
    expect(await store().find(other, id)).toBeUndefined()
    for (const unknown of ['resp_unknown', '', '\0', "resp_' OR 1=1"])
      expect(await store().find(mine, unknown)).toBeUndefined()
  })

  test('R20 nothing of a conversation can be read in the database, or with another secret', async () => {
    const mine = await project()
    const id = await turn(mine, { input: 'my question', said: 'an answer' })
    const [row] = await db().rows<{ sealed: Uint8Array }>(sql`SELECT sealed FROM stored_response WHERE id = ${id}`)
    for (const word of ['my question', 'an answer', 'Secret.', 'content'])
      expect(Buffer.from(row?.sealed ?? []).includes(word)).toBe(false)
    await expect(store(sealing('another secret, also 32 characters')).find(mine, id)).rejects.toThrow()
  })

  test('R20 a row moved to another project does not open there', async () => {
    const [mine, other] = [await project(), await project()]
    const id = await turn(mine)
    await db().rows(sql`UPDATE stored_response SET project_id = ${other} WHERE id = ${id}`)
    await expect(store().find(other, id)).rejects.toThrow()
  })

  test('§7.2 removed once, by its own project; then it is unknown', async () => {
    const [mine, other] = [await project(), await project()]
    const id = await turn(mine)
    expect(await store().remove(other, id)).toBe(false)
    expect(await store().remove(mine, id)).toBe(true)
    expect(await store().remove(mine, id)).toBe(false)
    expect(await store().remove(mine, '\0')).toBe(false)
    expect(await store().find(mine, id)).toBeUndefined()
  })

  test('§7.2 a chain is its items, oldest first, and no instructions', async () => {
    const mine = await project()
    const first = await turn(mine, { input: 'q1', said: 'a1' })
    const second = await turn(mine, { previous: first, input: 'q2', said: 'a2' })
    const branch = await turn(mine, { previous: first, input: 'q3', said: 'a3' })
    expect(texts(await store().history(mine, first, ANYBODY))).toEqual(['q1', 'a1'])
    expect(texts(await store().history(mine, second, ANYBODY))).toEqual(['q1', 'a1', 'q2', 'a2'])
    expect(texts(await store().history(mine, branch, ANYBODY))).toEqual(['q1', 'a1', 'q3', 'a3'])
  })

  const refused = (message: string) =>
    expect.objectContaining({ status: 400, message: expect.stringContaining(message) })

  test('§7.2 400 on a response that is unknown, foreign, or removed from the middle of a chain', async () => {
    const [mine, other] = [await project(), await project()]
    const first = await turn(mine)
    const second = await turn(mine, { previous: first })
    const history = (project_id: string, id: string) => store().history(project_id, id, ANYBODY)
    const unknown = "'previous_response_id' must be the id of a stored response of this project"
    await expect(history(mine, 'resp_unknown')).rejects.toThrow(refused(unknown))
    await expect(history(mine, '\0')).rejects.toThrow(refused(unknown))
    await expect(history(other, second)).rejects.toThrow(refused(unknown))
    await store().remove(mine, first)
    await expect(history(mine, second)).rejects.toThrow(
      refused(`'previous_response_id' leads to '${first}', which is no longer stored.`),
    )
  })

  test('§7.2 a chain does not cross into another project', async () => {
    const [mine, other] = [await project(), await project()]
    const foreign = await turn(other)
    const id = await turn(mine, { previous: foreign })
    await expect(store().history(mine, id, ANYBODY)).rejects.toThrow(refused('no longer stored'))
  })

  test(`§7.2 a chain has at most ${CHAIN_MAX} responses`, async () => {
    const mine = await project()
    let last: string | null = null
    for (let at = 0; at < CHAIN_MAX; at++) last = await turn(mine, { previous: last })
    expect(await store().history(mine, last ?? '', ANYBODY)).toHaveLength(2 * CHAIN_MAX)
    const beyond = await turn(mine, { previous: last })
    await expect(store().history(mine, beyond, ANYBODY)).rejects.toThrow(
      refused('leads through more than 100 responses'),
    )
  })

  test('§7.2 a chain that closes in a circle is refused, not walked for ever', async () => {
    const mine = await project()
    const [a, b, self] = [newId('resp'), newId('resp'), newId('resp')]
    await turn(mine, { id: a, previous: b })
    await turn(mine, { id: b, previous: a })
    await turn(mine, { id: self, previous: self })
    const { on, most } = counting()
    for (const id of [a, b, self])
      await expect(on.history(mine, id, ANYBODY)).rejects.toThrow(refused('leads through more than 100 responses'))
    expect(most()).toBe(CHAIN_MAX + 1)
  })

  test('§7.2 a chain has at most so many bytes', async () => {
    const mine = await project()
    const size = CHAIN_MAX_BYTES / 4
    let last = await turn(mine, { previous: await turn(mine) })
    for (let at = 0; at < 4; at++) last = await turn(mine, { previous: last, said: 'x'.repeat(size) })
    const { on, most, bytes } = counting()
    await expect(on.history(mine, last, ANYBODY)).rejects.toThrow(refused('bytes of conversation'))
    expect([most(), bytes()]).toEqual([4, 0]) // nothing is read that is not needed to know
  })

  test('§7.2 items that are only pointed at are put in place', async () => {
    const [mine, other] = [await project(), await project()]
    const id = await turn(mine, { input: 'q', said: 'a' })
    const [question, answer] = await store().history(mine, id, ANYBODY)
    const fresh = { role: 'user', content: 'next' }
    const pointers = [{ type: 'item_reference', id: question?.id }, { id: answer?.id }, fresh]
    expect(await store().resolved(mine, pointers, ANYBODY)).toEqual([question, answer, fresh])
    const untouched = [fresh]
    expect(await store().resolved(mine, untouched, ANYBODY)).toBe(untouched)
    const nowhere = refused("'input[1].id' must be the id of an item of a stored response.")
    await expect(store().resolved(other, [fresh, { id: answer?.id }], ANYBODY)).rejects.toThrow(nowhere)
    await expect(store().resolved(mine, [fresh, { id: `${answer?.id}9` }], ANYBODY)).rejects.toThrow(nowhere)
    const foreign = [fresh, { type: 'item_reference', id: 'msg_68af2c' }]
    expect(await store().resolved(mine, foreign, ANYBODY)).toBe(foreign)
    const many = Array.from({ length: CHAIN_MAX + 1 }, () => ({
      id: newId('resp').replace('resp', 'msg').concat('_0'),
    }))
    await expect(store().resolved(mine, many, ANYBODY)).rejects.toThrow(
      refused("'input' must point at items of at most 100"),
    )
  })

  const itemOf = (response_id: string, place: string) => ({ id: `${response_id.replace('resp', 'msg')}_${place}` })
  const TOO_MANY_BYTES = `'input' points at more than ${CHAIN_MAX_BYTES} bytes of conversation.`

  test('§7.2 what is pointed at has at most so many bytes, however often one item is', async () => {
    const mine = await project()
    const item = itemOf(await turn(mine, { input: 'x'.repeat(2 ** 20) }), 'i0')
    const pointing = (times: number) => store().resolved(mine, Array(times).fill(item), ANYBODY)
    expect(await pointing(30)).toHaveLength(30)
    for (const times of [33, 8_000]) await expect(pointing(times)).rejects.toThrow(refused(TOO_MANY_BYTES))
  })

  test('§7.2 it counts by itself, and not by the turns that it stands in', async () => {
    const mine = await project()
    const ids: string[] = []
    for (let at = 0; at < 4; at++) ids.push(await turn(mine, { said: 'x'.repeat(CHAIN_MAX_BYTES / 4) }))
    const { on, bytes } = counting()
    const questions = ids.map((id) => itemOf(id, 'i0'))
    expect(texts(await on.resolved(mine, questions, ANYBODY))).toEqual(Array(4).fill('question'))
    const said = ids.map((id) => itemOf(id, '0'))
    await expect(on.resolved(mine, said, ANYBODY)).rejects.toThrow(refused(TOO_MANY_BYTES))
    const before = bytes()
    await db().rows(sql`UPDATE stored_response SET bytes = ${READ_MAX_BYTES / 4 + 1} WHERE project_id = ${mine}`)
    const into = refused(`'input' points into responses of more than ${READ_MAX_BYTES} bytes.`)
    await expect(on.resolved(mine, questions, ANYBODY)).rejects.toThrow(into)
    expect(bytes()).toBe(before) // nothing is opened
  })

  test('§8.2 input items are listed where full fidelity is kept; otherwise the list is empty', async () => {
    const mine = await project()
    const id = await turn(mine, { input: ['q1', 'q2', 'q3'].map((content) => ({ role: 'user', content })) })
    const page = readItemsPage({ limit: '2', order: 'asc' })
    const kept = await store().find(mine, id)
    if (!kept) throw new Error('not kept')
    const full = inputItems(kept, page, true)
    expect([texts(full.data), full.has_more]).toEqual([['q1', 'q2'], true])
    const rest = inputItems(kept, { ...page, after: full.last_id ?? '' }, true)
    expect([texts(rest.data), rest.has_more]).toEqual([['q3'], false])
    const empty = { object: 'list', data: [], first_id: null, last_id: null, has_more: false }
    expect(inputItems(kept, page, false)).toEqual(empty)
    expect(inputItems(kept, { ...page, after: 'x' }, false)).toEqual(empty)
  })

  /** One whose answer is too large for a row. */
  async function largeTurn(project_id: string, said: string, previous: string | null = null, id = newId('resp')) {
    const request = readResponseRequest({ model: 'm', input: 'q', previous_response_id: previous })
    const chat = { choices: [{ message: { content: said }, finish_reason: 'stop' }] }
    const response = responseFrom(chat, request, { response_id: id, created_at_s: NOON / 1000 })
    const kept = { trace_id: 'trc_1', ...MAKER, response, input: keptInput(request.input, id), native: null }
    const json = Buffer.from(JSON.stringify({ response, input: kept.input }))
    const large = await largeBodies(db(), seals).write(project_id, project_id, mostOf(json), NOON)
    await db().transaction((tx) => responseStore(tx, seals).insert(project_id, kept, NOON, large))
    return { id, kept }
  }

  const partsOf = async (project_id: string) =>
    (await db().rows(sql`SELECT part FROM large_body_part WHERE project_id = ${project_id}`)).length

  test('R77 a large one is found, chained, replaced and deleted like any other, with its parts', async () => {
    const mine = await project()
    const said = 'x'.repeat(700_000)
    const { id, kept } = await largeTurn(mine, said)
    expect(await store().find(mine, id)).toEqual(kept)
    const end = await turn(mine, { previous: id })
    const history = texts(await store().history(mine, end, ANYBODY))
    expect(history.map((text) => text?.length)).toEqual([1, 700_000, 8, 6])
    expect(await partsOf(mine)).toBe(3)
    const { kept: again } = await largeTurn(mine, `${said}again`, null, id)
    expect([await store().find(mine, id), await partsOf(mine)]).toEqual([again, 3])
    await turn(mine, { id, said: 'small' })
    expect([texts(await store().history(mine, id, ANYBODY)), await partsOf(mine)]).toEqual([['question', 'small'], 0])
    const { id: last } = await largeTurn(mine, said)
    expect([await store().remove(mine, last), await partsOf(mine)]).toEqual([true, 0])
  })

  test('R77 a chain of megabytes is read a mebibyte at a time', async () => {
    const mine = await project()
    let previous: string | null = null
    for (let n = 0; n < 12; n++) previous = await turn(mine, { previous, said: `${n}`.padEnd(200_000, 'x') })
    let most = 0
    const rows: Tampering['rows'] = async (statement, run) => {
      const read = (await run(statement)) as { sealed?: Uint8Array | null }[]
      most = Math.max(
        most,
        read.reduce((sum, { sealed }) => sum + (sealed?.length ?? 0), 0),
      )
      return read
    }
    const items = await responseStore(tamperedDb(db(), { rows }), seals).history(mine, previous ?? '', ANYBODY)
    expect(items).toHaveLength(24)
    expect(most).toBeLessThan(1_300_000)
  })

  test('R21 inside a transaction that fails, nothing is stored', async () => {
    const mine = await project()
    const id = newId('resp')
    const failing = db().transaction(async (tx) => {
      const request = readResponseRequest({ model: 'm', input: 'x' })
      const chat = { choices: [{ message: { content: 'x' } }] }
      const response = responseFrom(chat, request, { response_id: id, created_at_s: 1 })
      await responseStore(tx, seals).insert(mine, { trace_id: 't', ...MAKER, response, input: [], native: null }, NOON)
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    expect(await store().find(mine, id)).toBeUndefined()
  })
})
