// What the URL of a PostgreSQL says beside where it is.
import { expect, test } from 'vitest'
import { connectTimeout, withoutJit } from './postgres-url.ts'

test.each([
  ['postgres://me@db/x', 2_500],
  ['postgres://me@db/x?connect_timeout=20', 20_000],
  ['postgres://me@db/x?sslmode=require&connect_timeout=7&a=b', 7_000],
  ['postgres://me@db/x?connect_timeout=0', 2_500],
  ['postgres://me@db/x?connect_timeout=soon', 2_500],
  ['postgres://me@db/x?connect_timeout=9999999', 2_500],
])('§operations a connection to %s is waited for %i ms', (url, ms) => {
  expect(connectTimeout(url)).toBe(ms)
})

test.each([
  ['postgres://me@db/x', 'postgres://me@db/x?options=-c%20jit%3Doff'],
  ['postgres://me@db/x?a=b', 'postgres://me@db/x?a=b&options=-c%20jit%3Doff'],
  ['postgres://me@db/x?options=-c%20a%3Db', 'postgres://me@db/x?options=-c%20a%3Db%20-c%20jit%3Doff'],
])('§operations no statement is compiled: %s', (url, wanted) => {
  expect(withoutJit(url)).toBe(wanted)
})
