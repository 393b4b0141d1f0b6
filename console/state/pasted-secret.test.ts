// What is taken for a key's secret, and is then hashed here and not searched for.
import { expect, test } from 'vitest'
import { secretIn } from './pasted-secret.ts'

const OURS = `svc_live_${'a1B2c3D4'.repeat(5)}Xy`
const CHOSEN = `svc_live_${'chosen-by_the-operator'.repeat(2)}`
const ENCODED = `svc_live_${'a+b/c0'.repeat(7)}==`
const IMPORTED = 'sk-1234567890abcdef-XYZ_0'

test.each([
  ['ours, alone', OURS, OURS],
  ['ours, in a line of a log', `authorization: Bearer ${OURS}, 200`, OURS],
  ['ours, in a configuration', `{"api_key":"${OURS}"}`, OURS],
  ['one that the operator chose, alone', ` ${CHOSEN}\n`, CHOSEN],
  ['one that the operator chose, in a line', `KEY='${CHOSEN}'`, CHOSEN],
  ['one in base64, alone', ENCODED, ENCODED],
  ['one of another gateway, alone', IMPORTED, IMPORTED],
  ['one of another gateway, in a line', `export OPENAI_API_KEY=${IMPORTED};`, IMPORTED],
  ['no secret: a name', 'task-runner-for-the-nightly-build', undefined],
  ['no secret: the mask of one', 'svc_live_a1B2…c3D4', undefined],
  ['no secret: what is too short to be one', 'sk-night', undefined],
])('R5, 0333 %s', (_case, text, secret) => {
  expect(secretIn(text)).toBe(secret)
})
