// Traces are off unless somebody said where they go, and then nothing of them is loaded.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { startReceiver } from '../../test/support/otlp-receiver.ts'
import { readScrape } from '../../test/support/scrape.ts'
import { newSettings } from '../../test/support/settings.ts'
import { startServer } from '../main.ts'
import { readConfig } from './config.ts'

const SERVES = `
import { createRequire } from 'node:module'
import { startServer } from './src/main.ts'
import { readConfig } from './src/start/config.ts'
const { cache } = createRequire(process.cwd() + '/x.js')
const isOfTracing = (path) => /@opentelemetry.(sdk|core|otlp|exporter|resources)/.test(path)
async function loadedWith(more) {
  const server = await startServer(readConfig({ ...process.env, ...more }), { print: () => {} })
  await fetch(server.address + '/v2/models')
  await server.stop(0)
  return Object.keys(cache).filter(isOfTracing).length
}
const off = await loadedWith({})
const on = await loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
console.log(JSON.stringify({ off, on }))
process.exit(0)
`

test('§operations off, nothing of OpenTelemetry is loaded; on, it is, and this can tell', async () => {
  const { data_dir } = await newSettings()
  const env = { ...process.env, SWITCHYARD_DATA_DIR: data_dir, PORT: '0', LOG_LEVEL: 'silent' }
  const args = ['--import', 'tsx', '--input-type=module', '-e', SERVES]
  const { stdout, stderr } = spawnSync('node', args, { env, encoding: 'utf8' })
  expect(stdout, stderr).toContain('off')
  const { off, on } = JSON.parse(stdout)
  expect(off).toBe(0)
  expect(on).toBeGreaterThan(10)
})

test('§operations a server exports what it traced before it has stopped, each process under its own name', async () => {
  const receiver = await startReceiver()
  const { data_dir } = await newSettings()
  const env = {
    SWITCHYARD_DATA_DIR: data_dir,
    PORT: '0',
    LOG_LEVEL: 'silent',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
  }
  for (let n = 0; n < 2; n++) {
    const server = await startServer(readConfig(env), { print: () => {} })
    for (const path of ['/v2/models', '/healthz', '/nowhere']) await fetch(`${server.address}${path}`)
    expect(readScrape(await (await fetch(`${server.address}/metrics`)).text()).length).toBeGreaterThan(10)
    await server.stop(0)
  }
  await receiver.close()
  const roots = receiver.spans.filter(({ kind }) => kind === 'server')
  expect(roots.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
    ...Array(2)
      .fill([
        ['GET /v2/models', 401],
        ['GET', 404],
      ])
      .flat(),
  ])
  const instances = roots.map(({ resource }) => resource['service.instance.id'])
  expect(new Set(instances).size).toBe(2)
  expect(new Set(roots.map(({ resource }) => resource['service.name']))).toEqual(new Set(['switchyard']))
})
