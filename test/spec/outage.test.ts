// A store that is away: 503 in the envelope on every route, nothing half done, and the service recovers by itself.
import { expect, test } from 'vitest'
import { unavailable } from '../../src/storage/db.ts'
import { contentsOf } from '../support/databases.ts'
import { type Walk, walkOf } from '../support/routes.ts'
import { type Answer, type TestProject, withService } from '../support/service.ts'
import { takeAway, textOf } from '../support/tampered-db.ts'

const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]
const AWAY = [503, 'server_error', 'unavailable']
const AT_ONCE = 10

withService(
  (service) => {
    const closed = () => walkOf(service().routes).filter(({ isPublic }) => !isPublic)

    /** While the store is away. */
    async function refused(send: TestProject['send'], { method, url }: Walk): Promise<void> {
      for (const headers of [{}, { 'agent-idempotency-key': 'a' }]) {
        const answer = await send(method, url, { headers })
        const is_messages = url.startsWith('/anthropic/') // R81: that protocol says so by 529
        expect(answer.status, `${method} ${url}`).toBe(is_messages ? 529 : 503)
        expect(answer.headers['retry-after']).toBe('1')
        if (method !== 'HEAD' && is_messages) expect(answer.body.error.type).toBe('overloaded_error')
        else if (method !== 'HEAD') expect(identity(answer)).toEqual(AWAY)
      }
    }

    test('R2 every route answers 503, keyed or not, and the next request after the outage is served', async () => {
      const { db, tampering, newProject } = service()
      const { get, send } = await newProject()
      const before = await contentsOf(db)
      const all = closed()
      // An outage for every few: to read every table takes as long as to ask all of these.
      for (let at = 0; at < all.length; at += AT_ONCE) {
        const some = all.slice(at, at + AT_ONCE)
        const bringBack = takeAway(tampering)
        for (const walk of some) await refused(send, walk)
        bringBack()
        expect(await contentsOf(db), some.map(({ method, url }) => `${method} ${url}`).join()).toBe(before)
        expect((await get('/v2/api-keys')).status).toBe(200)
      }
    })

    test('R2 a store that answers the look-up of the key and then goes away is 503 too', async () => {
      const { as, tampering, newProject } = service()
      const { key } = await newProject()
      const bodies: Record<string, object> = {
        '/v2/api-keys': { name: 'ci' },
        '/v2/byoc/clusters': { name: 'atlas', region: 'eu' },
        '/v2/api-keys/unknown_key/budget': { limit_usd: 1 },
        '/v2/byoc/clusters/unknown_cluster/heartbeat': { status: 'active' },
      }
      tampering.rows = (statement, run) =>
        textOf(statement).includes('WHERE k.hash') ? run(statement) : Promise.reject(unavailable(new Error('away')))
      for (const [url, body] of Object.entries(bodies))
        for (const headers of [{}, { 'agent-idempotency-key': 'b' }])
          expect(identity(await as(key).post(url, body, headers)), url).toEqual(AWAY)
      for (const url of ['/v2/api-keys', '/v2/byoc/clusters', '/v2/byoc/clusters/byc_x'])
        expect(identity(await as(key).get(url)), url).toEqual(AWAY)
      tampering.rows = undefined
    })

    test('R5 a mistyped key is still told so: that needs no store', async () => {
      const { as, tampering, newProject } = service()
      const { key } = await newProject()
      const bringBack = takeAway(tampering)
      expect((await as(key.slice(0, -1)).get('/v2/api-keys')).status).toBe(401)
      bringBack()
    })

    /** Each statement of a keyed creation fails in its turn; afterwards the retry must find nothing done. */
    test('R21 wherever a keyed creation fails, nothing is left of it, and the retry executes', async () => {
      const { as, tampering, db, newProject } = service()
      const { key } = await newProject()
      let failures = 0
      for (let failing = 1; ; failing++) {
        const before = await contentsOf(db)
        let nth = 0
        tampering.rows = (statement, run) =>
          ++nth === failing ? Promise.reject(unavailable(new Error('away'))) : run(statement)
        const create = () =>
          as(key).post('/v2/byoc/clusters', { name: 'a', region: 'b' }, { 'agent-idempotency-key': `c${failing}` })
        const answer = await create()
        tampering.rows = undefined
        if (answer.status === 200) break
        failures++
        expect(identity(answer)).toEqual(AWAY)
        expect(await contentsOf(db)).toBe(before)
        expect((await create()).headers['agent-idempotent-replay']).toBe('false')
        expect((await create()).headers['agent-idempotent-replay']).toBe('true')
      }
      expect(failures).toBeGreaterThanOrEqual(4) // who calls, a first look, a second look, the effect, the keeping
    })

    test('§housekeeping a task that meets the outage fails, and works at its next turn', async () => {
      const { tampering, housekeep } = service()
      const bringBack = takeAway(tampering)
      await expect(housekeep('sweep silent clusters')).rejects.toThrow('not available')
      bringBack()
      await housekeep('sweep silent clusters')
    })
  },
  { tampering: {} },
)
