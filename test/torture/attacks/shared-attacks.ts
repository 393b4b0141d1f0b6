// Attacks on what projects share: slots, breakers, mail, the network that the servers stand in, and a cluster's word.
import { type Attack, CHAT, chat, must, newCluster, newKey, paced } from './attack.ts'

const STREAMS_PER_SERVER = 220 // ten in a hundred more than the managed provider has slots

const slots: Attack = {
  does: 'Opens more slow streams at once than the managed provider has slots, and keeps them.',
  guard: 'R78: no project keeps more than its share while another asks',
  async run(arms) {
    const { key } = await newKey(arms)
    const body = chat(arms, { stream: true, max_tokens: 2_000, plan: { pace_ms: 1_000 } })
    const opened = Array.from({ length: STREAMS_PER_SERVER * arms.servers }, (_, n) => {
      const stream = arms.client.open({ method: 'POST', path: CHAT, key, body, server: n })
      stream.on('error', () => {})
      stream.on('response', (answer) => answer.on('error', () => {}).resume())
      return stream
    })
    await paced(arms, 20, () => arms.ask({ method: 'POST', path: CHAT, key, body: chat(arms), give_up_ms: 2_000 }), 40)
    for (const stream of opened) stream.destroy()
  },
}

const BURST = 12 // at once, so that no success of another comes in between

const breaker: Attack = {
  does: 'Makes its own calls at the managed provider fail, a dozen at a time.',
  guard: 'R78: failures of one project open the breaker for that project alone',
  async run(arms) {
    const asking = { method: 'POST', path: CHAT, body: chat(arms, { plan: { fail: true } }) }
    await paced(arms, 2, (n) =>
      Promise.all(Array.from({ length: BURST }, () => arms.ask({ ...asking, server: n % arms.servers }))),
    )
  },
}

const MAILS_MAX = 100

const mailFlood: Attack = {
  does: 'Invites and withdraws, again and again, under a project name that is an advertisement.',
  guard: 'R78: mails are counted by project and day, and no subject has text of the sender',
  async run(arms) {
    await arms.ask({ method: 'POST', path: '/v2/project/name', body: { name: 'You won: https://prize.example' } })
    let mailed = 0
    await paced(arms, 20, async (n) => {
      const body = { email: `someone-${n}@example.com`, role: 'viewer' }
      const { status, body: text } = await arms.ask({ method: 'POST', path: '/v2/members/invitations', body })
      if (status !== 200) return
      mailed++
      await arms.ask({ method: 'DELETE', path: `/v2/members/${JSON.parse(text).id}` })
    })
    if (mailed > MAILS_MAX) arms.gain(`${mailed} mails to addresses of its choice`)
  },
}

const childHeartbeat: Attack = {
  does: 'Reports, with a child key of one run, that a cluster serves a model.',
  guard: 'R74: a heartbeat needs an admin key, or one that is bound to the cluster or to nothing',
  async run(arms) {
    const { id } = await newCluster(arms, [])
    const parent = await newKey(arms, 100)
    const child = await must(arms, {
      ...{ method: 'POST', path: `/v2/api-keys/${parent.id}/children`, key: parent.key },
      body: { name: 'run', limit_usd: 1, ttl_seconds: 600 },
    })
    let believed = 0
    await paced(arms, 5, async () => {
      const { status } = await arms.ask({
        ...{ method: 'POST', path: `/v2/byoc/clusters/${id}/heartbeat`, key: String(child.key) },
        body: { status: 'active', models: [{ id: 'm' }] },
      })
      if (status === 200) believed++
    })
    if (believed > 0) arms.gain('a child key that speaks for a cluster')
  },
}

/** Spellings of one machine's own address, and the address that clouds give their metadata at. */
const loopbacks = (port: number) => [
  `http://127.0.0.1:${port}/internal`,
  `http://localhost:${port}/internal`,
  `http://127.1:${port}/internal`,
  `http://0x7f000001:${port}/internal`,
  `http://[::ffff:127.0.0.1]:${port}/internal`,
  'http://169.254.169.254/latest',
]

const loopback: Attack = {
  does: 'Registers clusters at loopback addresses of the servers, which stand behind a proxy on the same host.',
  guard: 'R12: loopback is dialled only where the servers serve nobody else, or the operator listed it',
  async run(arms) {
    const endpoints = loopbacks(arms.internal_port)
    for (const [n, endpoint] of endpoints.entries()) {
      const { status, body } = await arms.ask({
        ...{ method: 'POST', path: '/v2/byoc/clusters' },
        body: { name: `inside ${n}`, region: 'nowhere', endpoint },
      })
      if (status !== 200) continue
      const models = n === 0 ? undefined : [{ id: `inside-${n}` }] // without them, the service asks for a list itself
      const path = `/v2/byoc/clusters/${JSON.parse(body).id}/heartbeat`
      await arms.ask({ method: 'POST', path, body: { status: 'active', ...(models && { models }) } })
    }
    await paced(arms, 5, (n) =>
      arms.ask({
        ...{ method: 'POST', path: CHAT, give_up_ms: 3_000 },
        body: chat(arms, { model: `inside-${n % endpoints.length}` }),
      }),
    )
  },
}

export const SHARED_ATTACKS = {
  slots,
  breaker,
  'mail-flood': mailFlood,
  'child-heartbeat': childHeartbeat,
  loopback,
}
