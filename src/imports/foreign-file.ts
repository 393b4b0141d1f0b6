// The file of another gateway, field by field: each with its line, and none forgotten. What nobody took is reported.

export type Path = readonly (string | number)[]

/** A parsed file, and where in it a field stands. */
export interface ForeignFile {
  file: string
  value: unknown
  lineOf(path: Path): number
}

/** `changed`: it is there, but otherwise. `left_out`: it has no counterpart here. */
export interface Finding {
  file: string
  line: number
  field: string
  kind: 'changed' | 'left_out'
  told: string
}

/** The file is not what it says it is. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
}

export type Report = ReturnType<typeof reportOn>

export function reportOn(source: ForeignFile) {
  const findings: Finding[] = []
  const { file } = source
  const note = (kind: Finding['kind']) => (path: Path, told: string) =>
    void findings.push({ file, line: source.lineOf(path), field: spelled(path), kind, told })
  return {
    findings,
    changed: note('changed'),
    leftOut: note('left_out'),
    wrong: (path: Path, told: string) =>
      new ImportError(`${file}:${source.lineOf(path)}: ${path.length > 0 ? `'${spelled(path)}' ` : ''}${told}.`),
    whole: (): Fields => fieldsAt(source.value, [], file, source.lineOf),
    /** Of a file that is a list of objects. */
    entries: (): Fields[] =>
      Array.isArray(source.value) ? source.value.map((one, at) => fieldsAt(one, [at], file, source.lineOf)) : [],
  }
}

const spelled = (path: Path) =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )

/** The fields of one object. Null, and a field that is not there, are the same. */
export interface Fields {
  path: Path
  at(name: string): Path
  any(name: string): unknown
  text(name: string): string | undefined
  number(name: string): number | undefined
  flag(name: string): boolean | undefined
  texts(name: string): string[]
  map(name: string): Fields | undefined
  /** A list of objects. */
  maps(name: string): Fields[]
  names(): string[]
  /** Of no consequence: what it says needs no counterpart. */
  ignore(...names: readonly string[]): void
  /** What nobody took, and says something. */
  rest(): string[]
}

function fieldsAt(value: unknown, path: Path, file: string, lineOf: ForeignFile['lineOf']): Fields {
  const wrong = (at: Path, told: string) =>
    new ImportError(`${file}:${lineOf(at)}: ${at.length > 0 ? `'${spelled(at)}'` : 'the file'} must be ${told}.`)
  if (!isObject(value)) throw wrong(path, 'an object with fields')
  const taken = new Set<string>()
  const at = (name: string) => [...path, name]
  const any = (name: string) => {
    taken.add(name)
    return Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined
  }
  const list = (name: string): unknown[] => {
    const found = any(name)
    if (found === undefined) return []
    if (!Array.isArray(found)) throw wrong(at(name), 'a list')
    return found
  }
  return {
    path,
    at,
    any,
    text(name) {
      const found = any(name)
      if (found === undefined || typeof found === 'string') return found
      if (typeof found === 'number' || typeof found === 'boolean') return String(found)
      throw wrong(at(name), 'text')
    },
    number(name) {
      const found = any(name)
      if (found === undefined) return undefined
      const number = typeof found === 'string' && found.trim() !== '' ? Number(found) : found
      if (typeof number !== 'number' || !Number.isFinite(number) || number < 0)
        throw wrong(at(name), 'a number of at least 0')
      return number
    },
    flag(name) {
      const found = any(name)
      if (found === undefined || typeof found === 'boolean') return found
      throw wrong(at(name), 'true or false')
    },
    texts: (name) =>
      list(name).map((one, index) => {
        if (typeof one !== 'string') throw wrong([...at(name), index], 'text')
        return one
      }),
    map(name) {
      const found = any(name)
      return found === undefined ? undefined : fieldsAt(found, at(name), file, lineOf)
    },
    maps: (name) => list(name).map((one, index) => fieldsAt(one, [...at(name), index], file, lineOf)),
    names: () => Object.keys(value),
    ignore: (...names) => names.forEach((name) => void taken.add(name)),
    rest: () => Object.keys(value).filter((name) => !taken.has(name) && saysSomething(value[name])),
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function saysSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '' || value === 0) return false
  return typeof value !== 'object' || Object.values(value).some(saysSomething)
}

/** Whatever is left of these fields is told, in the words for it where there are some. */
export function reportRest(report: Report, fields: Fields | undefined, words: Readonly<Record<string, string>> = {}) {
  for (const name of fields?.rest() ?? [])
    report.leftOut((fields as Fields).at(name), words[name] ?? 'has no counterpart here')
}
