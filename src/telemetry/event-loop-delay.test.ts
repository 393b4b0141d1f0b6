// R77: the histogram shows what held the event loop up.
import { expect, test } from 'vitest'
import { LOOP_DELAY_BUCKETS, watchEventLoop } from './event-loop-delay.ts'
import { metrics } from './metrics.ts'

test('R77 a turn of 60 ms is seen beside turns that are on time', async () => {
  let now_ms = 0
  let tick = () => {}
  let is_stopped = false
  const { eventLoopDelay } = metrics()
  const stop = watchEventLoop(eventLoopDelay, {
    now_ms: () => now_ms,
    every(ms, next) {
      tick = () => {
        now_ms += ms
        next()
      }
      return () => {
        is_stopped = true
      }
    },
  })
  for (let n = 0; n < 8; n++) tick()
  now_ms += 60
  tick()
  const { values } = await eventLoopDelay.get()
  const counts = new Map(values.map(({ labels, value }) => [labels.le, value]))
  expect(LOOP_DELAY_BUCKETS.map((le) => counts.get(le))).toEqual([8, 8, 8, 8, 8, 9, 9, 9])
  await stop()
  expect(is_stopped).toBe(true)
})
