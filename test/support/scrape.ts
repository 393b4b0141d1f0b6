// What /metrics says, read as Prometheus reads it: every line a series with its labels, and none of them twice.

export interface Series {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/gy

export function readScrape(text: string): Series[] {
  const seen = new Set<string>()
  return text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return []
    const [, name = '', inside = '', value = ''] = LINE.exec(line) ?? []
    if (name === '') throw new Error(`no series: ${line}`)
    const labels = labelsIn(inside, line)
    const identity = `${name} ${JSON.stringify(Object.entries(labels).sort())}`
    if (seen.has(identity)) throw new Error(`twice in one scrape, which Prometheus refuses: ${line}`)
    seen.add(identity)
    return [{ name, labels, value: Number(value.replace('Inf', 'Infinity')) }]
  })
}

function labelsIn(inside: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < inside.length) {
    const found = LABEL.exec(inside)
    if (!found) throw new Error(`labels that cannot be read: ${line}`)
    labels[found[1] as string] = (found[2] as string).replace(/\\(.)/g, (_, one) => (one === 'n' ? '\n' : one))
  }
  return labels
}

/** Of all series that have these labels. */
export function sumOf(all: readonly Series[], name: string, labels: Record<string, string> = {}): number {
  const wanted = Object.entries(labels)
  return all
    .filter((series) => series.name === name && wanted.every(([label, value]) => series.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
}
