// The Helm chart of deploy/helm, rendered and linted by the real helm where there is one: with its own values it is the
// manifests of deploy/kubernetes, so what is tested of those holds for it.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, VARIABLES } from '../src/start/config.ts'
import { parseConfig } from '../src/start/config-file.ts'

const CHART = 'deploy/helm/switchyard'
const HELM = ['helm', join(homedir(), 'go/bin/helm')].find((path) => spawnSync(path, ['version']).status === 0)

interface Manifest {
  kind: string
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is what its kind says
  spec: any
  data?: Record<string, string>
}

const read = (path: string) => readFileSync(path, 'utf8')
const documentsIn = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((one) => one !== null)

test('§operations the chart has the version of the package, and the alerts of deploy/prometheus', () => {
  const { version, appVersion } = parse(read(`${CHART}/Chart.yaml`))
  const { version: ours } = JSON.parse(read('package.json'))
  expect([version, appVersion]).toEqual([ours, ours])
  expect(read(`${CHART}/alerts.yaml`)).toBe(read('deploy/prometheus/alerts.yaml'))
})

// To have it: go install helm.sh/helm/v3/cmd/helm@v3.18.4
describe.skipIf(!HELM)('with helm (skipped where there is none)', () => {
  /** For a Kubernetes that the chart takes, whichever this helm was built for. */
  const helm = (...args: string[]) =>
    spawnSync(HELM as string, [...args, '--kube-version', '1.30.0'], { encoding: 'utf8' })
  function render(...values: string[]): Manifest[] {
    const { stdout, stderr, status } = helm('template', 'switchyard', CHART, ...values)
    expect(status, stderr).toBe(0)
    return documentsIn(stdout)
  }
  const refusal = (...values: string[]) => {
    const { stderr, status } = helm('template', 'switchyard', CHART, ...values)
    expect(status).not.toBe(0)
    return stderr
  }
  const kind = (all: readonly Manifest[], wanted: string) => all.find((one) => one.kind === wanted) as Manifest
  const variables = (all: readonly Manifest[]): { name: string; value: string }[] =>
    kind(all, 'Deployment').spec.template.spec.containers[0].env

  test('§operations helm finds nothing wrong with it', () => {
    const { stdout, stderr, status } = helm('lint', '--strict', CHART)
    expect(status, stdout + stderr).toBe(0)
  })

  test('§operations with its own values it is the manifests of deploy/kubernetes', () => {
    const rendered = render().map(without)
    const ours = documentsIn(read('deploy/kubernetes/switchyard.yaml')).map(without)
    const byKind = (all: object[]) => Object.fromEntries(all.map((one) => [(one as Manifest).kind, one]))
    expect(byKind(rendered)).toEqual(byKind(ours))
    expect(rendered).toHaveLength(ours.length)
  })

  test('§operations what is set arrives: settings are ones, and the server takes its file', () => {
    const config = { providers: [{ id: 'own', base_url: 'http://vllm:8000/v1', unlisted_models: true }], limits: {} }
    const all = render(
      ...['--set-json', `config=${JSON.stringify(config)}`],
      ...['--set', 'image.repository=registry.example/switchyard,image.tag=9.9.9,workers=4,stopMs=60000'],
      ...['--set', 'publicUrl=https://gateway.example,env.LOG_LEVEL=warn,autoscaling.enabled=false,replicas=5'],
      ...['--set', 'tracing.endpoint=http://collector:4318,tracing.ratio=0.05'],
      ...['--set-json', 'secret.keys=["DATABASE_URL","REDIS_URL","SWITCHYARD_SECRET","OPENAI_API_KEY"]'],
    )
    const { replicas, template } = kind(all, 'Deployment').spec
    const { terminationGracePeriodSeconds, containers } = template.spec
    expect([replicas, terminationGracePeriodSeconds]).toEqual([5, 5 + 10 + 60 + 15])
    expect(containers[0].image).toBe('registry.example/switchyard:9.9.9')
    const given = variables(all)
    expect(given.map(({ name }) => name).filter((name) => !VARIABLES.includes(name))).toEqual([])
    const env = Object.fromEntries(given.map(({ name, value }) => [name, value]))
    const files = Object.keys(env).filter((name) => name.endsWith('_FILE'))
    expect(files).toContain('OPENAI_API_KEY_FILE')
    for (const name of [...files, 'SWITCHYARD_CONFIG']) delete env[name]
    expect(readConfig(env)).toMatchObject({
      ...{ workers: 4, stop_ms: 60_000, log_level: 'warn', public_url: 'https://gateway.example' },
      otel: { endpoint: 'http://collector:4318', sampler: 'parentbased_traceidratio', sampler_ratio: 0.05 },
    })
    const file = kind(all, 'ConfigMap').data?.['switchyard.yaml'] ?? ''
    expect(parseConfig(file, 'switchyard.yaml', {}).providers[0]?.base_url).toBe('http://vllm:8000/v1')
    expect(kind(all, 'HorizontalPodAutoscaler')).toBeUndefined()
  })

  test('§operations a change of the file replaces the pods', () => {
    const checksum = (...values: string[]) =>
      kind(render(...values), 'Deployment').spec.template.metadata.annotations['checksum/config']
    expect(checksum()).toMatch(/^[0-9a-f]{64}$/)
    expect(checksum('--set', 'config.fees.byok_micros=5')).not.toBe(checksum())
  })

  test('§operations the ingress lets nobody at metrics and health, and the operator of Prometheus gets the rules', () => {
    const all = render(
      ...['--set', 'ingress.enabled=true,ingress.host=gateway.example,ingress.tlsSecret=tls,ingress.className=nginx'],
      ...['--set', 'serviceMonitor.enabled=true,prometheusRule.enabled=true'],
    )
    const { rules, tls } = kind(all, 'Ingress').spec
    const paths: string[] = rules[0].http.paths.map(({ path }: { path: string }) => path)
    const served = Object.keys(JSON.parse(read('docs/openapi.json')).paths).map((path) => `/${path.split('/')[1]}`)
    const health = ['/healthz', '/readyz']
    expect([...new Set(served)].filter((path) => !paths.includes(path)).sort()).toEqual(health)
    expect(paths.filter((path) => ['/', '/metrics', '/readyz', '/healthz'].includes(path))).toEqual([])
    expect(tls).toEqual([{ hosts: ['gateway.example'], secretName: 'tls' }])
    expect(kind(all, 'PrometheusRule').spec).toEqual(parse(read('deploy/prometheus/alerts.yaml')))
    expect(kind(all, 'ServiceMonitor').spec.endpoints).toEqual([{ port: 'http', path: '/metrics', interval: '15s' }])
  })

  test('§operations the alerts ask for the job that the service monitor names', () => {
    const all = render('--set', 'nameOverride=gateway,serviceMonitor.enabled=true,prometheusRule.enabled=true')
    const named = kind(all, 'Service').metadata.labels[kind(all, 'ServiceMonitor').spec.jobLabel]
    const asked = JSON.stringify(kind(all, 'PrometheusRule').spec).matchAll(/job=\\"([^"\\]*)/g)
    expect(new Set([...asked].map(([, job]) => job))).toEqual(new Set([named]))
    expect(named).toBe('gateway')
  })

  test('§operations two releases in one namespace do not meet', () => {
    const { stdout } = helm('template', 'blue', CHART)
    const all = documentsIn(stdout)
    expect(new Set(all.map(({ metadata }) => metadata.name))).toEqual(new Set(['blue-switchyard']))
    for (const one of ['Deployment', 'PodDisruptionBudget'])
      expect(kind(all, one).spec.selector.matchLabels['app.kubernetes.io/instance']).toBe('blue')
  })

  test.each([
    ['drainMs=1000', 'drainMs'],
    ['trustedProxies={10.0.0.0/8}', 'trustedProxies'],
    ['workers=0', 'workers'],
    ['replcas=5', 'replcas'],
    ['ingress.enabled=true', 'ingress.host is needed'],
  ])('§settings --set %s is refused by name', (value, named) => {
    expect(refusal('--set', value)).toContain(named)
  })

  test('§operations no secret is in what Helm renders and keeps', () => {
    expect(render().map(({ kind }) => kind)).not.toContain('Secret')
    for (const { name } of variables(render()))
      expect(/PASSWORD|SECRET|_KEY|_URL$/.test(name) && !name.endsWith('_FILE')).toBe(false)
  })
})

test('§operations the chart is there with and without helm', () => {
  expect(existsSync(`${CHART}/templates/deployment.yaml`)).toBe(true)
})

/** What Helm adds to every object, and what differs on purpose. */
function without(manifest: Manifest): Manifest {
  const text = JSON.stringify(manifest, (name, value) => {
    if (ADDED.includes(name)) return undefined
    if (name === 'data') return undefined // comments of the file
    return value
  })
  return JSON.parse(text)
}

const ADDED = [
  ...['app.kubernetes.io/instance', 'app.kubernetes.io/version', 'app.kubernetes.io/managed-by', 'helm.sh/chart'],
  ...['checksum/config', 'imagePullPolicy'],
]
