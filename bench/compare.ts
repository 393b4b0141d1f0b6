// Two revisions against each other, interleaved: `compare REV` is REV against the working tree, `compare REV REV2` one
// against the other. Each is built from a copy of its own that git hands out, so the checkout stays as it is.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import { ROOT, temporaryFolder } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, limitedKey, startService } from './service-under-test.ts'
import { startUpstream } from './upstream-side.ts'

const BUILD_WITHIN_MS = 300_000

interface Revision {
  name: string
  root: string
}

export async function compare(conditions: Conditions, [base, other]: string[]): Promise<string> {
  if (!base) throw new Error('compare needs a revision: `npm run bench -- compare main`')
  const revisions = [build(base), other ? build(other) : { name: 'working tree', root: ROOT }]
  const upstream = await startUpstream()
  const servers = []
  for (const { name, root } of revisions) {
    const server = await startService({ name, root, upstream })
    servers.push({ name, server, limited: await limitedKey(server) })
  }
  const kinds: [string, { body: string; limited?: boolean; unique_header?: string; warm_requests?: number }][] = [
    ['live', { body: chat() }],
    ['a hold for each call', { body: chat(), limited: true }],
    ['keyed', { body: chat(), unique_header: 'agent-idempotency-key' }],
    ['streams of 50 chunks', { body: chat({ stream: true }), warm_requests: 1_500 }],
  ]
  const told: string[] = []
  for (const [title, { body, limited, unique_header, warm_requests }] of kinds) {
    const contenders: Contender[] = servers.map((one) => ({
      name: one.name,
      server: one.server,
      plan: {
        path: CHAT,
        body,
        headers: as(limited ? one.limited : ADMIN_KEY),
        ...(unique_header && { unique_header }),
      },
      ...(warm_requests && { warm_requests }),
    }))
    const measured = await measure(contenders, conditions)
    const summaries = summarize(measured.rounds, contenders)
    record(`Compare, ${title}`, { conditions, ...measured, summaries })
    told.push(table(`${title}, base is ${base}`, summaries, conditions))
  }
  return told.join('\n')
}

/** An export rather than a second work tree: an interrupted run then leaves nothing behind in the repository. */
function build(revision: string): Revision {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, maxBuffer: 1024 ** 3 })
  const commit = git('rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`).toString().trim()
  const root = temporaryFolder().path
  process.stderr.write(`  building ${revision} (${commit.slice(0, 10)})\n`)
  execFileSync('tar', ['-x', '-C', root], { input: git('archive', '--format=tar', commit) })
  const run = (...args: string[]) => execFileSync('npm', args, { cwd: root, stdio: 'pipe', timeout: BUILD_WITHIN_MS })
  if (sameLock(root)) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  else run('ci', '--ignore-scripts', '--no-audit', '--no-fund')
  run('run', '--silent', 'build')
  return { name: `${revision} (${commit.slice(0, 10)})`, root }
}

const sameLock = (root: string) =>
  existsSync(join(root, 'package-lock.json')) &&
  readFileSync(join(root, 'package-lock.json'), 'utf8') === readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
