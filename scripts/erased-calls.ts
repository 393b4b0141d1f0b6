// The transcript of a purge: a stored answer, the plan that counts, the erasure with its receipt, and what is left.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandsOf } from './transcript-commands.ts'
import type { Section, TranscriptScene } from './transcript-scene.ts'

export const ERASED_CALLS: Section = {
  title: 'Erased on request, with a receipt',
  says:
    'A customer asks for what was said to be forgotten. The plan counts, and erases nothing. The receipt is signed by the ' +
    'service; anybody who has it can have it verified. What was charged stays, without what was said.',
  async take({ live }: TranscriptScene) {
    const ask = { model: 'gpt-4o-mini', input: 'My order is late. I am Ada, of 12 Mill Lane.', max_output_tokens: 100 }
    const { id } = await live.post('/v1/responses', ask)
    const folder = mkdtempSync(join(tmpdir(), 'switchyard-transcript-'))
    const cli = commandsOf(live, folder)
    try {
      const planned = await cli(`switchyard purge plan --response ${id}`)
      const plan = /\bprg_\w+/.exec(planned)?.[0] ?? ''
      return [
        planned,
        await cli(`switchyard purge erase ${plan} --json > receipt.json`),
        await cli('switchyard receipt verify receipt.json'),
        await cli(`switchyard purge show ${plan}`),
        await live.curl({ quiet: true, path: `/v1/responses/${id}` }),
      ].join('\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
