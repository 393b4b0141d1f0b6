// T-101, T-102: where a browser's request comes from, and what its cookie says.
import { expect, test } from 'vitest'
import { isOfThisMachine, mustBeOurs, mustNotBeAnothers, type Told } from './cross-site.ts'
import { clearCookie, readCookie, setCookie } from './session-cookie.ts'

const HOSTS = ['10.0.0.5:8080', 'switchyard.example']
const told = (method: string, origin?: string, sec_fetch_site?: string): Told => ({
  method,
  hosts: HOSTS,
  origin,
  sec_fetch_site,
})
const passes = (check: (told: Told) => void, ...about: Parameters<typeof told>) => {
  try {
    check(told(...about))
    return true
  } catch {
    return false
  }
}

test.each<[origin: string | undefined, site: string | undefined, with_cookie: boolean, without: boolean]>([
  ['https://switchyard.example', undefined, true, true],
  ['http://10.0.0.5:8080', undefined, true, true],
  ['https://SWITCHYARD.example', undefined, true, true],
  ['https://switchyard.example:444', undefined, false, false],
  ['https://switchyard.example.evil', undefined, false, false],
  ['https://switchyard.example', 'cross-site', false, false],
  ['https://evil.example', 'same-origin', true, true], // no page can say so: a proxy changed our name
  ['null', 'same-origin', false, false],
  ['null', undefined, false, false],
  ['', undefined, false, false],
  [undefined, 'same-site', false, false],
  [undefined, undefined, false, true],
])('T-102 from %s, site %s: with a cookie %s, without one %s', (origin, site, with_cookie, without) => {
  expect([passes(mustBeOurs, 'POST', origin, site), passes(mustNotBeAnothers, 'POST', origin, site)]).toEqual([
    with_cookie,
    without,
  ])
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    expect(passes(mustBeOurs, method, origin, site), method).toBe(with_cookie)
  for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(passes(mustBeOurs, method, origin, site), method).toBe(true)
})

const SECRET = 'S'.repeat(43)

test.each([
  [`switchyard=${SECRET}`, SECRET, undefined],
  [`__Host-switchyard=${SECRET}`, undefined, SECRET],
  [`a=b; switchyard=${SECRET} ;c=d`, SECRET, undefined],
  [`switchyard=${SECRET}; __Host-switchyard=${'T'.repeat(43)}`, SECRET, 'T'.repeat(43)],
  [`switchyard=${SECRET}; switchyard=${SECRET}`, undefined, undefined],
  [`switchyard="${SECRET}"`, undefined, undefined],
  [`xswitchyard=${SECRET}`, undefined, undefined],
  ['switchyard', undefined, undefined],
  ['', undefined, undefined],
  [undefined, undefined, undefined],
])('T-101 of %s, plain HTTP reads %s and TLS reads %s', (header, plain, secure) => {
  expect([readCookie(header, false), readCookie(header, true)]).toEqual([plain, secure])
})

test('T-101 what is set is read again, and what is cleared is not', () => {
  for (const secure of [true, false]) {
    const [pair] = setCookie(SECRET, 1_000, secure).split(';')
    expect(readCookie(pair, secure)).toBe(SECRET)
    expect(readCookie(clearCookie(secure).split(';')[0], secure)).toBeUndefined()
    expect(clearCookie(secure)).toContain('Max-Age=0')
  }
})

test.each([
  ['localhost', true],
  ['LOCALHOST:8080', true],
  ['console.localhost:8080', true],
  ['127.0.0.1:8080', true],
  ['127.1:8080', true],
  ['[::1]:8080', true],
  ['localhost.evil.example', false],
  ['127.0.0.1.evil.example:8080', false],
  ['evil.example:8080', false],
  ['10.0.0.5', false],
  ['', false],
  ['a b', false],
])('R12 whether %j names this machine: %s', (host, is) => {
  expect(isOfThisMachine(host)).toBe(is)
})
