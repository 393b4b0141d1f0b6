// A provider for the console's playground: the programmable upstream, and the settings that lead the server to it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startUpstream } from '../support/upstream.ts'

export const MODEL = 'atlas-small'

const SAYING = {
  text: 'Routers send each packet towards its destination, one hop at a time.',
  chunks: 12,
  usage: { input: 1_000, output: 500, cached: 400 },
}

/** `records`: projects may record their calls. */
export async function modelUpstream({ records = false } = {}) {
  const upstream = await startUpstream(SAYING)
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-upstream-'))
  const file = join(folder, 'switchyard.yaml')
  writeFileSync(
    file,
    `${records ? 'retention: { full_fidelity: true }\n' : ''}providers:
  - id: atlas
    base_url: ${upstream.base_url}
    api_key: sk-upstream
    region: eu
    models:
      - id: ${MODEL}
        input_usd_per_million: 2
        cached_input_usd_per_million: 1
        output_usd_per_million: 8
        max_output_tokens: 4096
`,
  )
  return {
    ...upstream,
    SAYING,
    env: { SWITCHYARD_CONFIG: file },
    async close() {
      await upstream.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
