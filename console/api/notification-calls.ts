// /v2/notification-channels as the console uses it.
import type { Channel, ChannelChange, NewChannel } from '../../src/notifications/channel.ts'
import type { Delivery } from '../../src/notifications/notification-delivery.ts'
import { del, get, patch, post } from './api-client.ts'

export type { Channel, ChannelChange, Delivery, NewChannel }

const CHANNELS = '/v2/notification-channels'

export const listChannels = async (signal?: AbortSignal): Promise<readonly Channel[]> =>
  (await get<{ data: Channel[] }>(CHANNELS, signal)).data
export const findChannel = (id: string, signal?: AbortSignal) => get<Channel>(`${CHANNELS}/${id}`, signal)
export const makeChannel = (body: NewChannel, idempotency_key: string) => post<Channel>(CHANNELS, body, idempotency_key)
export const changeChannel = (id: string, body: ChannelChange) => patch<Channel>(`${CHANNELS}/${id}`, body)
export const deleteChannel = (id: string) => del<{ deleted: true }>(`${CHANNELS}/${id}`)
export const rotateSecret = (id: string, idempotency_key: string) =>
  post<Channel>(`${CHANNELS}/${id}/rotate-secret`, {}, idempotency_key)
export const testChannel = (id: string) => post<Delivery>(`${CHANNELS}/${id}/test`, {})
export const redeliver = (channel_id: string, id: string) =>
  post<Delivery>(`${CHANNELS}/${channel_id}/deliveries/${id}/redeliver`, {})

const LOG_ROWS = 200

export const deliveriesOf = async (id: string, signal?: AbortSignal): Promise<readonly Delivery[]> =>
  (await get<{ data: Delivery[] }>(`${CHANNELS}/${id}/deliveries?limit=${LOG_ROWS}`, signal)).data
