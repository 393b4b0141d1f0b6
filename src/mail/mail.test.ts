// The outbox and where it goes, on whichever engine this run is for.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type HeldClock, heldClock, NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { smtpServer } from '../../test/support/smtp-server.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { type Db, sql } from '../storage/db.ts'
import { bySmtp, type Deliver, toFiles } from './delivery.ts'
import { messageOf } from './message.ts'
import { type Letter, type Mail, outboxStore, pauseAfter } from './outbox-store.ts'
import { sendWaiting } from './post-office.ts'

const SEALS = sealing('a secret for tests, 32 characters or more')
const SITE = 'https://switchyard.example'
const letter = (subject: string, good_for_ms = HOUR_MS): Letter => ({
  to: 'ada@example.com',
  subject,
  text: 'Hello.\n\nhttps://switchyard.example/x#token=abc\n',
  link: 'https://switchyard.example/x#token=abc',
  good_until_ms: NOON + good_for_ms,
})

const quiet = pino({ level: 'silent' })

function postOffice(db: Db, deliver: Deliver, clock: HeldClock, seals = SEALS) {
  const outbox = outboxStore(db, seals)
  return { outbox, send: () => sendWaiting({ outbox, deliver, clock, log: quiet }) }
}

withDb((db) => {
  const waiting = async () => (await db().rows(sql`SELECT id FROM mail_outbox`)).length
  const forgetAll = () => db().rows(sql`DELETE FROM mail_outbox`)

  test('§mail what is posted is sent once, in order, and is gone', async () => {
    const sent: Mail[] = []
    const { outbox, send } = postOffice(db(), async (mail) => void sent.push(mail), heldClock())
    for (const subject of ['a', 'b', 'c']) await outbox.post(letter(subject), NOON)
    await send()
    await send()
    expect(sent.map(({ subject }) => subject)).toEqual(['a', 'b', 'c'])
    const { good_until_ms: _until, ...mail } = letter('a')
    expect(sent[0]).toEqual(mail)
    expect(await waiting()).toBe(0)
  })

  test('§mail a letter of a transaction that failed is never sent', async () => {
    const sent: Mail[] = []
    const { send } = postOffice(db(), async (mail) => void sent.push(mail), heldClock())
    const failing = db().transaction(async (tx) => {
      await outboxStore(tx, SEALS).post(letter('undone'), NOON)
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    await send()
    expect(sent).toEqual([])
  })

  test('§mail a failure is tried again, later and later, and holds up nobody else for long', async () => {
    const clock = heldClock()
    const tried: [string, number][] = []
    const { outbox, send } = postOffice(
      db(),
      async ({ subject }) => {
        tried.push([subject, clock.now() - NOON])
        if (subject === 'refused' && tried.filter(([one]) => one === 'refused').length < 4) throw new Error('no')
      },
      clock,
    )
    await outbox.post(letter('refused'), NOON)
    await outbox.post(letter('fine'), NOON)
    for (let second = 0; second < 100; second++) {
      await send()
      clock.advance(SECOND_MS)
    }
    expect(tried).toEqual([
      ['refused', 0],
      ['fine', 1_000],
      ['refused', 10_000],
      ['refused', 30_000],
      ['refused', 70_000],
    ])
    expect(await waiting()).toBe(0)
    expect([1, 2, 10, 1_000].map(pauseAfter)).toEqual([10_000, 20_000, HOUR_MS, HOUR_MS])
  })

  test('R78 recipients that the relay refuses hold up nobody: the same round sends what others wait for', async () => {
    const { url, received } = await smtpServer({ answer: '250 taken', refuses: 'nobody' })
    const clock = heldClock()
    const { outbox, send } = postOffice(db(), bySmtp(url, SITE, clock), clock)
    for (let n = 0; n < 30; n++) await outbox.post({ ...letter('bad'), to: `nobody-${n}@example.com` }, NOON)
    await outbox.post(letter('reset'), NOON)
    await send()
    expect(received.map(({ to }) => to)).toEqual(['ada@example.com'])
    expect(await waiting()).toBe(30)
    await forgetAll()
  })

  test('§mail where the relay does not take our sender, it takes no other mail either: the round ends', async () => {
    const { url, behaviour } = await smtpServer({ answer: '250 taken', refuses: 'no-reply' })
    const clock = heldClock()
    const { outbox, send } = postOffice(db(), bySmtp(url, SITE, clock), clock)
    for (const subject of ['a', 'b']) await outbox.post(letter(subject), NOON)
    await send()
    expect(behaviour.refused).toBe(1)
    await forgetAll()
  })

  test('§mail what came too late, or was sealed with another secret, is dropped', async () => {
    const [clock, sent]: [HeldClock, Mail[]] = [heldClock(), []]
    const deliver: Deliver = async (mail) => void sent.push(mail)
    const { outbox, send } = postOffice(db(), deliver, clock)
    await outbox.post(letter('late', MINUTE_MS), NOON)
    await postOffice(db(), deliver, clock, sealing('another secret of 32 characters or more')).outbox.post(
      letter('foreign'),
      NOON,
    )
    clock.advance(MINUTE_MS)
    await send()
    expect([sent, await waiting()]).toEqual([[], 0])
  })

  test('§mail a process that died with a mail in hand is replaced after five minutes, under the same id', async () => {
    const [clock, ids]: [HeldClock, string[]] = [heldClock(), []]
    const { outbox } = postOffice(db(), async () => {}, clock)
    await outbox.post(letter('in hand'), NOON)
    const dying = await outbox.take(clock.now())
    const { send } = postOffice(db(), async (_mail, id) => void ids.push(id), clock)
    clock.advance(5 * MINUTE_MS - 1)
    await send()
    expect(ids).toEqual([])
    clock.advance(1)
    await send()
    expect(ids).toEqual([dying?.id])
  })

  /** Two processes on one store at once: how often each mail was sent. */
  async function sentByTwo(on: Db): Promise<number[]> {
    const [clock, sent] = [heldClock(), new Map<string, number>()]
    const deliver: Deliver = async ({ subject }) => void sent.set(subject, (sent.get(subject) ?? 0) + 1)
    const [one, two] = [postOffice(on, deliver, clock), postOffice(on, deliver, clock)]
    for (let n = 0; n < 30; n++) await one.outbox.post(letter(`mail ${n}`), NOON)
    await Promise.all([one.send(), two.send(), one.send(), two.send()])
    return [...sent.values()]
  }

  test('§mail two processes send each mail once; planted: taking without asking is caught', async () => {
    expect(await sentByTwo(db())).toEqual(Array(30).fill(1))
    const tampering: Tampering = {}
    mutateSql(tampering, 'AND due_at <=', 'AND due_at >=', /^UPDATE mail_outbox/)
    expect(Math.max(...(await sentByTwo(tamperedDb(db(), tampering))))).toBeGreaterThan(1)
  })

  test('§mail a letter that waits cannot be read in the store', async () => {
    const { outbox, send } = postOffice(db(), async () => {}, heldClock())
    await outbox.post(letter('secret'), NOON)
    const [row] = await db().rows<{ sealed: Uint8Array }>(sql`SELECT sealed FROM mail_outbox`)
    expect(Buffer.from(row?.sealed ?? []).includes('token=abc')).toBe(false)
    await send()
  })
})

describe('where mails go', () => {
  const sender = { address: 'no-reply@switchyard.example', domain: 'switchyard.example' }
  const mail: Mail = { to: 'ada@example.com', subject: 'Hello', text: 'One.\n\n.two\n' }

  test('§mail a message is plain text with the headers that mail servers ask for', () => {
    expect(messageOf(mail, 'id1', sender, NOON).split('\r\n')).toEqual([
      'From: Switchyard <no-reply@switchyard.example>',
      'To: ada@example.com',
      'Subject: Hello',
      'Date: Sun, 15 Nov 2026 12:00:00 +0000',
      'Message-ID: <id1@switchyard.example>',
      'Auto-Submitted: auto-generated',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'One.',
      '',
      '.two',
      '',
    ])
    const [, body = ''] = messageOf({ ...mail, text: 'é'.repeat(100) }, 'id1', sender, NOON).split('\r\n\r\n')
    expect(Buffer.from(body, 'base64').toString()).toBe('é'.repeat(100))
    expect(Math.max(...body.split('\r\n').map((line) => line.length))).toBe(76)
  })

  test('§mail by SMTP: the envelope, the bytes, and the sender that the address names', async () => {
    const { url, received } = await smtpServer()
    await bySmtp(url, SITE, heldClock())(mail, 'id1')
    expect(received).toEqual([
      { from: 'no-reply@switchyard.example', to: 'ada@example.com', data: messageOf(mail, 'id1', sender, NOON) },
    ])
    await bySmtp(`${url}&from=post@other.example`, SITE, heldClock())(mail, 'id2')
    expect(received[1]).toMatchObject({
      from: 'post@other.example',
      data: expect.stringContaining('<id2@other.example>'),
    })
  })

  test('§mail by SMTP: a refusal and a server that is away reject, so that it is tried again', async () => {
    const { url } = await smtpServer({ answer: '451 later' })
    await expect(bySmtp(url, SITE, heldClock())(mail, 'id1')).rejects.toThrow('451')
    await expect(bySmtp('smtp://127.0.0.1:9', SITE, heldClock())(mail, 'id1')).rejects.toThrow('ECONNREFUSED')
  })

  test('§mail without SMTP: a file that only its owner reads, and one line in the log with the link', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'switchyard-outbox-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const log: string[] = []
    const logger = pino({}, { write: (line: string) => void log.push(line) })
    const outbox = join(folder, 'outbox')
    const link = `${SITE}/console/verify-email#token=abc`
    await toFiles(outbox, SITE, heldClock(), logger)({ ...mail, text: `${link}\n`, link }, 'id1')
    const [file = '', ...others] = readdirSync(outbox)
    expect([file, others]).toEqual(['2026-11-15T12-00-00.000Z-id1.eml', []])
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
    expect([mode(outbox), mode(join(outbox, file))]).toEqual(['700', '600'])
    expect(readFileSync(join(outbox, file), 'utf8').split('\r\n')).toContain(link)
    expect(log.map((line) => JSON.parse(line).link)).toEqual([link])
  })
})
