// The files of the reference: openapi.json, the page, its style and its filter. Each is made and compressed when it is
// first asked for, and kept as bytes.
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { type Coding, contentCoding } from '../core/content-coding.ts'
import { ownFile } from '../core/own-files.ts'
import { JSON_TYPE } from './answers.ts'
import { type ReferenceDocument, referencePage } from './reference-page.ts'

/** Nothing is inline, nothing is fetched, and nothing comes from anybody else. */
export const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; " +
  "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } } // the best takes a second for a tenth less

interface ReferenceFile {
  type: string
  make(): string
}

type Forms = Readonly<Record<Coding, Buffer>>

export function serveReferenceFiles(app: FastifyInstance): void {
  const document = () => app.swagger()
  const page = {
    type: 'text/html; charset=utf-8',
    make: () => referencePage(document() as unknown as ReferenceDocument),
  }
  const files: Record<string, ReferenceFile> = {
    '/openapi.json': { type: JSON_TYPE, make: () => JSON.stringify(document()) },
    '/docs': page,
    '/docs/': page,
    '/docs/reference.css': { type: 'text/css; charset=utf-8', make: beside('reference.css') },
    '/docs/reference-filter.js': { type: 'text/javascript; charset=utf-8', make: beside('reference-filter.js') },
  }
  for (const [path, { type, make }] of Object.entries(files)) {
    let made: Promise<Forms> | undefined
    app.get(path, { config: { public: true }, schema: { hide: true } }, async (request, reply) => {
      made ??= formsOf(make)
      const coding = contentCoding(request.headers['accept-encoding'])
      if (coding !== 'identity') reply.header('content-encoding', coding)
      if (path !== '/openapi.json') reply.header('content-security-policy', REFERENCE_POLICY)
      return reply
        .header('vary', 'accept-encoding')
        .type(type)
        .send((await made)[coding])
    })
  }
}

const beside = (name: string) => () => readFileSync(ownFile(`http/${name}`), 'utf8')

async function formsOf(make: () => string): Promise<Forms> {
  const identity = Buffer.from(make())
  const [packed, smallest] = await Promise.all([promisify(gzip)(identity), promisify(brotliCompress)(identity, BROTLI)])
  return { identity, gzip: packed, br: smallest }
}
