// What the first start prints: the one key, once, and a request to paste.
import type { Founded } from './bootstrap.ts'

export function firstKeyNotice({ project, key }: Founded, address: string, chosen: boolean): string {
  const raw = chosen ? '$SWITCHYARD_BOOTSTRAP_KEY' : key.raw
  const lines = [
    '',
    `  Switchyard is ready at ${address}`,
    `  Project ${project.id}, admin key (shown once, store it now):`,
    '',
    `    ${chosen ? 'as given in SWITCHYARD_BOOTSTRAP_KEY' : raw}`,
    '',
    '  Try it:',
    '',
    `    curl -s ${address}/v2/byoc/clusters \\`,
    `      -H "Authorization: Bearer ${raw}" \\`,
    `      -H "Content-Type: application/json" \\`,
    `      -d '{"name": "atlas", "region": "eu-west-1"}'`,
    '',
    `  Console: ${address}/console`,
    `  Reference: ${address}/docs`,
    '',
  ]
  return `${lines.join('\n')}\n`
}
