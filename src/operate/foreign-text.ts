// Reads the file of another gateway, YAML or JSON, so that each field is known with its line.
import { readFileSync, statSync } from 'node:fs'
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { type ForeignFile, ImportError, type Path } from '../imports/foreign-file.ts'

const BYTES_MAX = 64 * 1024 * 1024

export function readForeign(file: string): ForeignFile {
  const { size } = statSync(file)
  if (size > BYTES_MAX) throw new ImportError(`${file}: has ${size} bytes, at most ${BYTES_MAX}.`)
  return parseForeign(readFileSync(file, 'utf8'), file)
}

/** JSON is YAML as well, so one reader tells the lines of both. */
export function parseForeign(text: string, file: string): ForeignFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error) throw new ImportError(`${file}:${lines.linePos(error.pos[0]).line}: ${error.message}.`)
  const value = valueIn(document, file)
  return { file, value, lineOf: (path) => lines.linePos(offsetOf(document, path)).line }
}

/** Aliases that unfold without end are refused by the parser. */
function valueIn(document: Document, file: string): unknown {
  try {
    return document.toJS() as unknown
  } catch (error) {
    throw new ImportError(`${file}: ${(error as Error).message}.`)
  }
}

/** Where a field stands, or what is nearest around it. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const part of path) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
      : undefined
    const named: unknown = isSeq(node) ? node.items[Number(part)] : pair?.key
    node = isSeq(node) ? named : pair?.value
    if (isNode(named)) offset = named.range?.[0] ?? offset
  }
  return offset
}
