// How the queues of channels are sent: in batches, many subjects at once, within bounds, and with nobody in another's
// way.
import { afterAll, beforeEach, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { noGateway } from '../../src/start/gateway-settings.ts'
import { sql } from '../../src/storage/db.ts'
import { tell } from '../../src/storage/telling.ts'
import { withService } from '../support/service.ts'
import { countStatements, mutateSql, type Tampering } from '../support/tampered-db.ts'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'

const CHANNELS = '/v2/notification-channels'
const settings = { ...noGateway(), policy: { allow_private: true, allow_cidrs: [] } }
const tampering: Tampering = {}
const NOTES = /UPDATE notification_delivery SET status = noted/

withService(
  (service) => {
    const receivers: Receiver[] = []
    afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())))
    beforeEach(() => {
      delete tampering.rows
    })

    async function listening(project = service().newProject()) {
      const [made, receiver] = [await project, await webhookReceiver()]
      receivers.push(receiver)
      const channel = (await made.post(CHANNELS, { kind: 'webhook', name: 'ops', url: receiver.url })).body
      return { ...made, receiver, channel }
    }

    const begin = () => service().housekeep('deliver notifications')
    const settled = () => service().notifications.settled()
    async function deliver(): Promise<void> {
      await begin()
      await settled()
    }

    const happen = (project_id: string, subject: string, n = 0) =>
      service().db.transaction((tx) =>
        tell(tx, { project_id, type: 'cluster.down', subject, sentence: 'Down.', data: { n } }, service().clock.now()),
      )
    const told = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body))
    const statuses = async (channel_id: string) =>
      service().db.rows<{ status: string; attempts: number }>(sql`
        SELECT status, attempts FROM notification_delivery WHERE channel_id = ${channel_id} ORDER BY sequence`)

    test('§notifications what many subjects were told is noted together, each subject in its order', async () => {
      const { project, receiver, channel } = await listening()
      for (let n = 0; n < 240; n++) await happen(project.id, `subject ${n % 40}`, n)
      const statements = await countStatements(tampering).while(deliver)
      expect(statements.filter((text) => NOTES.test(text)).length).toBeLessThan(60)
      expect(
        statements.filter((text) => /FROM notification_delivery d WHERE d\.channel_id/.test(text)).length,
      ).toBeLessThan(40)
      expect(receiver.received.length).toBe(240)
      for (const wanted of new Set(told(receiver).map(({ subject }) => subject))) {
        const events = told(receiver).filter(({ subject }) => subject === wanted)
        const numbers: number[] = events.map(({ data }) => data.n)
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
      }
      expect(
        (await statuses(channel.id)).every(({ status, attempts }) => status === 'delivered' && attempts === 1),
      ).toBe(true)
    })

    test('§notifications at once at most 8 at first and 32 later, one of each subject', async () => {
      const { project, receiver } = await listening()
      let [open, most] = [0, 0]
      const of = new Map<string, number>()
      const replies: (() => void)[] = []
      receiver.later = ({ body }) => {
        const { subject } = JSON.parse(body)
        expect(of.get(subject) ?? 0).toBe(0)
        of.set(subject, 1)
        most = Math.max(most, ++open)
        return new Promise((resolve) => {
          replies.push(() => {
            open--
            of.set(subject, 0)
            resolve({ status: 200 })
          })
        })
      }
      for (let n = 0; n < 400; n++) await happen(project.id, `subject ${n % 80}`, n)
      await begin()
      for (let taken = 0; taken <= 30; taken++) {
        await expect.poll(() => open, { interval: 2 }).toBe(Math.min(32, 8 + taken))
        replies.shift()?.()
      }
      let is_over = false
      const over = settled().then(() => {
        is_over = true
      })
      while (!is_over) {
        for (const reply of replies.splice(0)) reply()
        await new Promise((resolve) => setImmediate(resolve))
      }
      await over
      expect([most, receiver.received.length]).toEqual([32, 400])
    })

    test('R78 one that is slow to answer keeps its own subject waiting, and no other of its channel', async () => {
      const { project, receiver } = await listening()
      let answer = () => {}
      receiver.later = ({ body }) =>
        JSON.parse(body).subject === 'slow'
          ? new Promise((resolve) => {
              answer = () => resolve({ status: 200 })
            })
          : Promise.resolve({ status: 200 })
      await happen(project.id, 'slow')
      for (let n = 0; n < 300; n++) await happen(project.id, `quick ${n % 25}`, n)
      await begin()
      await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(301)
      answer()
      await settled()
    })

    test('R78 channels that are slow to answer have lanes of their own: another of the project is not kept', async () => {
      const slow = [await listening()]
      const [{ project, receiver: first }] = slow as [Awaited<ReturnType<typeof listening>>]
      const of_project = Promise.resolve(slow[0] as Awaited<ReturnType<typeof listening>>)
      while (slow.length < 4) slow.push(await listening(of_project))
      for (const { receiver } of slow)
        receiver.answer = () => {
          service().clock.advance(2 * SECOND_MS)
          return { status: 200 }
        }
      await happen(project.id, 'one')
      await deliver()
      expect(first.received.length).toBe(1)
      const replies: (() => void)[] = []
      for (const { receiver } of slow)
        receiver.later = () => new Promise((resolve) => replies.push(() => resolve({ status: 200 })))
      const quick = await listening(of_project)
      await happen(project.id, 'two')
      await begin()
      await expect.poll(() => [quick.receiver.received.length, replies.length]).toEqual([1, 2])
      for (let turn = 0; turn < 2; turn++) {
        for (const reply of replies.splice(0)) reply()
        await settled()
        await begin()
        await expect.poll(() => replies.length + 2 * turn).toBe(2)
      }
      await settled()
      expect(slow.map(({ receiver }) => receiver.received.length)).toEqual([2, 2, 2, 2])
    })

    /** Whoever has the channel in hand is paused while it sends, and another takes it up. */
    async function takenOver() {
      const { project, receiver, channel } = await listening()
      let answer = () => {}
      receiver.later = () =>
        new Promise((resolve) => {
          answer = () => resolve({ status: 200 })
        })
      await happen(project.id, 'one')
      await begin()
      await expect.poll(() => receiver.received.length).toBe(1)
      await service().db.rows(sql`
        UPDATE notification_channel SET lease = 'another', lease_until = 0 WHERE id = ${channel.id}`)
      answer()
      await settled()
      return { left: await statuses(channel.id), receiver }
    }

    test('T-24 who lost the channel notes nothing, and it is sent again; planted: a note without the fence', async () => {
      const { left, receiver } = await takenOver()
      expect(left).toEqual([{ status: 'waiting', attempts: 0 }])
      receiver.later = () => Promise.resolve({ status: 200 })
      await deliver()
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      expect(receiver.received.length).toBe(2)
      mutateSql(tampering, /AND c\.lease = $/, "AND c.id || 'x' <> ", /WITH noted/)
      expect((await takenOver()).left).toEqual([{ status: 'delivered', attempts: 1 }])
    })

    test('§notifications a store that is away while they are noted loses none: all of the batch is sent again', async () => {
      const { project, receiver, channel } = await listening()
      for (let n = 0; n < 20; n++) await happen(project.id, `subject ${n}`, n)
      tampering.rows = (statement, run) =>
        statement.text.join('?').includes('WITH noted') ? Promise.reject(new Error('away')) : run(statement)
      await deliver()
      expect(receiver.received.length).toBeGreaterThan(0)
      expect((await statuses(channel.id)).every(({ status }) => status === 'waiting')).toBe(true)
      delete tampering.rows
      await deliver()
      expect(new Set(told(receiver).map(({ id }) => id)).size).toBe(20)
      expect((await statuses(channel.id)).every(({ status }) => status === 'delivered')).toBe(true)
    })
  },
  { parts: { settings }, tampering },
)
