// Traces are off unless somebody said where they go, and then nothing of them is loaded.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { compiledCommand } from '../../test/support/command.ts'
import { startReceiver } from '../../test/support/otlp-receiver.ts'
import { readScrape } from '../../test/support/scrape.ts'
import { newSettings } from '../../test/support/settings.ts'
import { startServer } from '../main.ts'
import { readConfig } from './config.ts'

const OF_TRACING = /^\/\/ node_modules\/@opentelemetry\/(?:sdk|core|otlp|exporter|resources).*$/gm
const { workplace } = compiledCommand()

/** How many sources of OpenTelemetry are in the program's files that a server loads: V8 lists them as the server ends. */
async function loadedWith(env: Record<string, string>): Promise<number> {
  const place = workplace()
  const lists = join(place.folder, 'loaded')
  const { url, stop } = await place.serve({ NODE_V8_COVERAGE: lists, ...env })
  await fetch(`${url}/v2/models`)
  await stop()
  const files = readdirSync(lists).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(lists, name), 'utf8')) as { result: { url: string }[] }
    return result.filter((one) => one.url.includes('/dist/cli/')).map((one) => fileURLToPath(one.url))
  })
  place.leave()
  expect(files.length).toBeGreaterThan(3)
  return new Set(files.flatMap((file) => readFileSync(file, 'utf8').match(OF_TRACING) ?? [])).size
}

test('§operations off, nothing of OpenTelemetry is loaded; on, it is, and this can tell', async () => {
  const [off, on] = await Promise.all([
    loadedWith({}),
    loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }),
  ])
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
