// GET /console: the pages of the console, which are static files, and GET /, which leads people to them.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contentCoding } from '../core/content-coding.ts'
import { Refusal } from '../core/refusal.ts'
import type { Routes } from '../http/routes.ts'
import { type ConsoleFile, type ConsoleFiles, INDEX } from './built-console.ts'

/** Scripts and styles are our own files; nothing is inline, and nothing is asked of anybody else. */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; " +
  "trusted-types 'none'"

const FOR_A_YEAR = 'public, max-age=31536000, immutable'
const open = { config: { public: true }, schema: { hide: true } } as const

export const consoleRoutes: Routes<{ files: ConsoleFiles | undefined }> = async (app, { files }) => {
  app.get('/', open, async (_request, reply) => reply.redirect('/console', 302))

  app.get('/console', open, async (request, reply) => send(page(files), request, reply))

  app.get<{ Params: { '*': string } }>('/console/*', open, async (request, reply) => {
    const name = request.params['*']
    // Pages have no dot in their name: what has one is a file, and is there or not.
    const file = name.split('/').at(-1)?.includes('.') ? built(files).get(name) : page(files)
    if (!file) throw new Refusal('not_found', `The console has no file '${name.slice(0, 200)}'.`)
    return send(file, request, reply)
  })
}

function built(files: ConsoleFiles | undefined): ConsoleFiles {
  if (!files) throw new Refusal('unavailable', 'The console was not built. Run npm run build, then start again.')
  return files
}

const page = (files: ConsoleFiles | undefined) => built(files).get(INDEX)

function send(file: ConsoleFile | undefined, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!file) throw new Error('the built console has no index')
  const coding = contentCoding(headers['accept-encoding'])
  if (coding !== 'identity') reply.header('content-encoding', coding)
  if (file.immutable) reply.header('cache-control', FOR_A_YEAR)
  return reply
    .header('vary', 'accept-encoding')
    .header('content-security-policy', CONSOLE_POLICY)
    .type(file.type)
    .send(file.bytes[coding])
}
