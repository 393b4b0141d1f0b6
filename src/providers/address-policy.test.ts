// T-81 to T-88: every spelling, every range, every dial.
import { lookup as systemLookup } from 'node:dns'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startUpstream } from '../../test/support/upstream.ts'
import {
  type AddressPolicy,
  AddressRefused,
  assertDialable,
  type GuardedLookup,
  guardedLookup,
} from './address-policy.ts'
import { UpstreamError } from './provider.ts'
import { openUpstream } from './upstream.ts'

const STRICT: AddressPolicy = { allow_private: false, allow_cidrs: [] }
const HOME: AddressPolicy = { allow_private: true, allow_cidrs: [] }

const isDialable = (url: string, policy = STRICT) => {
  try {
    assertDialable(url, policy)
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(UpstreamError)
    expect((error as UpstreamError).failure).toBe('refused_address')
    return false
  }
}

describe('T-81 however loopback is spelled', () => {
  test.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://127.0.1',
    'http://2130706433',
    'http://0x7f.1',
    'http://0x7f000001',
    'http://0177.0.0.1',
    'http://017700000001',
    'http://①②⑦.⓪.⓪.①',
    'http://１２７．０．０．１',
    'http://127。0。0。1',
    'http://%31%32%37.0.0.1',
    'http://127.0.0.1.',
    'http://127.255.255.254:8000/v1',
    'https://[::1]',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:7f00:1]',
    'http://user@127.0.0.1',
    'http:127.0.0.1',
    'http:\\\\127.0.0.1',
    'HTTP://127.0.0.1',
  ])('%s is refused, and may be allowed', (url) => {
    expect([isDialable(url), isDialable(url, HOME)]).toEqual([false, true])
  })

  test.each([
    'file:///etc/passwd',
    'gopher://127.0.0.1',
    'foo://127.1',
    'unix:/run/x',
    '127.0.0.1',
    '',
    'http://',
    'http://1.2.3.4.5',
  ])('T-80 %s is no address at all', (url) => {
    expect(isDialable(url, HOME)).toBe(false)
  })
})

describe('T-82 what is never dialled, whatever the operator allows', () => {
  const everything = { allow_private: true, allow_cidrs: ['0.0.0.0/0', '::/0'] }

  test.each([
    ['link-local, and metadata', '169.254.169.254'],
    ['metadata of containers', '169.254.170.2'],
    ['metadata, mapped', '[::ffff:a9fe:a9fe]'],
    ['metadata, translated', '[::ffff:0:a9fe:a9fe]'],
    ['metadata by NAT64', '[64:ff9b::a9fe:a9fe]'],
    ['metadata by a NAT64 of its own', '[64:ff9b:1::a9fe:a9fe]'],
    ['metadata by 6to4', '[2002:a9fe:a9fe::1]'],
    ['metadata behind Teredo', '[2001:0:808:808:0:0:5601:5601]'],
    ['metadata as the Teredo server', '[2001:0:a9fe:a9fe::1]'],
    ['metadata, compatible', '[::a9fe:a9fe]'],
    ['loopback, compatible', '[::127.0.0.1]'],
    ['metadata at Alibaba', '100.100.100.200'],
    ['metadata at Azure', '168.63.129.16'],
    ['metadata at Oracle', '192.0.0.192'],
    ['metadata at Amazon', '[fd00:ec2::254]'],
    ['metadata at Google', '[fd20:ce::254]'],
    ['metadata at Scaleway', '[fd00:42::42]'],
    ['link-local', '[fe80::1]'],
    ['the end of link-local', '[febf:ffff::1]'],
    ['site-local', '[fec0::1]'],
    ['unspecified', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['unspecified', '[::]'],
    ['multicast', '224.0.0.1'],
    ['multicast', '[ff02::1]'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.7'],
    ['documentation', '203.0.113.9'],
    ['documentation', '[2001:db8::1]'],
    ['documentation', '[3fff::1]'],
    ['discard', '[100::1]'],
    ['6to4 relays', '192.88.99.1'],
  ])('%s: %s', (_case, host) => {
    expect(isDialable(`http://${host}/v1`, everything)).toBe(false)
  })
})

describe('T-88 private ranges', () => {
  const private_hosts = [
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255', '198.18.0.1'],
    ...['127.0.0.1', '[::1]', '[fc00::1]', '[fdff::1]', '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]', '[2002:a00:1::1]'],
  ]
  test.each(private_hosts)('%s is dialled only where private ranges are allowed', (host) => {
    const url = `http://${host}/v1`
    expect([isDialable(url), isDialable(url, HOME)]).toEqual([false, true])
  })

  test.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '10.1.2.3/32', true],
    ['10.1.2.4', '10.1.2.3/32', false],
    ['10.1.2.3', '10.1.2.0/23', true],
    ['10.1.4.3', '10.1.2.0/23', false],
    ['192.168.0.1', '10.0.0.0/8', false],
    ['[::ffff:10.1.2.3]', '10.0.0.0/8', true],
    ['[64:ff9b::a01:203]', '10.0.0.0/8', true],
    ['[fd12::1]', 'fd12::/16', true],
    ['[fd13::1]', 'fd12::/16', false],
    ['[::1]', '127.0.0.0/8', false],
    ['127.0.0.1', '0.0.0.0/0', true],
  ])('%s with %s listed: %s', (host, cidr, dialable) => {
    expect(isDialable(`http://${host}/v1`, { allow_private: false, allow_cidrs: [cidr] })).toBe(dialable)
  })

  test.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    'fd00::/129',
    '/8',
    'here',
    '10.0.0.0/-1',
    '10.0.0.0/8.5',
  ])('a range that is none (%s) is told at once', (cidr) => {
    expect(() => guardedLookup({ allow_private: false, allow_cidrs: [cidr] })).toThrow(cidr)
  })
})

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '192.167.1.1',
  '169.253.0.1',
  '[2606:4700::1111]',
  '[64:ff9b::808:808]',
  '[2002:808:808::1]',
  'api.openai.com',
  'localhost.',
  'vllm.default.svc.cluster.local',
])('R12 %s passes: public, or a name that is judged when it is resolved', (host) => {
  expect(isDialable(`https://${host}/v1`)).toBe(true)
})

