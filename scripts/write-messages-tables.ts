// Writes the tables of docs/MESSAGES.md: what becomes of each field of a Messages request on an upstream that speaks
// chat (R81). They stand between two marks, and come from src/messages/chat-fields.ts.
import { readFileSync, writeFileSync } from 'node:fs'
import { BLOCK_FIELDS, BLOCKS, FIELDS, type FieldFate, TOOL_FIELDS } from '../src/messages/chat-fields.ts'

export const MESSAGES_FILE = 'docs/MESSAGES.md'

const [BEGIN, END] = ['<!-- tables: npm run messages-tables -->', '<!-- end of tables -->']

/** The document with its tables as they are now. */
export function withTables(document: string): string {
  const [from, to] = [document.indexOf(BEGIN) + BEGIN.length, document.indexOf(END)]
  return `${document.slice(0, from)}\n\n${tables()}\n${document.slice(to)}`
}

function tables(): string {
  const blocks = Object.entries(BLOCK_FIELDS).flatMap(([block, fields]) =>
    Object.entries(fields).map(([field, fate]) => [`${block}.${field}`, fate] as const),
  )
  return [
    tableOf('Field of the request', Object.entries(FIELDS)),
    tableOf('Block', Object.entries(BLOCKS)),
    tableOf('Field of a block', blocks),
    tableOf('Field of a tool', Object.entries(TOOL_FIELDS)),
  ].join('\n')
}

function tableOf(what: string, rows: readonly (readonly [string, FieldFate])[]): string {
  const lines = rows.map(([name, { fate, how }]) => `| \`${name}\` | ${fate} | ${how} |`)
  return [`| ${what} | Over chat | How |`, '|---|---|---|', ...lines, ''].join('\n')
}

if (process.argv[1]?.endsWith('write-messages-tables.ts'))
  writeFileSync(MESSAGES_FILE, withTables(readFileSync(MESSAGES_FILE, 'utf8')))
