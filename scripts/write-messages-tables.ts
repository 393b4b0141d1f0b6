// Writes the tables of docs/MESSAGES.md: what becomes of each field of a Messages request on an upstream that speaks
// chat, and of a chat request on one that speaks Messages (R81) or Converse (0348). They stand between marks, and come
// from the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { BLOCK_FIELDS, BLOCKS, FIELDS, type FieldFate, TOOL_FIELDS } from '../src/messages/chat-fields.ts'
import { CHAT_FIELDS, CHAT_MESSAGE_FIELDS } from '../src/providers/anthropic/anthropic-fields.ts'
import { CONVERSE_FIELDS, CONVERSE_MESSAGE_FIELDS } from '../src/providers/converse/converse-fields.ts'
import { BEDROCK_FIELDS, VERTEX_FIELDS } from '../src/providers/platforms/messages-body.ts'

export const MESSAGES_FILE = 'docs/MESSAGES.md'

/** The document with its tables as they are now. */
export const withTables = (document: string): string =>
  [
    ['messages over chat', messagesTables()] as const,
    ['chat over messages', chatTables()] as const,
    ['messages on platforms', platformTables()] as const,
    ['chat over converse', converseTables()] as const,
  ].reduce((text, [name, tables]) => replaced(text, name, tables), document)

function replaced(document: string, name: string, tables: string): string {
  const [begin, end] = [`<!-- ${name}: npm run messages-tables -->`, `<!-- end of ${name} -->`]
  const [from, to] = [document.indexOf(begin) + begin.length, document.indexOf(end)]
  return `${document.slice(0, from)}\n\n${tables}\n${document.slice(to)}`
}

const platformTables = () =>
  [
    tableOf('Of a request', 'On Bedrock', Object.entries(BEDROCK_FIELDS)),
    tableOf('Of a request', 'On Vertex', Object.entries(VERTEX_FIELDS)),
  ].join('\n')

const chatTables = () =>
  [
    tableOf('Field of the request', 'Over Messages', Object.entries(CHAT_FIELDS)),
    tableOf('Field of a message', 'Over Messages', Object.entries(CHAT_MESSAGE_FIELDS)),
  ].join('\n')

const converseTables = () =>
  [
    tableOf('Field of the request', 'Over Converse', Object.entries(CONVERSE_FIELDS)),
    tableOf('Field of a message', 'Over Converse', Object.entries(CONVERSE_MESSAGE_FIELDS)),
  ].join('\n')

function messagesTables(): string {
  const blocks = Object.entries(BLOCK_FIELDS).flatMap(([block, fields]) =>
    Object.entries(fields).map(([field, fate]) => [`${block}.${field}`, fate] as const),
  )
  return [
    tableOf('Field of the request', 'Over chat', Object.entries(FIELDS)),
    tableOf('Block', 'Over chat', Object.entries(BLOCKS)),
    tableOf('Field of a block', 'Over chat', blocks),
    tableOf('Field of a tool', 'Over chat', Object.entries(TOOL_FIELDS)),
  ].join('\n')
}

function tableOf(
  what: string,
  where: string,
  rows: readonly (readonly [string, Pick<FieldFate, 'how'> & { fate: string }])[],
): string {
  const lines = rows.map(([name, { fate, how }]) => `| \`${name}\` | ${fate} | ${how} |`)
  return [`| ${what} | ${where} | How |`, '|---|---|---|', ...lines, ''].join('\n')
}

if (process.argv[1]?.endsWith('write-messages-tables.ts'))
  writeFileSync(MESSAGES_FILE, withTables(readFileSync(MESSAGES_FILE, 'utf8')))
