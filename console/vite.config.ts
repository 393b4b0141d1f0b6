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
  },
  server: { proxy: { '/v1': SERVICE, '/v2': SERVICE, '/auth': SERVICE } },
})
