// §5.9 with sign-up closed: everybody hears the same, whoever they are and whatever they send; invitations still work.
import { expect, test } from 'vitest'
import { browserOn, newEmail, PASSWORD, settle, tokenIn, watched } from '../support/browser.ts'
import { startService, withService } from '../support/service.ts'

const SIGN_UP = '/auth/signup'
const { mails, hashing, options } = watched({ parts: { sign_up: 'invited' } })

withService((service) => {
  /** Joins by invitation, which is the only way in. */
  async function invited(email: string) {
    const { post } = await service().newProject()
    await post('/v2/members/invitations', { email, role: 'member' })
    await settle(service())
    const token = tokenIn(mails.findLast((mail) => mail.to === email))
    return browserOn(service()).post('/auth/accept-invitation', { token, password: PASSWORD })
  }

  test('§5.9 whoever is about to sign up is told before', async () => {
    const { body } = await browserOn(service()).get('/auth/issuers')
    expect(body).toEqual({ object: 'list', data: [], has_more: false, sign_up: 'invited' })
    const open = await startService({ parts: { sign_up: 'open' } })
    expect((await browserOn(open).get('/auth/issuers')).body.sign_up).toBe('open')
  })

  test('§5.9 403, the same bytes for a stranger, a member, somebody invited and a body that is none; nothing is stored', async () => {
    const [member, waiting] = [newEmail(), newEmail()]
    expect((await invited(member)).status).toBe(200)
    const { post } = await service().newProject()
    await post('/v2/members/invitations', { email: waiting, role: 'member' })
    await settle(service())
    const [mailed, hashed] = [mails.length, hashing.count.hashed]
    const bodies = [
      { email: newEmail(), password: PASSWORD },
      { email: member, password: PASSWORD },
      { email: waiting, password: PASSWORD },
      { email: 'no address', password: 'short' },
      {},
    ]
    const answers = []
    for (const body of bodies)
      answers.push(await service().storingNothing(() => browserOn(service()).post(SIGN_UP, body)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]))
    expect(new Set(answers.map(({ bytes }) => bytes.toString())).size).toBe(1)
    expect(answers[0]?.body.error).toMatchObject({ type: 'insufficient_scope', code: 'insufficient_scope' })
    await settle(service())
    expect([mails.length, hashing.count.hashed]).toEqual([mailed, hashed])
  })

  test('§5.9 who was invited joins, and logs in', async () => {
    const email = newEmail()
    expect((await invited(email)).body).toMatchObject({ object: 'invitation.accepted', email, role: 'member' })
    expect((await browserOn(service()).post('/auth/login', { email, password: PASSWORD })).status).toBe(200)
  })
}, options)

test('§5.9 planted: an open door is seen', async () => {
  const { options: open } = watched()
  const service = await startService(open)
  expect((await browserOn(service).post(SIGN_UP, { email: newEmail(), password: PASSWORD })).status).toBe(200)
})
