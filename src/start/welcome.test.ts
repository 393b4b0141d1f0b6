// What a first start prints to try: a call that works where that can be known, and what to put in where it cannot.
import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { gatewaySettings } from './gateway-settings.ts'
import { tryIt } from './welcome.ts'

const firstLine = (env: Record<string, string>) =>
  tryIt('http://127.0.0.1:8080', 'svc_live_x', gatewaySettings(readConfig(env)).gateway)[0]

test('§2 the printed call says what answers it, or that its model is to be replaced', () => {
  expect(firstLine({})).toBe('Try it (no provider is configured yet: a placeholder answers):')
  expect(firstLine({ OPENAI_API_KEY: 'sk-1' })).toBe('Try it:')
  expect(firstLine({ OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' })).toBe(
    'Try it (gpt-4o-mini stands for a model that your upstream has: GET /v1/models lists them):',
  )
})
