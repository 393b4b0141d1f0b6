// What somebody set in the playground, and what that is as a request, as hints (§10.1) and as code.
import type { Hints } from '../../../src/hints/hints.ts'
import type { GenerationRequest, Turn } from '../../api/generation-calls.ts'
import { typedNumber } from '../../parts/typed-number.ts'

export interface Wish {
  model: string
  system: string
  max_output_tokens: string
  temperature: string
  class: 'unset' | 'interactive' | 'standard' | 'background'
  target_ttft_ms: string
  deadline_ms: string
  reuse: 'unset' | 'prefer' | 'require' | 'avoid'
}

export const NO_WISH: Wish = {
  model: '',
  system: '',
  max_output_tokens: '',
  temperature: '',
  class: 'unset',
  target_ttft_ms: '',
  deadline_ms: '',
  reuse: 'unset',
}

export const WISH_NUMBERS = ['max_output_tokens', 'temperature', 'target_ttft_ms', 'deadline_ms'] as const

export function requestOf(wish: Wish, input: readonly Turn[]): GenerationRequest {
  const max_output_tokens = typedNumber('max_output_tokens', wish.max_output_tokens)
  const temperature = typedNumber('temperature', wish.temperature)
  return {
    model: wish.model.trim(),
    ...(wish.system.trim() !== '' && { instructions: wish.system }),
    input,
    ...(max_output_tokens !== undefined && { max_output_tokens }),
    ...(temperature !== undefined && { temperature }),
  }
}

/** Undefined where no control was touched: then no header is sent. */
export function hintsOf(wish: Wish): Hints | undefined {
  const target_ttft_ms = typedNumber('target_ttft_ms', wish.target_ttft_ms)
  const deadline_ms = typedNumber('deadline_ms', wish.deadline_ms)
  const has_qos = wish.class !== 'unset' || target_ttft_ms !== undefined || deadline_ms !== undefined
  const hints: Hints = {
    ...(has_qos && {
      qos: {
        class: wish.class === 'unset' ? 'standard' : wish.class,
        ...(target_ttft_ms !== undefined && { target_ttft_ms }),
        ...(deadline_ms !== undefined && { deadline_ms }),
      },
    }),
    ...(wish.reuse !== 'unset' && { reuse: { preference: wish.reuse } }),
  }
  return Object.keys(hints).length > 0 ? hints : undefined
}

/** base64url without padding. */
export const encodeHints = (hints: Hints) =>
  btoa(JSON.stringify(hints)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
