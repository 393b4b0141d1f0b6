// What may become of a field of a chat request on an upstream that speaks something else, and what becomes of those
// that no other protocol here has a word for.

export type ChatFate = 'kept' | 'translated' | 'left out, and told' | 'left out' | 'refused'

export interface ChatField {
  fate: ChatFate
  how: string
  /** What says the same as leaving it out. */
  idle?: (value: unknown) => boolean
}

export const translated = (how: string): ChatField => ({ fate: 'translated', how })
export const leftOut = (how: string): ChatField => ({ fate: 'left out', how })
export const told = (how: string, idle?: ChatField['idle']): ChatField => ({
  fate: 'left out, and told',
  how,
  ...(idle && { idle }),
})
export const refused = (how: string, idle?: ChatField['idle']): ChatField => ({
  fate: 'refused',
  how,
  ...(idle && { idle }),
})

const isZero = (value: unknown) => value === 0
const isFalse = (value: unknown) => value === false
const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0
const isText = (value: unknown) => Array.isArray(value) && value.every((one) => one === 'text')

/** The quality of an answer hangs on some of them, the answer itself on others. */
export const ONLY_CHAT_HAS: Readonly<Record<string, ChatField>> = {
  seed: told('It has no seed.'),
  frequency_penalty: told('It has no penalties.', isZero),
  presence_penalty: told('It has no penalties.', isZero),
  verbosity: told('Say it in the prompt.'),
  store: told('Nothing is stored there.', isFalse),
  metadata: told('Nothing is stored there.', isEmpty),
  prediction: told('It predicts nothing.'),
  moderation: told('It has no such check.'),
  logprobs: refused('It tells none.', isFalse),
  top_logprobs: refused('It tells none.', isZero),
  logit_bias: refused('Its tokens are its own.', isEmpty),
  modalities: refused('It answers with text.', isText),
  audio: refused('It answers with text.'),
}
