import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { tellUnawaited } from './unawaited.ts'

test('R78 a rejected promise that nobody waits for is told, and the process goes on', () => {
  const process = new EventEmitter()
  const told: unknown[] = []
  tellUnawaited({ log_level: 'info' }, process, { error: (line: unknown) => void told.push(line) })
  const err = new Error('one call')
  expect(process.emit('unhandledRejection', err, Promise.resolve())).toBe(true) // else Node ends it
  expect(told).toEqual([{ err }])
})
