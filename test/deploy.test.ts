// What is in deploy/, compared with the code: metrics, settings, endpoints and times that must fit each other.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { globSync } from 'tinyglobby'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS } from '../src/config.ts'
import { metrics } from '../src/telemetry/metrics.ts'

const read = (path: string) => readFileSync(path, 'utf8')
const YAML_FILES = globSync('deploy/**/*.{yaml,yml}')
const ALERTS = 'deploy/prometheus/alerts.yaml'
const DASHBOARD = 'deploy/grafana/switchyard.json'
const NGINX = 'deploy/nginx/nginx.conf'
/** Settings that are not this server's own, or that only a cluster has. */
const OTHER_VARIABLES = ['NODE_ENV']

interface Metric {
  name: string
  type: string
  labelNames: string[]
}

const compose = parse(read('deploy/compose.yaml'), { merge: true })
const manifests = parseAllDocuments(read('deploy/kubernetes/switchyard.yaml')).map((document) => document.toJS())
const deployment = manifests.find(({ kind }) => kind === 'Deployment').spec.template.spec
const [container] = deployment.containers
const expressions: string[] = [
  ...parse(read(ALERTS)).groups.flatMap((group: { rules: { expr: string }[] }) => group.rules.map(({ expr }) => expr)),
  ...JSON.parse(read(DASHBOARD)).panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.map(({ expr }) => expr),
  ),
]

test('§operations every YAML file of deploy/ is one, without doubled keys', () => {
  expect(YAML_FILES.length).toBeGreaterThan(3)
  const wrong = YAML_FILES.flatMap((path) =>
    parseAllDocuments(read(path), { merge: true }).flatMap(({ errors }) =>
      errors.map(({ message }) => `${path}: ${message}`),
    ),
  )
  expect(wrong).toEqual([])
})

test('§operations every metric and label of the alerts and the dashboard exists', () => {
  expect(expressions.length).toBeGreaterThan(20)
  const known = new Map(
    (metrics().registry.getMetricsAsArray() as unknown as Metric[]).flatMap((metric) => seriesOf(metric)),
  )
  const named = expressions.flatMap((text) => [
    ...text.matchAll(/\b((?:switchyard|nodejs|process)_\w+)(?:\{([^}]*)\})?/g),
  ])
  const wrong = named.flatMap(([, series = '', selector = '']) => {
    const labels = known.get(series)
    if (!labels) return [series]
    const selected = [...selector.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label = '']) => label)
    return selected
      .filter((label) => ![...labels, 'instance', 'job'].includes(label))
      .map((label) => `${series}.${label}`)
  })
  expect(wrong).toEqual([])
})

function seriesOf({ name, type, labelNames = [] }: Metric): [string, string[]][] {
  if (type !== 'histogram') return [[name, labelNames]]
  return ['count', 'sum', 'bucket'].map((part) => [`${name}_${part}`, [...labelNames, 'le']])
}

test('§operations every counter and gauge of ours is on the dashboard', () => {
  const own = (metrics().registry.getMetricsAsArray() as unknown as Metric[])
    .map(({ name }) => name)
    .filter((name) => name.startsWith('switchyard_'))
  const shown = read(DASHBOARD)
  expect(own.filter((name) => !shown.includes(name))).toEqual([])
})

test('§operations every setting that a container is given is one', () => {
  const given = [
    ...Object.keys(compose.services['switchyard-1'].environment),
    ...container.env.map(({ name }: { name: string }) => name),
    ...[...read('deploy/Dockerfile').matchAll(/\b([A-Z][A-Z_]+)=/g)].map(([, name = '']) => name),
    ...[...read('deploy/kubernetes/switchyard.yaml').matchAll(/--from-literal=([A-Z_]+)/g)].map(
      ([, name = '']) => name,
    ),
  ]
  expect(given.length).toBeGreaterThan(15)
  expect(given.filter((name) => !(name in SETTINGS) && !OTHER_VARIABLES.includes(name))).toEqual([])
})

test('§operations whoever stops a server waits for longer than it takes', () => {
  const composed = compose.services['switchyard-1']
  const { SWITCHYARD_DRAIN_MS, SWITCHYARD_STOP_MS } = composed.environment
  const patience_ms = Number.parseInt(composed.stop_grace_period, 10) * 1_000
  expect(patience_ms).toBeGreaterThan(Number(SWITCHYARD_DRAIN_MS) + Number(SWITCHYARD_STOP_MS))

  const value = (name: string) => Number(container.env.find((one: { name: string }) => one.name === name).value)
  const [, pre_stop_s] = container.lifecycle.preStop.exec.command
  const stop_ms = Number(pre_stop_s) * 1_000 + value('SWITCHYARD_DRAIN_MS') + value('SWITCHYARD_STOP_MS')
  expect(deployment.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(stop_ms)
})

test('§operations the drain outlasts what the probe needs to notice', () => {
  const { periodSeconds, failureThreshold, httpGet } = container.readinessProbe
  const drain = container.env.find(({ name }: { name: string }) => name === 'SWITCHYARD_DRAIN_MS')
  expect(Number(drain.value)).toBeGreaterThan((periodSeconds * failureThreshold + periodSeconds) * 1_000)
  expect([httpGet.path, container.livenessProbe.httpGet.path]).toEqual(['/readyz', '/healthz'])
})

test('§operations no container runs as root, and none may become it', () => {
  expect(read('deploy/Dockerfile')).toMatch(/^USER node$/m)
  expect(deployment.securityContext.runAsNonRoot).toBe(true)
  expect(container.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true })
})

test('§operations what the image is built from exists, on a Node that the package takes', () => {
  const dockerfile = read('deploy/Dockerfile')
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '))
  const let_in = read('deploy/Dockerfile.dockerignore').split('\n')
  expect(copied.length).toBeGreaterThan(6)
  expect(copied.filter((file) => !existsSync(file) || !let_in.includes(`!${file}`))).toEqual([])
  expect(new Set([...dockerfile.matchAll(/^FROM node:(\d+)/gm)].map(([, major]) => major))).toEqual(new Set(['20']))
})

test('§operations nginx holds no stream back, repeats nothing, and closes idle connections before the server does', () => {
  const text = read(NGINX)
  for (const line of ['proxy_buffering off;', 'proxy_http_version 1.1;', 'proxy_set_header Connection "";'])
    expect(text).toContain(line)
  expect(text).not.toContain('non_idempotent')
  expect(Number(/keepalive_timeout (\d+)s/.exec(text)?.[1])).toBeLessThan(72)
  expect(Number(/proxy_read_timeout (\d+)s/.exec(text)?.[1])).toBeGreaterThan(900)
})

test.runIf(spawnSync('nginx', ['-v']).status === 0)('§operations nginx itself takes its settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-nginx-'))
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, read(NGINX).replaceAll(/switchyard-\d:8080/g, '127.0.0.1:1')) // names that only compose resolves
  const { stderr, status } = spawnSync('nginx', ['-t', '-q', '-c', file, '-p', folder])
  rmSync(folder, { recursive: true })
  expect(status, stderr.toString()).toBe(0)
})
