// `sign_in:` of switchyard.yaml, as a start reads it: what is wrong is told with its line, and nothing is loaded for nobody.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { HOUR_MS } from '../core/clock.ts'
import { parseConfig } from '../start/config-file.ts'
import { noGateway } from '../start/gateway-settings.ts'
import { settingsChanges } from '../start/reload.ts'
import { boundTo } from './sign-in-settings.ts'

const ISSUER = { id: 'okta', name: 'Okta', issuer: 'https://acme.okta.com', client_id: 'x' }
const read = (sign_in: unknown, env = {}) => parseConfig(JSON.stringify({ sign_in }), 'the file', env).sign_in
const wrongWith = (...issuers: object[]) => {
  try {
    read({ issuers })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('§5.9 the defaults: nobody to sign in with, and sessions of 14 days without use', () => {
  const session_of_14_days = { idle_ms: 336 * HOUR_MS, lifetime_ms: null }
  expect(read({})).toEqual({ session: session_of_14_days, second_factor_required: false, issuers: [] })
  expect(noGateway().sign_in).toEqual(read({}))
  const { session, issuers } = read({ session: { idle_hours: 1, lifetime_hours: 8 }, issuers: [ISSUER] })
  expect(session).toEqual({ idle_ms: HOUR_MS, lifetime_ms: 8 * HOUR_MS })
  expect(issuers[0]).toMatchObject({ scopes: ['openid', 'email', 'profile'], sign_out: 'issuer', domains: [] })
})

test('§5.9 a secret comes from a variable or a file, like every other', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secret-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'secret'), 'from a file\n')
  const issuers = [{ ...ISSUER, client_secret: `\${S}` }]
  expect(read({ issuers }, { S: 'from a variable' }).issuers[0]?.client_secret).toBe('from a variable')
  expect(read({ issuers }, { S_FILE: join(folder, 'secret') }).issuers[0]?.client_secret).toBe('from a file')
  expect(wrongWith({ ...ISSUER, client_secret: `\${S}` })).toContain('the variable S is not set')
})

test.each([
  ['an id twice', [ISSUER, { ...ISSUER, issuer: 'https://other.example' }], "issuers[1].id' 'okta' is there twice"],
  ['an issuer twice', [ISSUER, { ...ISSUER, id: 'b' }], "issuers[1].issuer' is there twice"],
  ['plain http', [{ ...ISSUER, issuer: 'http://sso.example' }], 'must be an https address'],
  ['a query', [{ ...ISSUER, issuer: 'https://sso.example/?a=b' }], 'must be an https address'],
  ['no openid', [{ ...ISSUER, scopes: ['email'] }], "must have 'openid'"],
  ['a domain that is none', [{ ...ISSUER, domains: ['a@b.example'] }], "domains[0]' must be a domain"],
  ['capitals', [{ ...ISSUER, domains: ['Acme.com'] }], 'in small letters'],
  [
    'a domain of two',
    [
      { ...ISSUER, domains: ['a.b'] },
      { ...ISSUER, id: 'b', issuer: 'https://c.d', domains: ['a.b'] },
    ],
    "'a.b' is there twice",
  ],
  ['a role that is none', [{ ...ISSUER, default_role: { project: 'prj_1', role: 'king' } }], 'role'],
  ['a project that is none', [{ ...ISSUER, default_role: { project: 'default', role: 'owner' } }], 'project'],
  ['an unknown field', [{ ...ISSUER, secret: 'x' }], 'secret'],
])('§5.9 %s stops the start, and says why', (_what, issuers, message) => {
  expect(wrongWith(...issuers)).toContain(message)
})

test('§5.9 this machine may be spoken to without TLS, as in a trial', () => {
  for (const issuer of ['http://localhost:8081/realms/a', 'http://127.0.0.1:1', 'http://[::1]:2'])
    expect(wrongWith({ ...ISSUER, issuer }), issuer).toBe('')
})

test('§5.9 a domain is itself, and not what ends like it', () => {
  const { issuers } = read({ issuers: [{ ...ISSUER, domains: ['acme.com'] }] })
  const bound = (email: string) => boundTo(issuers, email)?.id
  expect(['a@acme.com', '"a@b"@acme.com', 'a@sub.acme.com', 'a@notacme.com', 'a@acme.com.evil'].map(bound)).toEqual([
    'okta',
    'okta',
    undefined,
    undefined,
    undefined,
  ])
})

test('R83 a changed secret is named in the log, never shown', () => {
  const [before, after] = [noGateway(), noGateway()]
  before.sign_in.issuers = read({ issuers: [{ ...ISSUER, client_secret: 'the old one' }] }).issuers
  after.sign_in.issuers = read({ issuers: [{ ...ISSUER, client_secret: 'the new one' }] }).issuers
  after.sign_in.session = { idle_ms: 1, lifetime_ms: null }
  expect(settingsChanges(before, after)).toEqual([
    "issuer 'okta': client_secret changed",
    'sign_in.session.idle_ms: 1209600000 → 1',
  ])
})

const LOADS = /^(?:import|export) (?!type )(?:[\w*{},\s]+ from )?'([^']+)'/gm

/** Everything that a module loads by being loaded. */
function loadedBy(start: string): Set<string> {
  const all = new Set([start])
  for (const one of all) {
    if (!one.endsWith('.ts')) continue
    for (const [, name = ''] of readFileSync(one, 'utf8').matchAll(LOADS))
      all.add(name.startsWith('.') ? posix.join(posix.dirname(one), name) : name)
  }
  return all
}

test('§operations the server loads nothing that speaks to an issuer, until somebody signs in with one', () => {
  const at_start = loadedBy('src/main.ts')
  expect(at_start).toContain('src/start/open-issuers.ts')
  expect([...at_start].filter((name) => /openid-client|src\/issuers\//.test(name))).toEqual([])
  expect(loadedBy('src/issuers/issuer-client.ts')).toContain('openid-client') // this can tell
})
