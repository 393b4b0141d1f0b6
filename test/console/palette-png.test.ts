// A picture with a palette: what is painted stays exact, and every pixel is where it was.
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { withPalette } from './palette-png.ts'

type Rgb = readonly [number, number, number]

/** As a browser would write it: eight bits of each colour, with one of the five ways to write a line. */
function png(width: number, height: number, colourAt: (x: number, y: number) => Rgb): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8)
  const lines = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (_, x) => colourAt(x, y)).flat(),
  ])
  const chunk = (name: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(name), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(named))
    return Buffer.concat([length, named, sum])
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const body = deflateSync(Buffer.from(lines.flat()))
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', body), chunk('IEND', Buffer.alloc(0))])
}

/** The colours of a picture with a palette, line by line. */
function coloursOf(picture: Buffer): Rgb[] {
  const parts: Record<string, Buffer> = {}
  for (let at = 8; at < picture.length; at += 12 + picture.readUInt32BE(at))
    parts[picture.toString('latin1', at + 4, at + 8)] = picture.subarray(at + 8, at + 8 + picture.readUInt32BE(at))
  const { PLTE = Buffer.alloc(0), IDAT = Buffer.alloc(0) } = parts
  const line_bytes = picture.readUInt32BE(16) + 1
  return [...inflateSync(IDAT)]
    .filter((_, at) => at % line_bytes > 0)
    .map((place) => [PLTE[3 * place] ?? 0, PLTE[3 * place + 1] ?? 0, PLTE[3 * place + 2] ?? 0])
}

const GROUND: Rgb = [0xfa, 0xfa, 0xf8]
const SURFACE: Rgb = [0xff, 0xff, 0xff]

test('§console a picture of few colours is the same picture', () => {
  const painted = (x: number, y: number): Rgb => (x > y ? GROUND : [x, y, 7])
  const expected = Array.from({ length: 12 * 9 }, (_, at) => painted(at % 12, Math.floor(at / 12)))
  expect(coloursOf(withPalette(png(12, 9, painted)))).toEqual(expected)
})

test('§console of a picture with thousands of shades, grounds that are nearly alike stay apart and exact', () => {
  const shade = (x: number, y: number): Rgb => [(7 * x) % 256, (11 * y) % 256, (x * y) % 256]
  const painted = (x: number, y: number) => (y < 30 ? GROUND : y < 60 ? SURFACE : shade(x, y))
  const colours = coloursOf(withPalette(png(80, 120, painted)))
  expect(colours.slice(0, 30 * 80)).toEqual(Array.from({ length: 30 * 80 }, () => GROUND))
  expect(colours.slice(30 * 80, 60 * 80)).toEqual(Array.from({ length: 30 * 80 }, () => SURFACE))
  expect(new Set(colours.map(String)).size).toBeLessThanOrEqual(256)
})
