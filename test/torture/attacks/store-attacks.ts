// Attacks on what is kept: lists without end, chains of responses, kept answers, and records of refusals.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Attack, CHAT, chat, must, newCluster, newKey, paced } from './attack.ts'

const hoard: Attack = {
  does: 'Has as many sessions as it may, lists them all again and again, and asks for more of them and of hints.',
  guard: 'R70: quotas, and lists that are written out row by row',
  async run(arms) {
    await Promise.all([
      paced(arms, 2, () => arms.ask({ path: '/v2/sessions' }), 2),
      paced(arms, 30, (n) =>
        n % 2 === 0
          ? arms.ask({ method: 'POST', path: '/v2/sessions', body: {} })
          : arms.ask({ method: 'POST', path: '/v2/agent-hints', body: { qos: { class: 'background' } } }),
      ),
    ])
  },
}

const LINKS = 6
const LINK_BYTES = 5_000_000

const chain: Attack = {
  does: 'Continues a chain of responses, as long as one may be, by tiny requests that its key may not make any more.',
  guard: 'R15: the rate of tokens refuses before anything long is read',
  async run(arms) {
    await newCluster(arms, ['plain'])
    const { id, key } = await newKey(arms)
    const ask = { method: 'POST', path: '/v1/responses', key }
    const links: string[] = []
    while (links.length < LINKS) {
      const body = {
        model: 'plain',
        input: 'A long story. '.repeat(LINK_BYTES / 14),
        previous_response_id: links.at(-1),
      }
      const { status, body: text } = await arms.client.send({ ...ask, body })
      const stored = /"id":"(resp_[^"]+)"/.exec(text)?.[1]
      if (status !== 200 || !stored) break // it is as long as it may be
      links.push(stored)
    }
    await must(arms, { method: 'POST', path: `/v2/api-keys/${id}/limits`, body: { tokens_per_minute: 10_000 } })
    const goOn = () =>
      arms.ask({ ...ask, body: { model: 'plain', input: 'Go on.', previous_response_id: links.at(-1) } })
    while ((await goOn()).status === 400 && links.length > 1) links.pop() // one link less is not too long
    await paced(arms, 10, goOn, 4)
  },
}

const keptAnswers: Attack = {
  does: 'Has answers of 12 MB kept for its retries, each under a key of its own.',
  guard: 'R78: what is kept for a project has a quota',
  async run(arms) {
    await newCluster(arms, ['long-text'])
    await paced(
      arms,
      4,
      (n) =>
        arms.ask({
          ...{ method: 'POST', path: CHAT, headers: { 'agent-idempotency-key': `${arms.attack}-${n}` } },
          body: chat(arms, { model: 'long-text' }),
        }),
      2,
    )
  },
}

const LOOKED_UP = 100
const WRITTEN_AFTER_MS = 6_000

const refusals: Attack = {
  does: 'Is refused two hundred times a second, each time for another model, so that no two are alike.',
  guard: 'R80: equal refusals are counted, others are bounded by the minute and the project',
  async run(arms) {
    const { key } = await newKey(arms, 0)
    const refused: string[] = []
    const ask = async (asking: object) => {
      const { headers } = await arms.ask({ method: 'POST', path: CHAT, ...asking })
      refused.push(String(headers['x-request-id']))
    }
    const work = (n: number) =>
      n % 2 === 0
        ? ask({ body: chat(arms, { model: `no-such-model-${n}` }) })
        : ask({ key, body: chat(arms, { content: `Number ${n}.` }) })
    await paced(arms, 200, work, 32)
    await sleep(WRITTEN_AFTER_MS)
    const every = Math.ceil(refused.length / LOOKED_UP)
    let kept = 0
    for (const id of refused.filter((_, n) => n % every === 0))
      if ((await arms.client.send({ path: `/v2/traces/${id}` })).status === 200) kept++
    if (kept > LOOKED_UP / 2) arms.gain(`a record of each of its ${refused.length} refusals, for 30 days`)
  },
}

export const STORE_ATTACKS = { hoard, chain, 'kept-answers': keptAnswers, refusals }
