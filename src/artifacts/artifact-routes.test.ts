// §artifacts: artifacts over HTTP: uploaded once, one for equal bytes, seen by whoever may, counted exactly, gone when gone.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { artifactForm, FORM_TYPE, formBytes, PDF, PNG, upload } from '../../test/support/forms.ts'
import { type TestProject, withService } from '../../test/support/service.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import { sql } from '../storage/db.ts'

const URL = '/v2/artifacts'
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const tools = (...names: string[]) =>
  JSON.stringify(names.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })))

const file = (value: string) => ({ name: 'file', value, filename: 'f.txt' })

withService((service) => {
  const rows = async () => {
    const counted = await service().db.rows<{ table_name: string; n: number }>(sql`
      SELECT 'artifact' AS table_name, COUNT(*) AS n FROM artifact
      UNION ALL SELECT 'parts', COUNT(DISTINCT content_id) FROM artifact_content
      UNION ALL SELECT 'loose', COUNT(*) FROM artifact_loose_content`)
    const of = (name: string) => Number(counted.find(({ table_name }) => table_name === name)?.n)
    return { artifact: of('artifact'), parts: of('parts'), loose: of('loose') }
  }

  test('§artifacts an upload is described, listed, read, and its bytes come back as they were', async () => {
    const home = await service().newProject()
    const text = 'You are careful. Ünïcode too.\n'.repeat(20_000)
    const made = await upload(home, text, { type: 'text/markdown', filename: 'rules.md', fields: { name: 'Rules' } })
    expect(made.status).toBe(200)
    expect(made.body).toMatchObject({ object: 'artifact', kind: 'text', name: 'Rules', media_type: 'text/markdown' })
    expect(made.body).toMatchObject({ bytes: Buffer.byteLength(text), sha256: sha256(text), expires_at: null })
    expect(made.body.id).toMatch(/^art_[0-9A-Za-z]{20}$/)
    expect((await home.get(`${URL}/${made.body.id}`)).body).toEqual(made.body)
    expect((await home.get(URL)).body).toEqual({ object: 'list', data: [made.body], has_more: false })
    const content = await home.get(`${URL}/${made.body.id}/content`)
    expect(content.bytes.equals(Buffer.from(text))).toBe(true)
    expect(content.headers).toMatchObject({
      etag: `"${sha256(text)}"`,
      'content-type': 'text/markdown',
      'content-length': String(Buffer.byteLength(text)),
      'content-disposition': `attachment; filename="Rules"; filename*=UTF-8''Rules`,
      'x-content-type-options': 'nosniff',
    })
    const again = await home.get(`${URL}/${made.body.id}/content`, { 'if-none-match': `"${sha256(text)}"` })
    expect([again.status, again.bytes.length]).toEqual([304, 0])
  })

  test('§artifacts nothing of its bytes lies readable in the store', async () => {
    const home = await service().newProject()
    await upload(home, 'the secret recipe of the house')
    const parts = await service().db.rows<{ sealed: Uint8Array }>(sql`SELECT sealed FROM artifact_content`)
    expect(parts.length).toBeGreaterThan(0)
    for (const { sealed } of parts) expect(Buffer.from(sealed).includes('secret recipe')).toBe(false)
  })

  test('§artifacts equal bytes of one kind are one artifact in a project, and another in every other', async () => {
    const [home, other] = [await service().newProject(), await service().newProject()]
    const first = await upload(home, 'the same', { fields: { name: 'one' } })
    expect((await upload(home, 'the same', { fields: { name: 'two' } })).body).toEqual(first.body)
    const document = await upload(home, 'the same', { kind: 'document', type: 'text/plain' })
    const theirs = await upload(other, 'the same')
    expect(new Set([first.body.id, document.body.id, theirs.body.id]).size).toBe(3)
    expect((await home.get(`${URL}?sha256=${sha256('the same').toUpperCase()}`)).body.data).toHaveLength(2)
    expect((await home.get(`${URL}?sha256=${sha256('another')}`)).body.data).toHaveLength(0)
    const unknown = await home.get(`${URL}/art_00000000000000000000`)
    const foreign = await home.get(`${URL}/${theirs.body.id}`)
    expect(foreign.status).toBe(404)
    const named = (bytes: Buffer, id: string) => bytes.toString().replaceAll(id, 'ID')
    expect(named(foreign.bytes, theirs.body.id)).toBe(named(unknown.bytes, 'art_00000000000000000000'))
  })

  test('§artifacts after it was deleted the same bytes have a new id, and the old one is dead', async () => {
    const home = await service().newProject()
    const before = await rows()
    const { id } = (await upload(home, 'to be erased')).body
    expect((await home.del(`${URL}/${id}`)).body).toEqual({ id, object: 'artifact.deleted', deleted: true })
    expect(await rows()).toEqual(before)
    for (const path of [id, `${id}/content`]) expect((await home.get(`${URL}/${path}`)).status).toBe(404)
    expect((await home.del(`${URL}/${id}`)).status).toBe(404)
    expect((await upload(home, 'to be erased')).body.id).not.toBe(id)
  })

  test('§artifacts of forty at once over the same bytes, one artifact and one content are left', async () => {
    const home = await service().newProject()
    const before = await rows()
    const all = await Promise.all(Array.from({ length: 40 }, () => upload(home, 'raced for')))
    expect(new Set(all.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    service().clock.advance(MINUTE_MS)
    await service().housekeep('sweep contents')
    const after = await rows()
    expect([after.artifact - before.artifact, after.parts - before.parts, after.loose]).toEqual([1, 1, 0])
  })

  test('§artifacts what expires is gone at its time, and its bytes with the next sweep; the later of two ends holds', async () => {
    const home = await service().newProject()
    const before = await rows()
    const short = { fields: { expires_after_seconds: '3600' } }
    const first = (await upload(home, 'short-lived', short)).body
    expect(Date.parse(first.expires_at)).toBe(service().clock.now() + HOUR_MS)
    const longer = (await upload(home, 'short-lived', { fields: { expires_after_seconds: '86400' } })).body
    expect([longer.id, Date.parse(longer.expires_at)]).toEqual([first.id, service().clock.now() + DAY_MS])
    expect((await upload(home, 'short-lived', short)).body).toEqual(longer)
    service().clock.advance(DAY_MS)
    expect((await home.get(`${URL}/${first.id}`)).status).toBe(404)
    expect((await home.get(URL)).body.data).toEqual([])
    const anew = (await upload(home, 'short-lived', short)).body
    expect(anew.id).not.toBe(first.id)
    service().clock.advance(DAY_MS)
    await service().housekeep('sweep artifacts')
    service().clock.advance(MINUTE_MS)
    await service().housekeep('sweep contents')
    expect(await rows()).toEqual({ ...before, loose: 0 })
    const kept = (await upload(home, 'kept', short)).body
    expect((await upload(home, 'kept')).body).toMatchObject({ id: kept.id, expires_at: null })
  })

  test('§artifacts pages of the list: `limit` and `after`', async () => {
    const home = await service().newProject()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.unshift((await upload(home, `number ${n}`)).body.id)
    const first = (await home.get(`${URL}?limit=2`)).body
    expect([first.data.map(({ id }: { id: string }) => id), first.has_more]).toEqual([ids.slice(0, 2), true])
    const rest = (await home.get(`${URL}?limit=3&after=${ids[1]}`)).body
    expect([rest.data.map(({ id }: { id: string }) => id), rest.has_more]).toEqual([ids.slice(2), false])
    for (const wrong of ['limit=0', 'limit=1001', 'limit=x', 'after=art_x', 'sha256=abc'])
      expect((await home.get(`${URL}?${wrong}`)).status, wrong).toBe(400)
  })

  test('§artifacts a field given twice is refused; one that nobody knows is told', async () => {
    const home = await service().newProject()
    const kind = { name: 'kind', value: 'text' }
    const headers = { 'content-type': FORM_TYPE }
    const twice = await home.send('POST', URL, { payload: formBytes([kind, kind, file('x')]), headers })
    expect([twice.status, twice.body.error.message]).toEqual([400, "'kind' is given twice."])
    const told = await upload(home, 'x', { fields: { colour: 'blue' } })
    expect([told.status, told.headers['agent-ignored-fields']]).toEqual([200, 'colour'])
    const json = await home.post(URL, { kind: 'text' })
    expect([json.status, json.body.error.message]).toEqual([
      400,
      "'file' is required, in a form (multipart/form-data).",
    ])
  })

  test('§artifacts the bytes decide what a file is', async () => {
    const home = await service().newProject()
    const types = [
      await upload(home, PNG, { kind: 'image', type: 'application/octet-stream' }),
      await upload(home, PDF, { kind: 'document', type: 'application/octet-stream' }),
      await upload(home, 'plain', { type: 'application/octet-stream' }),
      await upload(home, tools('search'), { kind: 'tools' }),
    ]
    expect(types.map(({ body }) => body.media_type)).toEqual([
      'image/png',
      'application/pdf',
      'text/plain',
      'application/json',
    ])
  })

  test('§artifacts any order of the parts and any cut of the bytes give the same artifact', async () => {
    const home = await service().newProject()
    const bytes = Buffer.from('--almost-a-boundary\r\n----test-boundar\r\n'.repeat(2_000))
    const parts = [
      { name: 'kind', value: 'text' },
      { name: 'name', value: 'cut' },
      { name: 'sha256', value: sha256(bytes) },
      { name: 'file', value: bytes, filename: 'f', type: 'text/plain' },
    ]
    const { port } = await service().listen()
    const order = fc.shuffledSubarray(parts, { minLength: parts.length })
    await fc.assert(
      fc.asyncProperty(order, fc.array(fc.integer({ min: 1, max: 9_000 }), { maxLength: 8 }), async (form, cuts) => {
        const all = formBytes(form)
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            let at = 0
            for (const cut of cuts) {
              controller.enqueue(all.subarray(at, at + cut))
              at += cut
              await new Promise((resolve) => setImmediate(resolve))
            }
            controller.enqueue(all.subarray(at))
            controller.close()
          },
        })
        const headers = { authorization: `Bearer ${home.key}`, 'content-type': FORM_TYPE }
        const answer = await fetch(`http://127.0.0.1:${port}${URL}`, {
          method: 'POST',
          headers,
          body,
          duplex: 'half',
        } as RequestInit)
        expect([answer.status, ((await answer.json()) as { sha256: string }).sha256]).toEqual([200, sha256(bytes)])
      }),
      { numRuns: 25 },
    )
    expect((await home.get(URL)).body.data).toHaveLength(1)
  })

  test('§artifacts a keyed upload is replayed', async () => {
    const home = await service().newProject()
    const headers = { 'agent-idempotency-key': 'once' }
    const first = await upload(home, 'keyed', { headers })
    const again = await upload(home, 'something else', { headers })
    expect([again.bytes.equals(first.bytes), again.headers['agent-idempotent-replay']]).toEqual([true, 'true'])
  })

  test('R74 bytes are for whoever uploaded them and for admins; what is known of them is for all', async () => {
    const home = await service().newProject()
    const keyOf = async (...scopes: ('inference' | 'read')[]) => service().as(await home.keyWith(...scopes))
    const [maker, other, reader] = [await keyOf('inference'), await keyOf('inference'), await keyOf('read')]
    const { id } = (await upload(maker, 'mine to see')).body
    const statusOf = async ({ get }: Pick<TestProject, 'get'>) => (await get(`${URL}/${id}/content`)).status
    expect(await Promise.all([maker, home, other, reader].map(statusOf))).toEqual([200, 200, 403, 403])
    for (const one of [other, reader]) expect((await one.get(`${URL}/${id}`)).status).toBe(200)
    expect((await service().storingNothing(() => other.del(`${URL}/${id}`))).status).toBe(403)
    expect((await reader.send('POST', URL, { payload: 'x', headers: { 'content-type': FORM_TYPE } })).status).toBe(403)
    // Who has the bytes shows it by uploading them.
    expect((await upload(other, 'mine to see')).body.id).toBe(id)
    expect(await statusOf(other)).toBe(200)
    expect((await maker.del(`${URL}/${id}`)).status).toBe(403)
    expect((await home.del(`${URL}/${id}`)).status).toBe(200)
  })
})

