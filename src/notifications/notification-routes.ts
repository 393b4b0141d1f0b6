// /v2/notification-channels: who is told of what happens, and what became of it.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { label, listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import {
  Channel,
  ChannelChange,
  channelAddress,
  DeletedChannel,
  eventsOf,
  NewChannel,
  newChannel,
  newSecret,
  noMember,
  wrong,
} from './channel.ts'
import { channelStore, channelsPresent } from './channel-store.ts'
import { deliveryStore, TESTS_MAX } from './delivery-store.ts'
import { Delivery, DeliveryQuery, limitOf } from './notification-delivery.ts'

const Params = Type.Object({ channel_id: Type.String({ description: 'Begins `nch_`.' }) })
const DeliveryParams = Type.Object({
  channel_id: Type.String({ description: 'Begins `nch_`.' }),
  delivery_id: Type.String({ description: 'Begins `dlv_`.' }),
})
const admin = { scope: 'admin', class: 'read' } as const
const tags = ['Notifications']
const WHAT = 'notification channel'
const NEWEST = { sequence: Number.MAX_SAFE_INTEGER, id: '' }

interface Needs {
  clock: Clock
  seals: Sealing
}

export const notificationRoutes: Routes<Needs> = async (app, { clock, seals }) => {
  const channelsOn = (db: Db) => channelStore(db, seals)

  app.post(
    '/v2/notification-channels',
    {
      config: { ...admin, adds: { kind: 'notification_channels', present: channelsPresent } },
      schema: {
        tags,
        summary: 'Make a channel',
        description:
          'Events go to a webhook (Standard Webhooks, signed), to Slack or by mail to a member. A webhook’s `secret` ' +
          'is in this answer alone.',
        body: NewChannel,
        response: { 200: Channel },
      },
    },
    async ({ caller: { project_id }, body, db }) => {
      const made = newChannel(project_id, body, clock.now())
      const { kind } = made.channel
      if (kind === 'mail' && !(await channelsOn(db).isMember(project_id, made.target))) throw noMember(made.target)
      await channelsOn(db).insert(made, clock.now())
      return made.channel
    },
  )

  app.get(
    '/v2/notification-channels',
    { config: admin, schema: { tags, summary: 'List channels, newest first', response: { 200: listOf(Channel) } } },
    async ({ caller: { project_id }, db }) => list(await channelsOn(db).list(project_id)),
  )

  app.get(
    '/v2/notification-channels/:channel_id',
    {
      config: admin,
      schema: { tags, summary: 'Retrieve a channel', params: Params, response: { 200: Channel } },
    },
    async ({ caller: { project_id }, params: { channel_id: id }, db }) =>
      found(await channelsOn(db).find(project_id, id), WHAT, id),
  )

  app.patch(
    '/v2/notification-channels/:channel_id',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Change a channel',
        description: 'What is left out stays as it is. What waits is tried at once.',
        params: Params,
        body: ChannelChange,
        response: { 200: Channel },
      },
    },
    async ({ caller: { project_id }, params: { channel_id: id }, body, db }) => {
      const { name, url, events, status } = body
      const channel = found(await channelsOn(db).find(project_id, id), WHAT, id)
      if (url !== undefined && channel.kind === 'mail') throw wrong('url', 'be left out where `kind` is `mail`')
      const target = url === undefined ? undefined : channelAddress(channel.kind, url)
      const asked = events === undefined ? undefined : eventsOf(events)
      const called = name === undefined ? undefined : label('name', name)
      await channelsOn(db).change(channel, { name: called, target, events: asked, status })
      return found(await channelsOn(db).find(project_id, id), WHAT, id)
    },
  )

  app.delete(
    '/v2/notification-channels/:channel_id',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Delete a channel',
        description: 'What waits for it is not sent any more; its log goes with it.',
        params: Params,
        response: { 200: DeletedChannel },
      },
    },
    async ({ caller: { project_id }, params: { channel_id: id }, db }) => {
      found((await channelsOn(db).remove(project_id, id)) || undefined, WHAT, id)
      return { id, object: 'notification_channel.deleted' as const, deleted: true as const }
    },
  )

  app.post(
    '/v2/notification-channels/:channel_id/rotate-secret',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Give a webhook a new secret',
        description: 'It is in this answer alone. For 24 hours every message is signed with both.',
        params: Params,
        response: { 200: Channel },
      },
    },
    async ({ caller: { project_id }, params: { channel_id: id }, db }) => {
      const { kind } = found(await channelsOn(db).find(project_id, id), WHAT, id)
      if (kind !== 'webhook') throw new Refusal('invalid_request', 'Only a webhook has a secret that signs.')
      const secret = newSecret()
      await channelsOn(db).rotate(project_id, id, secret, clock.now())
      return { ...found(await channelsOn(db).find(project_id, id), WHAT, id), secret }
    },
  )

  app.post(
    '/v2/notification-channels/:channel_id/test',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Send a test event',
        description: 'The delivery, which is on its way: its log tells what became of it.',
        params: Params,
        response: { 200: Delivery },
      },
    },
    async ({ caller: { project_id }, params: { channel_id: id }, db }) => {
      const { status } = found(await channelsOn(db).find(project_id, id), WHAT, id)
      if (status !== 'active') throw new Refusal('invalid_request', `The ${WHAT} '${id}' is ${status}.`)
      if (await deliveryStore(db).hasTestsEnough(id)) throw testsEnough(id)
      return found(await deliveryStore(db).test(project_id, id, clock.now()), WHAT, id)
    },
  )

  app.get(
    '/v2/notification-channels/:channel_id/deliveries',
    {
      config: admin,
      schema: {
        tags,
        summary: 'What was sent, and what became of it, newest first',
        description: 'All that waits, and what has ended within seven days: at most the last 10,000.',
        params: Params,
        querystring: DeliveryQuery,
        response: { 200: listOf(Delivery) },
      },
    },
    async ({ caller: { project_id }, params: { channel_id: id }, query, db }, reply) => {
      const { status, after } = query
      const limit = limitOf(query)
      found(await channelsOn(db).find(project_id, id), WHAT, id)
      const store = deliveryStore(db)
      const last = after === undefined ? NEWEST : await store.find(project_id, id, after)
      if (!last) throw wrong('after', 'be the id of a delivery of this channel')
      return sendList(reply, store.listAll(project_id, id, last, status), Delivery, limit)
    },
  )

  app.post(
    '/v2/notification-channels/:channel_id/deliveries/:delivery_id/redeliver',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Send an event once more',
        description: 'Under the same event id, whatever became of it before.',
        params: DeliveryParams,
        response: { 200: Delivery },
      },
    },
    async ({ caller: { project_id }, params: { channel_id, delivery_id: id }, db }) => {
      const store = deliveryStore(db)
      found((await store.again(project_id, channel_id, id, clock.now())) || undefined, 'delivery', id)
      return found(await store.find(project_id, channel_id, id), 'delivery', id)
    },
  )
}

const testsEnough = (id: string) =>
  new Refusal('quota_exceeded', `${TESTS_MAX} tests of the ${WHAT} '${id}' wait to be sent. Wait until they are.`, {
    headers: { 'x-should-retry': 'false' },
  })
