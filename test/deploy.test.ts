// What is in deploy/, compared with the code: metrics, settings, endpoints and times that must fit each other.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { globSync } from 'tinyglobby'
import { expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, VARIABLES } from '../src/start/config.ts'
import { readConfigFile } from '../src/start/config-file.ts'
import { metrics } from '../src/telemetry/metrics.ts'
import { letsThrough, readStages } from './support/dockerfile.ts'
import { DASHBOARD, expressionsOf, selectedBy } from './support/promql.ts'

const read = (path: string) => readFileSync(path, 'utf8')
/** But for templates, which are none before Helm has read them. */
const YAML_FILES = globSync('deploy/**/*.{yaml,yml}', { ignore: ['deploy/helm/**/templates/**'] })
const NGINX = 'deploy/nginx/nginx.conf'
/** Settings that are not this server's own, or that only a cluster has. */
const OTHER_VARIABLES = ['NODE_ENV', 'TMPDIR']

interface Metric {
  name: string
}

const compose = parse(read('deploy/compose.yaml'), { merge: true })
const manifests = parseAllDocuments(read('deploy/kubernetes/switchyard.yaml')).map((document) => document.toJS())
const deployment = manifests.find(({ kind }) => kind === 'Deployment').spec.template.spec
const [container] = deployment.containers
test('§operations every YAML file of deploy/ is one, without doubled keys', () => {
  expect(YAML_FILES.length).toBeGreaterThan(3)
  const wrong = YAML_FILES.flatMap((path) =>
    parseAllDocuments(read(path), { merge: true }).flatMap(({ errors }) =>
      errors.map(({ message }) => `${path}: ${message}`),
    ),
  )
  expect(wrong).toEqual([])
})

test('§operations every expression of the alerts and the dashboard is PromQL', () => {
  expect(expressionsOf().flatMap(selectedBy).length).toBeGreaterThan(80)
})

test('§operations every counter and gauge of ours is on the dashboard', () => {
  const own = (metrics().registry.getMetricsAsArray() as unknown as Metric[])
    .map(({ name }) => name)
    .filter((name) => name.startsWith('switchyard_'))
  const shown = read(DASHBOARD)
  expect(own.filter((name) => !shown.includes(name))).toEqual([])
})

test('§operations every endpoint that alerts and the dashboard send somebody to is there', () => {
  const { paths } = JSON.parse(read('docs/openapi.json'))
  const known = Object.keys(paths).map((path) => path.replace(/\/\{\w+\}$/, ''))
  const named = [read('deploy/prometheus/alerts.yaml'), read(DASHBOARD)].flatMap((text) =>
    [...text.matchAll(/\bGET (\/v\d\/[a-z/-]+)/g)].map(([, path = '']) => path),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((path) => !known.includes(path))).toEqual([])
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
  expect(given.filter((name) => !VARIABLES.includes(name) && !OTHER_VARIABLES.includes(name))).toEqual([])
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
  expect(deployment.automountServiceAccountToken).toBe(false)
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  for (const [name, service] of Object.entries<Record<string, unknown>>(compose.services)) {
    expect(service.security_opt, name).toEqual(['no-new-privileges:true'])
    if (name === 'postgres') continue // its own start makes its folder as root, and then becomes another
    expect([service.read_only, service.cap_drop], name).toEqual([true, ['ALL']])
    expect(service.user ?? (service.build && 'that of the image'), name).toBeDefined()
  }
})

const TRUSTED = 'SWITCHYARD_TRUSTED_PROXIES'

test('§8.1 only the proxy in front is believed for whom it forwards, by its single address', () => {
  const { environment } = compose.services['switchyard-1']
  expect(environment[TRUSTED]).toBe(`${compose.services.nginx.networks.front.ipv4_address}/32`)
  const [{ ip_range }] = compose.networks.front.ipam.config
  expect(ip_range).toBe('172.28.0.128/25') // nobody else is given the proxy's address
  const { value } = container.env.find(({ name }: { name: string }) => name === TRUSTED)
  for (const network of value.split(',')) expect(network).toMatch(/(\/32|:.*\/128)$/)
})

test('§operations the stores are on a network that leads nowhere, and nothing but nginx is on the front and published', () => {
  const { services, networks } = compose
  const on = (network: string) =>
    Object.keys(services).filter((name) => [...toNames(services[name].networks)].includes(network))
  expect(on('stores')).toEqual(['switchyard-1', 'switchyard-2', 'postgres', 'redis'])
  expect(on('front')).toEqual(['switchyard-1', 'switchyard-2', 'nginx'])
  expect(networks.stores.internal).toBe(true)
  expect(Object.keys(services).filter((name) => services[name].ports)).toEqual(['nginx'])
})

const toNames = (names: string[] | object) => (Array.isArray(names) ? names : Object.keys(names))

