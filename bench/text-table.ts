// Columns that line up, for people who read a terminal, and that a Markdown document can take as they are.

export function textTable(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((text, at) => Math.max(text.length, 3, ...rows.map((row) => (row[at] ?? '').length)))
  const cell = (text: string, at: number) => (at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0))
  const line = (cells: readonly string[]) => `| ${head.map((_name, at) => cell(cells[at] ?? '', at)).join(' | ')} |`
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`))
  return [`\n${title}\n`, line(head), `|${rule.join('|')}|`, ...rows.map(line)].join('\n')
}