withService((service) => {
  const REFUSED: [why: string, status: number, form: Buffer, says: string][] = [
    ['no kind', 400, formBytes([{ name: 'file', value: 'x', filename: 'f' }]), "'kind' must be one of"],
    ['a wrong kind', 400, artifactForm('x', { kind: 'video' }), "'kind' must be one of"],
    ['no file', 400, formBytes([{ name: 'kind', value: 'text' }]), "'file' is required"],
    ['an empty file', 400, artifactForm(''), 'must not be empty'],
    ['a wrong digest', 400, artifactForm('x', { fields: { sha256: sha256('y') } }), "'sha256' does not match"],
    ['no digest', 400, artifactForm('x', { fields: { sha256: 'abc' } }), '64 hexadecimal digits'],
    ['too short a life', 400, artifactForm('x', { fields: { expires_after_seconds: '3599' } }), 'from 3600 to'],
    ['a name with a NUL', 400, artifactForm('x', { fields: { name: 'a\0' } }), "'name'"],
    ['text that is none', 400, artifactForm(Buffer.from([0xff, 0xfe, 0x00])), 'text in UTF-8'],
    ['an image that is none', 415, artifactForm('x', { kind: 'image', type: 'image/png' }), 'PNG, JPEG, GIF or WebP'],
    ['an image of another type', 415, artifactForm(PNG, { kind: 'image', type: 'image/gif' }), "are 'image/png'"],
    ['a program', 415, artifactForm('MZ', { kind: 'document', type: 'application/x-msdownload' }), 'must be a PDF'],
    ['a page as text', 415, artifactForm('x', { type: 'application/pdf' }), 'no type of text'],
    ['tools that are no JSON', 400, artifactForm('[{', { kind: 'tools' }), 'valid JSON'],
    ['tools that are no list', 400, artifactForm('{}', { kind: 'tools' }), 'JSON array of 1 to'],
    ['a tool without a name', 400, artifactForm('[{"type":"function"}]', { kind: 'tools' }), 'Tool 0 must be'],
    [
      'a tool whose parameters are a text',
      400,
      artifactForm('[{"type":"function","function":{"name":"a","parameters":"abc"}}]', { kind: 'tools' }),
      "Tool 0: its 'parameters' must be an object",
    ],
    ['tools of one name', 400, artifactForm(tools('a', 'a'), { kind: 'tools' }), "Two tools are called 'a'"],
    ['half a form', 400, artifactForm('x').subarray(0, -20), 'not a valid form'],
    ['two files', 400, formBytes([file('x'), { name: 'kind', value: 'text' }, file('y')]), "one 'file'"],
    ['a file under another name', 400, formBytes([{ ...file('x'), name: 'other' }]), "field 'file'"],
    ['too large', 413, artifactForm('x'.repeat(16 * 2 ** 20 + 1)), 'at most 16 MiB'],
  ]

  test.each(REFUSED)('§artifacts %s is refused, and nothing is stored', async (_why, status, payload, says) => {
    const home = await service().newProject()
    const headers = { 'content-type': FORM_TYPE }
    const answer = await service().storingNothing(() => home.send('POST', URL, { payload, headers }))
    expect([answer.status, answer.body.error.type]).toEqual([status, 'invalid_request_error'])
    expect(answer.body.error.message).toContain(says)
  })
})
