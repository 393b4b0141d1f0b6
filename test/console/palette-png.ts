// Pictures of pages with at most 256 colours: a third of the bytes, and no eye sees the difference. What a page is
// painted with stays exact; only shades at the edges of letters move to their neighbours.
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS_MAX = 256
const PAINTED = 96 // the most frequent colours are those of surfaces and words
const RGB = { depth: 8, kind: 2, bytes: 3 } as const
const PALETTE_KIND = 3

/** `png`: as Chromium takes it, eight bits of red, green and blue. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decoded(png)
  const colours = new Map<number, number>()
  for (let at = 0; at < pixels.length; at += RGB.bytes) {
    const colour = pixels.readUIntBE(at, RGB.bytes)
    colours.set(colour, (colours.get(colour) ?? 0) + 1)
  }
  const palette = paletteOf(colours)
  const places = new Map([...colours.keys()].map((colour) => [colour, nearest(palette, colour)]))
  const lines = Buffer.alloc((width + 1) * height) // each begins with a 0: nothing is done to it
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      lines[y * (width + 1) + x + 1] = places.get(pixels.readUIntBE((y * width + x) * RGB.bytes, RGB.bytes)) ?? 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([RGB.depth, PALETTE_KIND], 8)
  const entries = Buffer.from(palette.flatMap((colour) => channels(colour)))
  const body = deflateSync(lines, { level: 9 })
  return Buffer.concat([
    SIGNATURE,
    ...[chunk('IHDR', header), chunk('PLTE', entries), chunk('IDAT', body), chunk('IEND', Buffer.alloc(0))],
  ])
}

const channels = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255] as const

/** What is painted as it is, then shades: of those that are nearly the same, the most frequent one. */
function paletteOf(colours: ReadonlyMap<number, number>): number[] {
  const frequent = [...colours].sort(([, a], [, b]) => b - a).map(([colour]) => colour)
  if (frequent.length <= COLOURS_MAX) return frequent
  const shades = new Map<number, number>()
  for (const colour of frequent.slice(PAINTED)) {
    const alike = colour & 0xf8f8f8
    if (!shades.has(alike)) shades.set(alike, colour)
  }
  return [...frequent.slice(0, PAINTED), ...shades.values()].slice(0, COLOURS_MAX)
}

function nearest(palette: readonly number[], colour: number): number {
  const [red, green, blue] = channels(colour)
  let [found, best] = [0, Number.POSITIVE_INFINITY]
  for (const [at, other] of palette.entries()) {
    const [r, g, b] = channels(other)
    const far = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2
    if (far < best) [found, best] = [at, far]
  }
  return found
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)])
}

function decoded(png: Buffer): { width: number; height: number; pixels: Buffer } {
  const parts: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  if (png[24] !== RGB.depth || png[25] !== RGB.kind) throw new Error('not a picture of eight bits for each colour')
  return { width, height, pixels: unfiltered(inflateSync(Buffer.concat(parts)), width * RGB.bytes, height) }
}

/** Each line was written as the difference to the pixel before it, above it, or between the two. */
function unfiltered(lines: Buffer, line_bytes: number, height: number): Buffer {
  const pixels = Buffer.alloc(line_bytes * height)
  for (let y = 0; y < height; y++) {
    const from = y * (line_bytes + 1)
    const to = y * line_bytes
    for (let x = 0; x < line_bytes; x++) {
      const left = x >= RGB.bytes ? (pixels[to + x - RGB.bytes] ?? 0) : 0
      const above = y > 0 ? (pixels[to + x - line_bytes] ?? 0) : 0
      const corner = x >= RGB.bytes && y > 0 ? (pixels[to + x - line_bytes - RGB.bytes] ?? 0) : 0
      const guesses = [0, left, above, (left + above) >> 1, paeth(left, above, corner)]
      pixels[to + x] = (lines[from + 1 + x] ?? 0) + (guesses[lines[from] ?? 0] ?? 0)
    }
  }
  return pixels
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const [l, a, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)]
  return l <= a && l <= c ? left : a <= c ? above : corner
}
