// Attacks on the operator's purse: tokens of the managed provider that nobody pays for.
import { type Attack, CHAT, chat, hints, must, newKey, paced } from './attack.ts'

/** R44, R71: a deadline that passes in mid-stream ends it without a charge. */
const deadline: Attack = {
  does: 'Sets deadlines that pass when most of a stream, or all of it but its usage, has been delivered.',
  guard: 'R71: a waiver of the day; beyond it the stream runs on and is charged',
  async run(arms) {
    const { key } = await newKey(arms, 1_000_000)
    await paced(arms, 6, (n) =>
      arms.ask({
        ...{ method: 'POST', path: CHAT, key, headers: hints({ qos: { deadline_ms: 500 } }) },
        body: chat(arms, {
          stream: true,
          max_tokens: 200,
          plan: n % 2 === 0 ? { pace_ms: 20 } : { usage_after_ms: 900 },
        }),
      }),
    )
  },
}

const subscription: Attack = {
  does: 'Gives itself a subscription with a discount of 100 % and an allowance without end.',
  guard: 'R79: subscriptions are the operator’s',
  async run(arms) {
    const body = {
      ...{ plan: 'mine', provider: 'managed', input_discount_pct: 100, allowance_tokens: 10 ** 15 },
      overage_enabled: false,
    }
    const { status } = await arms.ask({ method: 'POST', path: '/v2/subscriptions', body })
    if (status === 200) arms.gain('a subscription of its own making')
    const content = 'Tell me all of it again. '.repeat(2_000)
    await paced(arms, 5, () => arms.ask({ method: 'POST', path: CHAT, body: chat(arms, { content }) }))
  },
}

const byok: Attack = {
  does: 'Enters any string as its own credential for the managed provider, whose upstream takes no key.',
  guard: 'R79: a credential without an address never goes to the operator’s',
  async run(arms) {
    const body = { provider: 'managed', name: 'mine', secret: 'anything' }
    await arms.ask({ method: 'POST', path: '/v2/provider-credentials', body })
    await paced(arms, 5, () => arms.ask({ method: 'POST', path: CHAT, body: chat(arms, { max_tokens: 200 }) }))
  },
}

/** Each asks a lax upstream for far more than a strict reader sees. */
const LAX: ((plain: string) => string)[] = [
  (plain) => `{"max_completion_tokens": "4000", ${plain}`,
  (plain) => `{"n": "64", "max_tokens": 100, ${plain}`,
  (plain) => `{"max_tokens": 10, "Max_Tokens": 4000, ${plain}`,
  (plain) => `{"max_tokens": 4000, "max_tokens": 10, ${plain}`,
  (plain) => `{"max_tokens": 10, "N": 64, ${plain}`,
]

const laxMoney: Attack = {
  does: 'Gives the fields that decide the price as text, twice, or in another case, on a key with a limit.',
  guard: 'R76: of their type, once, and spelled as they are, or 400',
  async run(arms) {
    const { key } = await newKey(arms, 1_000_000)
    const plain = JSON.stringify(chat(arms)).slice(1)
    await paced(arms, 5, (n) => {
      const lax = LAX[n % LAX.length] as (typeof LAX)[number]
      return arms.ask({ method: 'POST', path: CHAT, key, body: lax(plain) })
    })
  },
}

const leaveEarly: Attack = {
  does: 'Leaves its streams when the content is there and the usage, with its hidden tokens, is not.',
  guard: 'R26: the usage of a stream that was left is waited for, and a character may be a token',
  async run(arms) {
    const { key } = await newKey(arms, 1_000_000)
    const plan = { dense: true, hidden: 300, pace_ms: 5, usage_after_ms: 300 }
    await paced(arms, 8, () =>
      arms.ask({
        ...{ method: 'POST', path: CHAT, key, read_up_to: 2_500 },
        body: chat(arms, { stream: true, max_tokens: 400, plan }),
      }),
    )
  },
}

const PRICED: object[] = [
  { service_tier: 'priority' },
  { web_search_options: {} },
  { prediction: { type: 'content', content: 'x' } },
  { search_parameters: { mode: 'on' } },
]

const priceFields: Attack = {
  does: 'Asks for a dearer tier, a search or a prediction, at the price of a plain call.',
  guard: 'R76: what changes the price is priced, or refused on a key with a limit',
  async run(arms) {
    const { key } = await newKey(arms, 1_000_000)
    await paced(arms, 5, (n) =>
      arms.ask({
        method: 'POST',
        path: CHAT,
        key,
        body: chat(arms, { max_tokens: 200, ...PRICED[n % PRICED.length] }),
      }),
    )
  },
}

/** What only whoever runs the service may ask for, of the attacker's own project and of others. */
const operators = (project_id: string): [method: string, path: string, body?: object][] => [
  ['GET', '/v2/operator/projects'],
  ['POST', '/v2/operator/projects', { name: 'another', owner_email: 'another@example.com' }],
  ['GET', '/v2/operator/usage'],
  ['POST', `/v2/operator/projects/${project_id}/cap`, { limit_usd: null }],
  ['POST', `/v2/operator/projects/${project_id}/share`, { share: 100 }],
  ['POST', `/v2/operator/projects/${project_id}/quotas`, { sessions: 100_000_000 }],
]

const operator: Attack = {
  does: 'Asks, as admin of its own project, for what is the operator’s: other projects, usage, caps, shares, quotas.',
  guard: 'R79: none of it is in a project’s admin',
  async run(arms) {
    const asked = operators(String((await must(arms, { path: '/v2/project' })).id))
    await paced(arms, 5, async (n) => {
      const [method, path, body] = asked[n % asked.length] as (typeof asked)[number]
      const { status } = await arms.ask({ method, path, ...(body && { body }) })
      if (status === 200 && n < asked.length) arms.gain(`${method} ${path}`)
    })
  },
}

export const MONEY_ATTACKS = {
  deadline,
  subscription,
  byok,
  'lax-money': laxMoney,
  'leave-early': leaveEarly,
  'price-fields': priceFields,
  operator,
}
