// What a PromQL expression names: metrics, and the labels that it selects and groups them by. Read with Prometheus' own
// grammar; an expression that it cannot read is an error.
import { readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'

type SyntaxNode = ReturnType<typeof parser.parse>['topNode']

export interface Selected {
  metric: string
  /** With the values that are asked for, where they are asked for by name. */
  labels: { name: string; value: string | undefined }[]
}

export const ALERTS = 'deploy/prometheus/alerts.yaml'
export const DASHBOARD = 'deploy/grafana/switchyard.json'

/** Of all alerts and panels. */
export function expressionsOf(): string[] {
  const read = (path: string) => readFileSync(path, 'utf8')
  const rules: { expr: string }[] = parse(read(ALERTS)).groups.flatMap((group: { rules: object[] }) => group.rules)
  const panels: { targets?: { expr: string }[] }[] = JSON.parse(read(DASHBOARD)).panels
  return [...rules, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr)
}

export function selectedBy(expression: string): Selected[] {
  const text = expression.replaceAll('$__rate_interval', '5m') // Grafana writes a time in its place
  const { topNode } = parser.parse(text)
  const selected: Selected[] = []
  const of = (node: SyntaxNode) => text.slice(node.from, node.to)

  function visit(node: SyntaxNode, grouped: readonly string[]): void {
    if (node.type.isError) throw new Error(`this is no PromQL, at ${node.from}: ${expression}`)
    if (node.name === 'VectorSelector') selected.push(selectorIn(node, grouped))
    const by = node.name === 'AggregateExpr' ? [...grouped, ...labelNames(node.getChild('AggregateModifier'))] : grouped
    for (let child = node.firstChild; child; child = child.nextSibling) visit(child, by)
  }

  const labelNames = (modifier: SyntaxNode | null) =>
    modifier?.getChild('GroupingLabels')?.getChildren('LabelName').map(of) ?? []

  function selectorIn(node: SyntaxNode, grouped: readonly string[]): Selected {
    const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
    const labels = matchers.map((matcher) => {
      const [name, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((part) => matcher.getChild(part))
      const asked = operator?.getChild('EqlSingle') ? JSON.parse(of(value as SyntaxNode)) : undefined
      return { name: of(name as SyntaxNode), value: asked }
    })
    const metric = of(node.getChild('Identifier') as SyntaxNode)
    return { metric, labels: [...labels, ...grouped.map((name) => ({ name, value: undefined }))] }
  }

  visit(topNode, [])
  return selected
}
