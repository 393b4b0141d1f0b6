// The reference: one page over the OpenAPI document, complete, strict, and free of anything from elsewhere.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Compile } from 'typebox/schema'
import { expect, test } from 'vitest'
import { withService } from '../../test/support/service.ts'
import { REFERENCE_POLICY } from './reference-files.ts'
import { type Operation, type ReferenceDocument, referencePage } from './reference-page.ts'
import { escaped, example, fields, type Schema, typeOf } from './reference-schema.ts'

withService((service) => {
  const get = (url: string, accept = 'identity') =>
    service().app.inject({ url, headers: { 'accept-encoding': accept } })
  const document = async () => JSON.parse((await get('/openapi.json')).payload) as ReferenceDocument
  const operations = async () =>
    Object.entries((await document()).paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, string, Operation] => [method, path, operation]),
    )

  test.each(['/docs', '/docs/', '/docs/reference.css', '/docs/reference-filter.js'])(
    '§10.2 %s runs under a policy that allows nothing inline and nobody else',
    async (url) => {
      const { statusCode, headers } = await get(url)
      expect([statusCode, headers['content-security-policy']]).toEqual([200, REFERENCE_POLICY])
      expect(REFERENCE_POLICY).not.toMatch(/unsafe|https?:|\*|blob:/)
    },
  )

  test('§10.2 the page has no inline script, style or handler, and loads its own files alone', async () => {
    const { payload } = await get('/docs')
    expect(payload).not.toMatch(/<script(?! type="module" src="\/docs\/)|<style|\sstyle=|\son\w+=|javascript:/)
    const loaded = [...payload.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)].map(([, file]) => file)
    expect(loaded.sort()).toEqual(['/docs/reference-filter.js', '/docs/reference.css', 'data:,'])
    for (const file of loaded.slice(0, 2)) expect((await get(file as string)).statusCode).toBe(200)
  })

  test('§operations every operation is on the page, with every field that it takes and answers', async () => {
    const { payload } = await get('/docs')
    const all = await operations()
    expect(all.length).toBeGreaterThan(80)
    for (const [method, path, operation] of all) {
      const article = payload
        .split('<article ')
        .find((one) => one.includes(`</span> <code>${escaped(path)}</code>`) && one.startsWith(`id="${method}-`))
      const names = [
        operation.requestBody?.content['application/json'],
        operation.responses['200']?.content?.['application/json'],
      ]
      expect(article, `${method} ${path}`).toBeDefined()
      for (const name of names.flatMap((form) => (form ? fieldNames(form.schema) : [])))
        expect(article, `${method} ${path}`).toContain(`<code>${escaped(name)}</code>`)
    }
    const targets = [...payload.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id as string)
    expect(targets.filter((id) => !payload.includes(`id="${id}"`))).toEqual([])
  })

  test('§operations the example of every body is one that its schema takes', async () => {
    const bodies = (await operations()).flatMap(([method, path, { requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema
      return schema ? [{ call: `${method} ${path}`, schema }] : []
    })
    expect(bodies.length).toBeGreaterThan(25)
    const wrong = bodies.filter(({ schema }) => !Compile(schema as object).Check(example(schema)))
    expect(wrong.map(({ call, schema }) => [call, example(schema)])).toEqual([])
  })

  test('§operations the page and the document are sent as small as the client takes them', async () => {
    for (const url of ['/docs', '/openapi.json']) {
      const [plain, br, gzip] = await Promise.all([get(url), get(url, 'gzip, br'), get(url, 'gzip')])
      expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' })
      expect(brotliDecompressSync(br.rawPayload).equals(plain.rawPayload)).toBe(true)
      expect(gunzipSync(gzip.rawPayload).equals(plain.rawPayload)).toBe(true)
      expect(br.rawPayload.length).toBeLessThan(60_000)
    }
  })
})

/** Of a shape, and of the shapes in it. */
function fieldNames(schema: Schema): string[] {
  const inner = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [name, ...fieldNames(field)]),
    ...inner.flatMap(fieldNames),
  ]
}

test('§10.2 what a document says is text on the page, never markup', () => {
  const evil = '<img src=x onerror="a()">'
  const page = referencePage({
    info: { title: evil, version: evil, description: evil },
    paths: {
      [`/${evil}`]: {
        get: {
          summary: evil,
          description: evil,
          tags: [evil],
          responses: { 200: { description: evil, headers: { [evil]: {} } } },
        },
      },
    },
    components: { headers: { [evil]: { description: evil } } },
  })
  expect(page).not.toContain('<img')
  expect(page).toContain('&lt;img src=x onerror=&quot;a()&quot;&gt;')
})

test.each<[string, Schema]>([
  ['integer, 1 to 1000', { type: 'integer', minimum: 1, maximum: 1000 }],
  ['number, 0 or more', { type: 'number', minimum: 0 }],
  ['one of <code>day</code>, <code>week</code>', { enum: ['day', 'week'] }],
  ['string or null', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  ['array of string, at most 3 of them', { type: 'array', items: { type: 'string' }, maxItems: 3 }],
  ['object of integer', { type: 'object', additionalProperties: { type: 'integer' } }],
  ['date-time', { type: 'string', format: 'date-time' }],
])('§operations the page says %s', (words, schema) => {
  expect(typeOf(schema)).toBe(words)
})

test('§operations a schema that contains itself ends', () => {
  const tree: { type: string; properties: Record<string, Schema> } = { type: 'object', properties: {} }
  tree.properties.child = tree
  expect(fields(tree, 'request').match(/<code>child<\/code> <span/g)?.length).toBeLessThan(20)
})
