// docs/TRANSCRIPTS.md, taken again: what it shows is what the server answers.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TRANSCRIPTS_FILE, transcriptsText } from '../../scripts/write-transcripts.ts'

test('§10.2 docs/TRANSCRIPTS.md is what curl prints: `npm run transcripts` writes it', async () => {
  expect(await transcriptsText()).toBe(readFileSync(TRANSCRIPTS_FILE, 'utf8'))
})
