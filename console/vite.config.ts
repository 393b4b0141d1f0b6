// How the console is built: into dist/console, under /console, each file with its compressed forms beside it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

const SERVICE = 'http://127.0.0.1:8080' // what `npm run dev` starts

/** The server compresses nothing: it sends what was packed here, once and as small as it gets. */
const packed: Plugin = {
  name: 'packed',
  apply: 'build',
  closeBundle() {
    const folder = resolve(this.environment.config.root, this.environment.config.build.outDir)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(html|js|css|svg)$/.test(name)) continue
      const path = join(folder, name)
      const bytes = readFileSync(path)
      writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
      writeFileSync(`${path}.br`, brotliCompressSync(bytes))
    }
  },
}

const CHARTS = /console\/parts\/(chart-|curve-chart|series-chart|plot-cursor|time-ticks|release-markers)/
/** What pages of several folders show. */
const SHARED =
  /console\/pages\/(overview\/(attention|refusal-l|failures)|usage\/event-p|keys\/new-key|traces\/trace-id)/

/** The folder of a page, where those who look at one mostly look at the other, too. */
function subjectOf(id: string): string | null {
  const [, folder, file = ''] = /console\/pages\/([\w-]+)\/(.+)/.exec(id) ?? []
  if (folder === 'traces') return 'requests'
  return file.startsWith('subscription') ? 'subscriptions' : (folder ?? null)
}

/** 0369: what is used together is one script, and each takes along what no other has. */
const codeSplitting = {
  groups: [
    { name: 'first', tags: ['$initial' as const], priority: 4 },
    {
      name: 'parts',
      test: (id: string) => (/console\/(api|parts|state)\//.test(id) && !CHARTS.test(id)) || SHARED.test(id),
      minShareCount: 2,
      priority: 3,
    },
    { name: 'charts', test: CHARTS, priority: 2 },
    { name: subjectOf, debugName: 'pages', priority: 1 },
  ],
}

export default defineConfig({
  base: '/console/',
  plugins: [packed],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // the first that know light-dark(), which is left as it is
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the policy allows no inline scripts, and cached files beat inlined ones
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting } },
  },
  server: { proxy: { '/v1': SERVICE, '/v2': SERVICE, '/auth': SERVICE } },
})
