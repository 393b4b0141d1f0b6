// §2.1, R20: neither a raw key nor an idempotency key, nor a piece of one, lies readable in the store, in its
// write-ahead log or in the log, whatever was done with it.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { storeFile } from '../../src/storage/data-folder.ts'
import { inLanes } from './asks.ts'
import { type Finding, PIECE_LENGTH, type PieceSearch, pieceSearch } from './piece-search.ts'
import { type Chance, chance } from './randomness.ts'
import type { Client } from './recording-client.ts'
import { type Report, report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

export interface Secrets {
  keys: number
  seed: number
}

const KEYS = '/v2/api-keys'
const PREFIX_LENGTH = 'svc_live_'.length
const LANES = 32
const IN_VAIN = 8

/** What a client would have to keep to itself. */
interface Spoken {
  raw_key?: string
  idempotency_key?: string
}

export async function secrets({ keys, seed }: Secrets): Promise<Report> {
  const scene = await openScene({ engine: 'sqlite', log_level: 'trace' })
  return report(scene, { command: 'secrets', engine: 'sqlite', seed }, async () => {
    const server = await scene.start()
    const random = chance(seed)
    const spoken = await createInVain(scene, random)
    const in_vain = spoken.length
    await inLanes(LANES, Array(keys).keys(), async (n) => void spoken.push(await createAndUse(scene.client, n, random)))
    const search = pieceSearch([
      scene.token.slice(PREFIX_LENGTH),
      ...spoken.flatMap(({ raw_key }) => raw_key?.slice(PREFIX_LENGTH) ?? []),
      ...spoken.flatMap(({ idempotency_key }) => idempotency_key ?? []),
    ])
    const listed = (await scene.client.send({ path: KEYS })).body
    const running = searchFiles(scene, search) // the write-ahead log still holds what is not yet in the file
    const unclean = await scene.stop(server)
    const stopped = searchFiles(scene, search)
    return {
      figures: {
        'keys created': spoken.length - in_vain,
        'of them with an idempotency key': spoken.filter((one) => one.raw_key && one.idempotency_key).length,
        'creations that a planted fault hit': in_vain,
        'error lines that they left in the log': scene.loggedErrors().length,
        [`pieces of ${PIECE_LENGTH} characters looked for`]: search.pieces,
        'bytes searched while running': running.searched,
        'bytes searched after the stop': stopped.searched,
        'bytes of the list of keys searched': listed.length,
      },
      checks: [
        { name: 'pieces in files while running', found: running.found },
        { name: 'pieces in files after the stop', found: stopped.found },
        { name: 'pieces in the list of keys', found: search.find(listed).map(describe) },
        { name: 'planted pieces that the search missed', found: missedOfPlanted(scene, search, spoken) },
        { name: 'last stop not clean', found: unclean },
      ],
      provoked_errors: true,
    }
  })
}

/** The store is made to fail on these, after their keys were minted: what the server logs then is searched too. */
async function createInVain({ data_dir, client }: Scene, random: Chance): Promise<Spoken[]> {
  const store = new DatabaseSync(storeFile(data_dir), { timeout: 30_000 })
  store.exec("CREATE TRIGGER fault BEFORE INSERT ON api_key BEGIN SELECT RAISE(ABORT, 'planted fault'); END")
  const spoken = Array.from({ length: IN_VAIN }, () => ({ idempotency_key: random.text(100) }))
  await Promise.all(
    spoken.map(({ idempotency_key }) => {
      const headers = { 'agent-idempotency-key': idempotency_key }
      return expectStatus(500, client.send({ method: 'POST', path: KEYS, headers, body: '{"name":"in vain"}' }))
    }),
  )
  store.exec('DROP TRIGGER fault')
  store.close()
  return spoken
}

/** Creates a key and then does with it whatever might leave a trace: use, replay, mistype, refuse, revoke. */
async function createAndUse({ send }: Client, n: number, random: Chance): Promise<Spoken> {
  const idempotency_key = n % 2 === 0 ? random.text(40 + random.below(200)) : undefined
  const keyed = idempotency_key ? { 'agent-idempotency-key': idempotency_key } : {}
  const creation = { method: 'POST', path: KEYS, headers: keyed, body: JSON.stringify({ name: `secret ${n}` }) }
  if (idempotency_key && random.oneIn(10)) await expectStatus(400, send({ ...creation, body: '{"name":""}' }))
  const created = JSON.parse((await expectStatus(200, send(creation))).body.toString())
  if (idempotency_key && random.oneIn(10)) await expectStatus(200, send(creation))

  const raw_key: string = created.key
  const own = { authorization: `Bearer ${raw_key}` }
  await expectStatus(200, send({ path: '/v2/byoc/clusters', headers: own }))
  if (random.oneIn(10)) await expectStatus(403, send({ ...creation, headers: { ...own, ...keyed } }))
  if (random.oneIn(10)) await expectStatus(401, send({ path: KEYS, headers: { authorization: `Bearer ${raw_key}x` } }))
  if (random.oneIn(10))
    await expectStatus(404, send({ path: `/v2/nowhere/${created.id}`, headers: { ...own, ...keyed } }))
  if (random.oneIn(10)) {
    await expectStatus(200, send({ method: 'DELETE', path: `${KEYS}/${created.id}`, headers: keyed }))
    await expectStatus(401, send({ path: KEYS, headers: own }))
  }
  return { raw_key, ...(idempotency_key && { idempotency_key }) }
}

async function expectStatus<R extends { status: number; body: Buffer }>(status: number, sending: Promise<R>) {
  const reply = await sending
  if (reply.status !== status) throw new Error(`expected ${status}, got ${reply.status}: ${reply.body.toString()}`)
  return reply
}

function searchFiles({ data_dir, log_file }: Scene, search: PieceSearch) {
  const sizes: string[] = []
  const found: string[] = []
  const all = readdirSync(data_dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const file of [...all.map(({ parentPath, name }) => join(parentPath, name)), log_file]) {
    const bytes = readFileSync(file)
    if (bytes.length > 0) sizes.push(`${basename(file)} ${bytes.length.toLocaleString('en')}`)
    found.push(...search.find(bytes).map((finding) => `${basename(file)}: ${describe(finding)}`))
  }
  return { searched: sizes.join(', '), found }
}

const describe = ({ piece, at }: Finding) => `${piece} at byte ${at}`

/** A search that finds nothing must be able to find something: one piece in a row, one whole key in a log line. */
function missedOfPlanted(scene: Scene, search: PieceSearch, spoken: readonly Spoken[]): string[] {
  const secret = spoken.find((one) => one.raw_key)?.raw_key?.slice(PREFIX_LENGTH) ?? ''
  const idempotency_key = spoken.find((one) => one.idempotency_key)?.idempotency_key ?? ''
  const piece = secret.slice(7, 7 + PIECE_LENGTH)
  const store = new DatabaseSync(storeFile(scene.data_dir))
  store.prepare("INSERT INTO setting (name, value) VALUES ('planted', ?)").run(piece)
  store.close()
  appendFileSync(scene.log_file, `{"level":10,"msg":"asked with ${idempotency_key}"}\n`)
  const { found } = searchFiles(scene, search)
  return [piece, idempotency_key.slice(0, PIECE_LENGTH)].filter((one) => !found.some((text) => text.includes(one)))
}