test('§operations the secrets of compose are made once, fit each other, and are taken', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-deploy-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const place = join(folder, 'secrets')
  const make = () => spawnSync('sh', ['deploy/make-secrets.sh', place])
  expect(make().status).toBe(0)
  expect(statSync(place).mode & 0o777).toBe(0o700)
  const held = (name: string) => read(join(place, name)).trimEnd()
  const before = held('switchyard_secret')
  expect(make().status).toBe(1)
  expect(held('switchyard_secret')).toBe(before)

  expect(readdirSync(place).sort()).toEqual(Object.keys(compose.secrets).sort())
  for (const [name, { file }] of Object.entries<{ file: string }>(compose.secrets))
    expect(file).toBe(`./secrets/${name}`)
  expect(new URL(held('database_url')).password).toBe(held('postgres_password'))
  expect(new URL(held('redis_url')).password).toBe(held('redis_password'))
  expect(held('redis_password').length).toBeGreaterThanOrEqual(32)

  for (const name of ['switchyard-1', 'switchyard-2']) {
    const { environment, secrets, volumes } = compose.services[name]
    expect(volumes).toContain('./switchyard.yaml:/config/switchyard.yaml:ro')
    const files = Object.entries<string>(environment).filter(([key]) => key.endsWith('_FILE'))
    expect(files.map(([, file]) => file.replace('/run/secrets/', ''))).toEqual(secrets)
    const here = files.map(([key, file]) => [key, file.replace('/run/secrets', place)])
    const given = { ...environment, ...Object.fromEntries(here), SWITCHYARD_CONFIG: 'deploy/switchyard.yaml' }
    const config = readConfig(given)
    expect([config.redis_url, config.secret]).toEqual([held('redis_url'), held('switchyard_secret')])
    expect(readConfigFile('deploy/switchyard.yaml', given).providers).toEqual([])
  }
})

test('§operations no secret stands in a file of deploy/ or in the environment of a container', () => {
  const given = [
    ...Object.keys({ ...compose.services['switchyard-1'].environment, ...compose.services.postgres.environment }),
    ...container.env.map(({ name }: { name: string }) => name),
  ]
  const secret = /PASSWORD|SECRET|_KEY|_URL$/
  expect(given.filter((name: string) => secret.test(name) && !name.endsWith('_FILE'))).toEqual([])
  expect(container.envFrom).toBeUndefined()
  expect(read('.gitignore')).toContain('/deploy/secrets/')
})

test('§operations Redis asks for the password of its file, and its health check gives it', () => {
  const { command, healthcheck, secrets } = compose.services.redis
  expect(secrets).toEqual(['redis_password'])
  expect(command.at(-1)).toContain('requirepass %s')
  for (const text of [command.at(-1), healthcheck.test.at(-1)]) expect(text).toContain('/run/secrets/redis_password')
})

test('§operations every secret of the manifests is one that the notes tell to make, mounted for the server alone', () => {
  const made = [...read('deploy/kubernetes/switchyard.yaml').matchAll(/--from-literal=([A-Z_]+)/g)].map(
    ([, key]) => key,
  )
  const files = container.env.filter(({ name }: { name: string }) => name.endsWith('_FILE'))
  const { mountPath, readOnly } = container.volumeMounts.find(({ name }: { name: string }) => name === 'secrets')
  expect(files.map(({ value }: { value: string }) => value)).toEqual(made.map((key) => `${mountPath}/${key}`))
  expect(files.map(({ name }: { name: string }) => name)).toEqual(made.map((key) => `${key}_FILE`))
  expect(readOnly).toBe(true)
  const volume = deployment.volumes.find(({ name }: { name: string }) => name === 'secrets')
  expect(volume.secret.defaultMode).toBe(0o440)
})

test('§operations the manifests let in the ingress and Prometheus, and out what the server needs', () => {
  const { spec } = manifests.find(({ kind }) => kind === 'NetworkPolicy')
  const labels = manifests.find(({ kind }) => kind === 'Deployment').spec.template.metadata.labels
  expect([spec.podSelector.matchLabels, spec.policyTypes]).toEqual([labels, ['Ingress', 'Egress']])
  const [entry, ...more] = spec.ingress
  expect(more).toEqual([])
  // Both selectors in one item: those pods of that namespace. In two, it would be either.
  for (const from of entry.from) expect(Object.keys(from).sort()).toEqual(['namespaceSelector', 'podSelector'])
  expect(entry.ports).toEqual([{ protocol: 'TCP', port: container.ports[0].name }])
  const out = spec.egress.map(({ ports }: { ports: { port: number }[] }) => ports.map(({ port }) => port))
  expect(out).toEqual([
    [53, 53],
    [5432, 6379],
    [443, 465],
  ])
  for (const { to } of spec.egress) expect(to.length).toBeGreaterThan(0)
  // What the server would dial for a tenant is judged by the server itself; the network says the same once more.
  const shut = ['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']
  expect(spec.egress.at(-1).to.map(({ ipBlock }: { ipBlock: object }) => ipBlock)).toEqual([
    { cidr: '0.0.0.0/0', except: shut },
  ])
})

test('§operations every image is one version, and ours is that of the package', () => {
  const { version } = JSON.parse(read('package.json'))
  const bases = readStages().map(({ base }) => base)
  const others = Object.values<{ image: string }>(compose.services).map(({ image }) => image)
  for (const image of [...bases, ...others]) expect(image).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?$/)
  expect([...others.filter((image) => image.startsWith('switchyard')), container.image]).toEqual(
    Array(3).fill(`switchyard:${version}`),
  )
})

