// Output for people: aligned columns, no colour, and nothing in them that a terminal would obey.
const GAP = '  '
const NUMBER = /^(-?\$?[\d.]+|-)$/

/** Columns as wide as they need to be; those that hold only numbers are aligned to the right. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(visible))
  // Not by Math.max over all: a call takes some hundred thousand arguments, and a project may have more keys.
  const widths = headings.map((heading, at) =>
    column(cells, at).reduce((widest, cell) => Math.max(widest, width(cell)), width(heading)),
  )
  const numeric = headings.map((_, at) => column(cells, at).every((cell) => NUMBER.test(cell)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => {
        const padding = ' '.repeat((widths[at] ?? 0) - width(cell))
        return numeric[at] ? padding + cell : cell + padding
      })
      .join(GAP)
      .trimEnd()
  return [headings, ...cells].map((row) => `${line(row)}\n`).join('')
}

/** One thing, a field a line. */
export function card(fields: Readonly<Record<string, string>>): string {
  const widest = Math.max(...Object.keys(fields).map(width))
  const lines = Object.entries(fields).map(([name, value]) => `${name.padEnd(widest)}${GAP}${visible(value)}`)
  return `${lines.join('\n')}\n`
}

const column = (cells: readonly (readonly string[])[], at: number) => cells.map((row) => row[at] ?? '')

/** Names come from other people: an escape sequence in one must not be carried out here. */
export const visible = (text: string) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

const WIDE = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}]/u
const COMBINING = /\p{M}/u

/** How many columns a terminal takes for it. */
function width(text: string): number {
  let columns = 0
  for (const character of text) columns += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return columns
}

const MICROS_PER_USD = 1_000_000

/** Exact: as many decimals as there are, two at least. */
export function dollars(micros: number): string {
  const whole = Math.trunc(micros / MICROS_PER_USD)
  const fraction = String(micros % MICROS_PER_USD).padStart(6, '0')
  return `$${whole}.${fraction.replace(/0{1,4}$/, '')}`
}

/** To the second; an absent time is a dash. */
export const when = (time: string | null | undefined) => time?.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC') ?? '-'