type Answers = string[]

/** Resolves names to these answers, one set for each time it is asked. */
function names(...rounds: Answers[]) {
  const asked: string[] = []
  const resolve: Parameters<typeof guardedLookup>[1] = (hostname, _options, done) => {
    asked.push(hostname)
    const answers = rounds[Math.min(asked.length, rounds.length) - 1] ?? []
    done(
      null,
      answers.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { asked, resolve }
}

const ask = (lookup: GuardedLookup, all: boolean) =>
  new Promise<unknown>((resolve) => {
    lookup('cluster.example', { all }, (error, address, family) =>
      resolve(error ?? (all ? address : [address, family])),
    )
  })

describe('T-83 names are judged by what they resolve to', () => {
  test('a good answer is passed on, in the form that was asked for', async () => {
    const lookup = guardedLookup(STRICT, names(['93.184.216.34', '2606:4700::1']).resolve)
    expect(await ask(lookup, false)).toEqual(['93.184.216.34', 4])
    expect(await ask(lookup, true)).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ])
  })

  test.each([
    ['a private address', ['10.0.0.1']],
    ['metadata', ['169.254.169.254']],
    ['a bad one behind a good one', ['93.184.216.34', '127.0.0.1']],
    ['a bad one before a good one', ['::1', '93.184.216.34']],
    ['a mapped one', ['::ffff:127.0.0.1']],
    ['one with a zone', ['fe80::1%eth0']],
    ['what is no address', ['cluster.example']],
    ['nothing', []],
  ])('%s fails all of it', async (_case, answers) => {
    for (const all of [true, false]) {
      const answer = await ask(guardedLookup(STRICT, names(answers).resolve), all)
      expect(answer).toBeInstanceOf(AddressRefused)
      expect((answer as AddressRefused).code).toBe('ERR_ADDRESS_REFUSED')
    }
  })

  test('a name that does not resolve fails as it would without us', async () => {
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const lookup = guardedLookup(STRICT, (_name, _options, done) => done(unknown, []))
    expect(await ask(lookup, true)).toBe(unknown)
  })
})

describe('R12 on every dial', () => {
  const signal = new AbortController().signal
  const request = {
    method: 'POST',
    path: '/chat/completions',
    headers: {},
    body: Buffer.from('{}'),
    timeouts: { first_byte_ms: 20_000, idle_ms: 20_000 },
  } as const

  async function start(host: string, lookup: GuardedLookup) {
    const upstream = await startUpstream({ headers: { connection: 'close' } })
    const wire = openUpstream(`http://${host}:${upstream.port}/v1`, { connections: 4, lookup })
    onTestFinished(async () => {
      await wire.close()
      await upstream.close()
    })
    const call = () =>
      wire.send(request, signal).then(
        (answer) => answer.whole().then(() => answer.status),
        (error) => (error as UpstreamError).failure,
      )
    return { upstream, call }
  }

  test.each(['127.0.0.1', '127.1', '2130706433', 'localhost', 'localhost.'])(
    'T-81 %s is refused before anything is dialled, even where nobody asked beforehand',
    async (host) => {
      // Not every machine resolves the last of them.
      const { upstream, call } = await start(host, guardedLookup(STRICT, names(['127.0.0.1', '::1']).resolve))
      expect(await call()).toBe('refused_address')
      expect(upstream.opened_sockets()).toBe(0)
    },
  )

  test.each(['127.0.0.1', 'localhost'])('T-88 %s is dialled where it is allowed', async (host) => {
    const { call } = await start(host, guardedLookup({ allow_private: false, allow_cidrs: ['127.0.0.0/8', '::1/128'] }))
    expect(await call()).toBe(200)
  })

  test('T-83 a name that changes its answer after the first dial', async () => {
    const { asked, resolve } = names(['127.0.0.1'], ['169.254.169.254'])
    const policy = { allow_private: false, allow_cidrs: ['127.0.0.1/32'] }
    const { upstream, call } = await start('cluster.example', guardedLookup(policy, resolve))
    expect([await call(), await call()]).toEqual([200, 'refused_address'])
    expect([asked.length, upstream.requests.length]).toEqual([2, 1])
  })

  // Whatever resolves names is not trusted either: what counts is where the connection has ended up.
  test('T-83 a connection that has ended up elsewhere is dropped before a byte is sent', async () => {
    const deceived: GuardedLookup = Object.assign(
      ((_hostname, options, done) => systemLookup('127.0.0.1', options, done as never)) as GuardedLookup,
      { judge: (address: string) => new AddressRefused(address) },
    )
    const { upstream, call } = await start('cluster.example', deceived)
    expect(await call()).toBe('refused_address')
    expect(upstream.requests).toEqual([])
  })
})
