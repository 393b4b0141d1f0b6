// The stand-in's embeddings: unit vectors that depend on the input alone, so that equal texts are equal and others not.
import { createHash } from 'node:crypto'
import { type Body, tokensIn } from './placeholder-output.ts'

const DIMENSIONS = 1_536
const DIMENSIONS_MAX = 16_384
const INPUTS_MAX = 2_048

export function embeddings(body: Body) {
  const { input, encoding_format, model } = body
  const inputs = inputsIn(input)
  const dimensions = dimensionsIn(body)
  const tokens = inputs.reduce<number>((sum, one) => sum + tokensIn(one), 0)
  return {
    object: 'list',
    data: inputs.map((one, index) => {
      const vector = unitVector(one, dimensions)
      const bytes = Buffer.from(vector.buffer)
      return {
        object: 'embedding',
        index,
        embedding: encoding_format === 'base64' ? bytes.toString('base64') : [...vector],
      }
    }),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** One text, several, or either of them as token numbers. */
function inputsIn(input: unknown): unknown[] {
  const is_list = Array.isArray(input) && typeof input[0] !== 'number'
  return is_list ? (input as unknown[]).slice(0, INPUTS_MAX) : [input]
}

function dimensionsIn({ dimensions }: Body): number {
  const is_given = typeof dimensions === 'number' && Number.isInteger(dimensions) && dimensions > 0
  return is_given ? Math.min(dimensions, DIMENSIONS_MAX) : DIMENSIONS
}

/** Little-endian floats of 32 bits, as the base64 form has them; the readable form shows the very same numbers. */
function unitVector(input: unknown, dimensions: number): Float32Array {
  const stretched = createHash('shake256', { outputLength: dimensions * 4 })
  const bytes = stretched.update(JSON.stringify(input ?? null)).digest()
  const raw = Float64Array.from({ length: dimensions }, (_, at) => bytes.readInt32LE(at * 4))
  const length = Math.hypot(...raw) || 1
  return Float32Array.from(raw, (value) => value / length)
}
