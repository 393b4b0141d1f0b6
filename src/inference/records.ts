// What a generation leaves behind beside its charge: the session's line (§11: once, however many attempts ran), the
// stored response, and the memory of the prompt's prefixes.
import type { Clock } from '../core/clock.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { makerOf } from '../core/maker.ts'
import type { Sealing } from '../core/sealing.ts'
import { nativeBlocks } from '../responses/native-response.ts'
import { responseStore } from '../responses/response-store.ts'
import { chainRoot, type Link, prefixChain } from '../reuse/prefix-chain.ts'
import { seenPrefixes } from '../reuse/seen-prefixes.ts'
import { sessionStore } from '../sessions/session-store.ts'
import type { Db } from '../storage/db.ts'
import { assistantOutput, finalResponse } from './assistant-output.ts'
import type { Call } from './call.ts'
import { isOpenedHere } from './call-reading.ts'
import { keptForm } from './conversation.ts'
import type { Gateway } from './gateway.ts'
import type { Ended, Stages } from './pipeline.ts'
import type { Target } from './target.ts'

export type Records = Pick<Stages, 'wantsBody' | 'leavesMore' | 'also' | 'reuseOf' | 'repeatedTokens' | 'finalBody'>

interface Needs {
  clock: Clock
  seals: Sealing
  gateway: Gateway
}

const ROOTS_MAX = 10_000

export function records({ clock, seals, gateway }: Needs): Records {
  const seen = seenPrefixes()
  const roots = new Map<string, string>()

  function rootOf(project_id: string, model: string): string {
    const name = `${project_id} ${model}`
    const known = roots.get(name)
    if (known) return known
    const root = chainRoot(seals.tenantKey(project_id), model)
    if (roots.size >= ROOTS_MAX) roots.clear()
    roots.set(name, root)
    return root
  }

  function chainOf({ kind, caller, json, body }: Call, { model }: Target): readonly Link[] {
    return kind === 'embeddings' ? [] : prefixChain(rootOf(caller.project_id, model), json, body.length)
  }

  async function recordTurn({ call, body, tokens }: Ended, tx: Db): Promise<void> {
    const { caller, session_id, trace_id, json, kind, stream, conversation } = call
    const contents = gateway.full_fidelity && {
      input: json.messages ?? json.input ?? json.prompt,
      output: assistantOutput(kind, stream, body),
    }
    const turn = {
      session_id: session_id as string,
      response_id: conversation?.ids.response_id ?? trace_id,
      trace_id,
      input: undefined,
      output: undefined,
      ...contents,
      input_tokens: tokens.input,
      cached_tokens: tokens.cached,
      maker: makerOf(caller),
    }
    await sessionStore(tx, seals).recordTurn(caller.project_id, turn, clock.now())
  }

  async function storeResponse(ended: Ended, tx: Db): Promise<void> {
    const { call, body } = ended
    if (!call.conversation) return
    const kept = keptForm(call.stream ? finalResponse(body) : jsonIn(body), call.conversation)
    if (!kept) return
    const record = { trace_id: call.trace_id, native: blocksOf(ended), ...makerOf(call.caller), ...kept }
    await responseStore(tx, seals).insert(call.caller.project_id, record, clock.now())
  }

  return {
    wantsBody: (call) => isStored(call) || (gateway.full_fidelity && hasLine(call)),

    leavesMore: (call) => hasLine(call) || isStored(call),

    async also(ended, tx) {
      if (hasLine(ended.call)) await recordTurn(ended, tx)
      if (isStored(ended.call)) await storeResponse(ended, tx)
    },

    /** §9: only the native surface tells in its body what happened; on /v1 that is for headers. */
    finalBody(ended) {
      const { call, body } = ended
      if (call.conversation?.surface !== 'v2') return body
      return Buffer.from(JSON.stringify({ ...jsonIn(body), ...blocksOf(ended) }))
    },

    reuseOf(call, { target, is_affine = false }) {
      const chain = chainOf(call, target)
      const belief = seen.believe({ project_id: call.caller.project_id, target_id: target.id, chain }, clock.now())
      return { chain, is_affine, ...belief }
    },

    repeatedTokens(call, { target }, chain = chainOf(call, target)) {
      return seen.note({ project_id: call.caller.project_id, target_id: target.id, chain }, clock.now())
    },
  }
}

const blocksOf = ({ facts, money, got }: Ended) => nativeBlocks({ ...facts, money, attempts: got.attempts })

const isStored = ({ conversation }: Call) => conversation?.request.store ?? false

const hasLine = ({ session_id }: Call) => session_id !== undefined && isOpenedHere(session_id)
