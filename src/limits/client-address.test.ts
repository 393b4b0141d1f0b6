// T-71, T-72: whom a request counts for, and who may say so.
import { describe, expect, test } from 'vitest'
import { type Cidr, parseCidr } from '../core/ip-address.ts'
import { countedAddresses, wholeAddresses } from './client-address.ts'

const ranges = (...texts: string[]) => texts.map((text) => parseCidr(text) as Cidr)
const nobody = countedAddresses([])
const proxies = countedAddresses(ranges('10.0.0.0/8', '192.0.2.7/32', 'fd00::/8'))
const behind = (forwarded_for: string, peer = '10.0.0.1') => proxies({ peer, forwarded_for })

describe('T-72 what counts as one', () => {
  test.each([
    ['IPv4', '203.0.113.7', '203.0.113.7'],
    ['IPv4-mapped IPv6', '::ffff:203.0.113.7', '203.0.113.7'],
    ['the same in hexadecimal', '::ffff:cb00:7107', '203.0.113.7'],
    ['the same at length', '0:0:0:0:0:FFFF:cb00:7107', '203.0.113.7'],
    ['IPv6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['another of its network', '2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['the network beside it', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['loopback', '::1', '0:0:0:0::/64'],
    // Only the mapped form is IPv4: the rest of ::/96 is a network like another.
    ['what only looks mapped', '::fffe:203.0.113.7', '0:0:0:0::/64'],
  ])('T-72 %s', (_case, peer, counted) => {
    expect(nobody({ peer, forwarded_for: undefined })).toBe(counted)
    expect(behind(peer)).toBe(counted)
  })

  test('T-72 ten thousand addresses of one /64 are one', () => {
    const all = Array.from({ length: 10_000 }, (_, n) => `2001:db8:1:2:${n.toString(16)}:ffff:0:${n.toString(16)}`)
    expect(new Set(all.map((peer) => nobody({ peer, forwarded_for: undefined })))).toEqual(
      new Set(['2001:db8:1:2::/64']),
    )
  })

  test('§8.1 a Unix socket has no address, and counts as one', () => {
    expect(nobody({ peer: undefined, forwarded_for: '203.0.113.7' })).toBe('local')
    expect(proxies({ peer: undefined, forwarded_for: '203.0.113.7' })).toBe('local')
  })
})

describe('T-71 X-Forwarded-For', () => {
  test('T-71 nobody is believed where nobody is listed', () => {
    for (const peer of ['198.51.100.1', '::ffff:198.51.100.1'])
      expect(nobody({ peer, forwarded_for: '203.0.113.7' })).toBe('198.51.100.1')
  })

  test('T-71 a stranger is not believed either, and ten thousand values change nothing', () => {
    const all = Array.from({ length: 10_000 }, (_, n) => `203.0.${n >> 8}.${n & 255}`)
    const counted = all.map((forwarded_for) => behind(forwarded_for, '198.51.100.1'))
    expect(new Set(counted)).toEqual(new Set(['198.51.100.1']))
  })

  test('T-71 through a proxy, whatever the client puts in front changes nothing', () => {
    const all = Array.from({ length: 10_000 }, (_, n) => `203.0.${n >> 8}.${n & 255}, 198.51.100.9`)
    expect(new Set(all.map((forwarded_for) => behind(forwarded_for)))).toEqual(new Set(['198.51.100.9']))
  })

  test.each([
    ['one hop', '203.0.113.7', '203.0.113.7'],
    ['two trusted hops', '203.0.113.7, 192.0.2.7, fd00::5', '203.0.113.7'],
    ['a trusted one written as mapped', '203.0.113.7, ::ffff:10.1.2.3', '203.0.113.7'],
    ['an untrusted one between', '203.0.113.7, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['trusted ones alone: the farthest', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['blanks and none', ' 203.0.113.7 ,10.0.0.2', '203.0.113.7'],
    ['a port', '203.0.113.7:4711', '203.0.113.7'],
    ['another port', '203.0.113.7:4712', '203.0.113.7'],
    ['a port at a trusted hop', '203.0.113.7, 10.0.0.2:443', '203.0.113.7'],
    ['IPv6 with a port', '[2001:db8:1:2::7]:4711', '2001:db8:1:2::/64'],
    ['IPv6 in brackets', '[2001:db8:1:2::7]', '2001:db8:1:2::/64'],
    ['IPv6', '2001:db8:1:2::7', '2001:db8:1:2::/64'],
    ['nothing', '', '10.0.0.1'],
  ])('T-71 %s', (_case, forwarded_for, counted) => {
    expect(behind(forwarded_for)).toBe(counted)
  })

  // A proxy that writes what is no address, or passes on what a client wrote, must not give every request its own count.
  test.each([
    ['a word', 'unknown'],
    ['an obfuscated name', '_hidden'],
    ['an address that is none', '999.1.1.1'],
    ['leading zeros', '010.000.000.001'],
    ['a short form', '127.1'],
    ['too many ports', '203.0.113.7:80:80'],
    ['an open bracket', '[2001:db8::7'],
    ['a trailing comma', '203.0.113.7,'],
    ['control characters', '203.0.113.7\u0000'],
    ['sixteen kilobytes', 'x'.repeat(16_384)],
    ['markup', '<script>, "; DROP TABLE'],
  ])('T-71 garbage counts for the proxy that wrote it: %s', (_case, forwarded_for) => {
    expect(behind(forwarded_for)).toBe('10.0.0.1')
    expect(behind(`${forwarded_for}, 10.0.0.2`)).toBe('10.0.0.2')
  })

  test('T-71 a hundred hops, and as many as a header holds', () => {
    const strangers = Array.from({ length: 100 }, (_, n) => `203.0.113.${n}`).join(', ')
    expect(behind(`${strangers}, 198.51.100.9`)).toBe('198.51.100.9')
    const own = Array.from({ length: 100 }, (_, n) => `10.1.1.${n}`).join(', ')
    expect(behind(`198.51.100.9, ${own}`)).toBe('198.51.100.9')
    expect(behind(Array.from({ length: 1_600 }, () => '10.0.0.1').join(','))).toBe('10.0.0.1')
  })
})

test('R63 the whole address, where its network would not do', () => {
  const whole = wholeAddresses(ranges('10.0.0.0/8'))
  const arrival = { peer: '10.0.0.1', forwarded_for: '198.51.100.1, 2001:db8::7' }
  expect(whole(arrival)).toEqual(Uint8Array.from([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]))
  expect(whole({ peer: '::ffff:198.51.100.9', forwarded_for: '1.2.3.4' })).toEqual(Uint8Array.from([198, 51, 100, 9]))
  expect(whole({ peer: undefined, forwarded_for: '1.2.3.4' })).toBeUndefined()
})
