// §10.2: every Agent-* header of an answer in a sentence, for whoever reads a trace. One table; what a value means in
// particular is said where it can only be one of a few.
type Explanation = string | ((value: string) => string)

const PROFILES: Readonly<Record<string, string>> = {
  managed_provider: 'It ran with a provider that the operator of this gateway pays.',
  byok: 'It ran with a provider credential of the project itself.',
  subscription: 'It ran under a subscription of the project.',
  byoc_native: 'It ran on a cluster of the project, called directly.',
  byoc_epp: 'It ran on a cluster of the project, whose endpoint picker chose the replica.',
}

const MODES: Readonly<Record<string, string>> = {
  live: 'The target that was tried first answered.',
  emergency_fallback: 'An earlier target failed, or own capacity could not take the call, and another one answered.',
  placeholder: 'No provider is configured: a deterministic stand-in answered, free of charge.',
}

const ADMISSIONS: Readonly<Record<string, string>> = {
  admitted: 'A slot of the target was free at once.',
  queued: 'All slots of the target were taken, and it waited for one.',
  rejected: 'All slots of the target were taken, and it could not wait.',
  expired_before_start: 'Its deadline passed while it waited for a slot.',
}

const oneOf = (sentences: Readonly<Record<string, string>>, otherwise: string) => (value: string) =>
  sentences[value] ?? otherwise
const either = (yes: string, no: string) => (value: string) => (value === 'true' ? yes : no)

export const HEADER_EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  'agent-trace-id': 'The name of this generation, in usage and traces.',
  'agent-resolved-provider': 'The provider or cluster that answered.',
  'agent-resolved-model': 'The model as the upstream calls it.',
  'agent-alias-release': 'The release of the alias that decided where it went.',
  'agent-execution-profile': oneOf(PROFILES, 'Who ran it, and who pays for it.'),
  'agent-execution-mode': oneOf(MODES, 'How it came to be answered.'),
  'agent-region': 'Where it ran, within the regions that the project allows.',
  'agent-charged-micros': 'What the project was charged, in micro-USD.',
  'agent-direct-cost-micros': 'What it would have cost at list price with nothing reused, in micro-USD.',
  'agent-savings-micros': 'Direct cost less what was charged, never below 0, in micro-USD.',
  'agent-bundle': 'The bundle that was put before what the client said.',
  'agent-output-clamped': (value) =>
    `The budget bought no longer answer: the upstream was told to stop after ${value} tokens.`,
  'agent-session-contents-dropped':
    'Its session counts the turn and keeps none of its contents: the project has as many MiB of them as it may have.',
  'agent-qos-admission': oneOf(ADMISSIONS, 'How it got a slot of its target.'),
  'agent-qos-target-met': either(
    'The first token came within the time that was asked for.',
    'The first token came later than was asked for.',
  ),
  'agent-qos-fallback-used': either('The first choice of target was not what answered.', 'The first choice answered.'),
  'agent-hints-honored': (value) =>
    value === ''
      ? 'Hints came with it, and none of them changed anything.'
      : `The hints on ${value.replaceAll(',', ', ')} were followed.`,
  'agent-ignored-fields': (value) => `Nothing was done with ${value}.`,
  'agent-subscription-id': 'The subscription that it ran under.',
  'agent-subscription-discount-pct':
    'What the subscription takes off the price of input within its allowance, in per cent.',
  'agent-byok-credential-id': 'The credential that it ran with.',
  'agent-idempotent-replay': either(
    'The answer was a kept one, and nothing was run.',
    'It was run; the same idempotency key gives this answer again for 24 hours.',
  ),
}

export function explainHeader(name: string, value: string): string {
  const explanation = HEADER_EXPLANATIONS[name]
  if (explanation === undefined) throw new Error(`no explanation of the header ${name}`)
  return typeof explanation === 'string' ? explanation : explanation(value)
}