test('§operations what the image is built from exists, and the ignore file lets it through', () => {
  const copied = readStages()
    .flatMap(({ instructions }) => instructions)
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ text }) => text.split(' ').slice(0, -1))
  const passes = letsThrough(read('deploy/Dockerfile.dockerignore'))
  expect(copied.filter((file) => !existsSync(file) || !passes(file))).toEqual([])
  expect(copied).toEqual(expect.arrayContaining(['console', 'cli', 'src', 'scripts']))
  const kept_out = ['data/secret', 'deploy/secrets/redis_url', 'switchyard.yaml', 'node_modules/x.js', 'src/a.test.ts']
  expect(kept_out.filter(passes)).toEqual([])
})

test('§operations nginx holds no stream back, repeats nothing, and closes idle connections before the server does', () => {
  const text = read(NGINX)
  const lines = ['proxy_buffering off;', 'proxy_http_version 1.1;', 'proxy_set_header Connection "";']
  for (const line of [...lines, 'proxy_pass_trailers on;']) expect(text).toContain(line)
  // T-102: without its port, a page at any other than 80 or 443 is not of the host that the server is told.
  expect(text).toContain('proxy_set_header Host $http_host;')
  expect(text).not.toContain('non_idempotent')
  expect(Number(/keepalive_timeout (\d+)s/.exec(text)?.[1])).toBeLessThan(72)
  expect(Number(/proxy_read_timeout (\d+)s/.exec(text)?.[1])).toBeGreaterThan(900)
})

/** From 1.27.2 on; the image of compose is newer. */
function passesTrailers(): boolean {
  const [, ...version] = /nginx\/(\d+)\.(\d+)\.(\d+)/.exec(spawnSync('nginx', ['-v']).stderr.toString()) ?? []
  const [major = 0, minor = 0, patch = 0] = version.map(Number)
  return major > 1 || minor > 27 || (minor === 27 && patch >= 2)
}

test.runIf(spawnSync('nginx', ['-v']).status === 0)('§operations nginx itself takes its settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-nginx-'))
  const file = join(folder, 'nginx.conf')
  const known = read(NGINX).replace(/ *proxy_pass_trailers .*\n/, (line) => (passesTrailers() ? line : ''))
  writeFileSync(file, known.replaceAll(/switchyard-\d:8080/g, '127.0.0.1:1')) // names that only compose resolves
  const { stderr, status } = spawnSync('nginx', ['-t', '-q', '-c', file, '-p', folder])
  rmSync(folder, { recursive: true })
  expect(status, stderr.toString()).toBe(0)
})

test('R78 nobody is woken for what fails at a customer’s own cluster or credential', () => {
  for (const file of ['deploy/prometheus/alerts.yaml', 'deploy/helm/switchyard/alerts.yaml']) {
    const series = read(file).match(
      /switchyard_(generations|attempts)_total\{[^}]*\}|switchyard_(generations|attempts)_total/g,
    )
    expect(series?.filter((one) => !/profile=~?"managed_provider/.test(one))).toEqual([])
    expect(read(file)).not.toContain('switchyard_circuits_open')
    expect(read(file)).not.toContain('status=~"5')
  }
})

test('§operations how many replicas there are is said by whoever scales them', () => {
  expect(read('deploy/kubernetes/switchyard.yaml')).toContain('kind: HorizontalPodAutoscaler')
  expect(read('deploy/kubernetes/switchyard.yaml')).not.toMatch(/^ {2}replicas:/m)
})

test('§operations the documented backup of compose and its way back are for its service, user and database', () => {
  const { image, environment } = compose.services.postgres
  const { POSTGRES_USER: user, POSTGRES_DB: database } = environment
  const text = read('docs/OPERATIONS.md').replaceAll(/\\\n\s*/g, '')
  const commands = [...text.matchAll(/^docker compose -f deploy\/compose\.yaml exec -T postgres (p.*)$/gm)]
  const flags = /\['--clean'.*\]/
    .exec(read('src/operate/backup.ts'))?.[0]
    .match(/--[a-z-]+/g)
    ?.join(' ')
  expect(flags).toContain('--single-transaction')
  expect(commands.map(([, command]) => command)).toEqual([
    `pg_dump -U ${user} -Fc --schema=public ${database} > FILE`,
    `psql -U ${user} -d ${database} -c 'ALTER SCHEMA public RENAME TO before_restore; CREATE SCHEMA public;' &&`,
    `pg_restore -U ${user} -d ${database} ${flags} --schema=public < FILE &&`,
  ])
  const servers = Object.keys(compose.services).filter((name) => name.startsWith('switchyard'))
  for (const verb of ['stop', 'start'])
    expect(text).toContain(`docker compose -f deploy/compose.yaml ${verb} ${servers.join(' ')}`)
  // Elsewhere by the same programs: the pod's image is that of the server here.
  expect(text).toContain(`image: ${image} #`)
  expect(text).toContain(`pg_restore -d "$DATABASE_URL" ${flags} --schema=public' < FILE`)
})
