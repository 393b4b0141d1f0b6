// Stored responses and chains of them, for the suites of their store.
import { newId } from '../../src/core/ids.ts'
import { sealing } from '../../src/core/sealing.ts'
import { responseFrom } from '../../src/responses/from-chat.ts'
import { keptInput } from '../../src/responses/response-items.ts'
import { type Item, readResponseRequest } from '../../src/responses/response-request.ts'
import { responseStore } from '../../src/responses/response-store.ts'
import type { OpenDb } from '../../src/storage/db.ts'
import { NOON } from './clock.ts'

export const seals = sealing('a secret for tests, 32 characters or more')
export const MAKER = { made_by: 'key_1', made_under: null }

interface Asked {
  previous?: string | null
  id?: string
  input?: string | Item[]
  said?: string
}

/** One request and its response, stored. */
export const storedTurns = (db: () => OpenDb) =>
  async function turn(
    project_id: string,
    { previous = null, id = newId('resp'), ...more }: Asked = {},
  ): Promise<string> {
    const { input = 'question', said = 'answer' } = more
    const request = readResponseRequest({ model: 'm', input, previous_response_id: previous, instructions: 'Secret.' })
    const chat = { choices: [{ message: { content: said }, finish_reason: 'stop' }] }
    const response = responseFrom(chat, request, { response_id: id, created_at_s: NOON / 1000 })
    const kept = { trace_id: 'trc_1', ...MAKER, response, input: keptInput(request.input, id), native: null }
    await responseStore(db(), seals).insert(project_id, kept, NOON)
    return id
  }
