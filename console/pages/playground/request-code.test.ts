// §10.1: the playground's request as hints and as code that really says the same.
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { decodeHints } from '../../../src/hints/hints.ts'
import { requestCodes } from './request-code.ts'
import { encodeHints, hintsOf, NO_WISH, requestOf } from './wish.ts'

const WISH = {
  ...NO_WISH,
  model: ' fast ',
  system: 'Don\'t "guess".\n$HOME `x` \\',
  max_output_tokens: '1,000',
  temperature: '0.5',
}
const TURNS = [{ role: 'user' as const, content: "What's ünïque? </script> '''" }]
const CHAT = {
  model: 'fast',
  messages: [{ role: 'system', content: WISH.system }, TURNS[0]],
  max_completion_tokens: 1000,
  temperature: 0.5,
  stream: true,
}
const HINTED = { ...WISH, class: 'interactive' as const, deadline_ms: '2000', reuse: 'avoid' as const }

test('§10.1 controls become hints as the service reads them; untouched ones none', () => {
  const hints = hintsOf({ ...HINTED, target_ttft_ms: '300' })
  expect(hints && decodeHints(encodeHints(hints))).toEqual({
    qos: { class: 'interactive', target_ttft_ms: 300, deadline_ms: 2000 },
    reuse: { preference: 'avoid' },
  })
  expect(hintsOf(WISH)).toBeUndefined()
  expect(hintsOf({ ...NO_WISH, deadline_ms: '5' })).toEqual({ qos: { class: 'standard', deadline_ms: 5 } })
})

test('§10.1 what is no number is refused at its field', () => {
  expect(() => hintsOf({ ...NO_WISH, deadline_ms: 'soon' })).toThrow("'deadline_ms' must be a number.")
})

const codes = () =>
  requestCodes({ origin: 'http://127.0.0.1:1', request: requestOf(HINTED, TURNS), hints: hintsOf(HINTED) })

test('§10.1 a shell hands curl the very request, whatever was typed', () => {
  const script = codes()[0].code.replace(
    /^curl/,
    `node -e 'process.stdout.write(JSON.stringify(process.argv.slice(1)))' --`,
  )
  const args = JSON.parse(
    execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { PATH: process.env.PATH, SWITCHYARD_KEY: 'k' } }),
  )
  expect(args[1]).toBe('http://127.0.0.1:1/v1/chat/completions')
  expect(args).toContain('Authorization: Bearer k')
  expect(args).toContain(`Agent-Hints: ${encodeHints(hintsOf(HINTED) ?? {})}`)
  expect(JSON.parse(args.at(-1))).toEqual(CHAT)
})

test('§10.1 the code for TypeScript makes the very call', async () => {
  const sent: unknown[] = []
  const create = async (body: unknown, options: unknown) => {
    sent.push(body, options)
    return []
  }
  const code = codes()[2].code.replaceAll(/^import.*\n/gm, '')
  const run = new Function('OpenAI', 'env', 'stdout', `return (async () => { ${code} })()`)
  await run(
    class {
      chat = { completions: { create } }
    },
    {},
    { write: () => {} },
  )
  expect(sent).toEqual([CHAT, { headers: { 'Agent-Hints': encodeHints(hintsOf(HINTED) ?? {}) } }])
})
