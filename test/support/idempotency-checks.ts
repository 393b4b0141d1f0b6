// §11 as checks of whatever answers: of the service, and of idempotency with a mistake in it, where they must fail.
import type { Answer } from './service.ts'

export const CLUSTERS = '/v2/byoc/clusters'
export const atlas = { name: 'atlas é🚀', region: 'eu' }

export interface Sent {
  method?: string
  url?: string
  payload: string
  key?: string
  as?: 'one' | 'two'
  type?: string
}
type Heard = Pick<Answer, 'status' | 'headers' | 'bytes'>

/** Whatever keeps clusters: how to send to it, and how many it has. */
export interface Subject {
  send(sent: Sent): Promise<Heard>
  effects(): Promise<number>
}

export const valid = (more: object = {}) => JSON.stringify({ ...atlas, ...more })
export const replay = ({ headers }: Heard) => headers['agent-idempotent-replay']
export const isRepeat = (first: Heard, again: Heard) =>
  replay(first) === 'false' &&
  replay(again) === 'true' &&
  again.status === first.status &&
  again.headers['content-type'] === first.headers['content-type'] &&
  again.bytes.equals(first.bytes)

/** What is wrong, in words; nothing where the rule holds. */
export const CHECKS: Record<string, (subject: Subject) => Promise<string[]>> = {
  'T-01 the second answer is the first, byte for byte': async ({ send, effects }) => {
    const [first, again] = [await send({ payload: valid(), key: 'a' }), await send({ payload: valid(), key: 'a' })]
    return [...(isRepeat(first, again) ? [] : ['not a repeat']), ...((await effects()) === 1 ? [] : ['ran twice'])]
  },
  'T-03 another body with the same key replays the first (§11.9)': async ({ send, effects }) => {
    const first = await send({ payload: valid(), key: 'a' })
    const again = await send({ payload: JSON.stringify({ name: 'other', region: 'us' }), key: 'a' })
    return isRepeat(first, again) && (await effects()) === 1 ? [] : ['another body ran']
  },
  'T-04 a wrong body with a used key replays': async ({ send }) => {
    const first = await send({ payload: valid(), key: 'a' })
    return isRepeat(first, await send({ payload: '{}', key: 'a' })) ? [] : ['validated before the look-up']
  },
  'T-06 another project with the same key and path runs': async ({ send, effects }) => {
    const answers = [await send({ payload: valid(), key: 'a' }), await send({ payload: valid(), key: 'a', as: 'two' })]
    return answers.every((one) => replay(one) === 'false') && (await effects()) === 2 ? [] : ['projects collide']
  },
  'T-08 a query or an encoded letter is the same path (R23)': async ({ send, effects }) => {
    const urls = [CLUSTERS, `${CLUSTERS}?x=1`, '/v2/byoc/%63lusters', '/v2/%62yoc/clusters?y']
    for (const url of urls) await send({ payload: valid(), key: 'a', url })
    return (await effects()) === 1 ? [] : ['an alias ran']
  },
  'T-09 a 400 frees the key at once (§11.6)': async ({ send, effects }) => {
    const refused = await send({ payload: '{}', key: 'a' })
    const corrected = await send({ payload: valid(), key: 'a' })
    const good = refused.status === 400 && corrected.status === 200 && replay(corrected) === 'false'
    return good && (await effects()) === 1 ? [] : ['the corrected request did not run']
  },
  'T-15 a key on DELETE or GET is ignored (§11.1)': async ({ send }) => {
    await send({ payload: valid(), key: 'a' })
    const answers = [
      await send({ method: 'GET', payload: '', key: 'a' }),
      await send({ method: 'DELETE', payload: '', key: 'a' }),
    ]
    return answers.every((one) => replay(one) === undefined) ? [] : ['not ignored']
  },
  'T-16 without the header there is no replay header, and every POST runs': async ({ send, effects }) => {
    const answers = [await send({ payload: valid() }), await send({ payload: valid() })]
    return answers.every((one) => replay(one) === undefined) && (await effects()) === 2 ? [] : ['keyed by nothing']
  },
}
