// BYOK: /v2/provider-credentials.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { listOf } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import {
  Credential,
  type CredentialSettings,
  type EnteredCredential,
  enterCredential,
  NewCredential,
  RevokedCredential,
  settingsOf,
  type VerifyCredential,
} from './credential.ts'
import { credentialStore, credentialsPresent, REVOKED_MAX } from './credential-store.ts'

const Params = Type.Object({ credential_id: Type.String({ description: 'Begins `pcr_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Provider credentials']
const WHAT = 'provider credential'

interface Needs {
  clock: Clock
  seals: Sealing
  verify: VerifyCredential
  /** Why calls could not go where a credential says, if they could not. */
  wrongTerm(credential: Told): { field: string; must: string } | undefined
}

interface Told {
  provider: string
  base_url: string | null
  settings: CredentialSettings | undefined
  /** Which field the secret came in. */
  entered_by: EnteredCredential['kind']
}

export const credentialRoutes: Routes<Needs> = async (app, { clock, seals, verify, wrongTerm }) => {
  const storeOn = (db: Db) => credentialStore(db, seals)

  app.post(
    '/v2/provider-credentials',
    {
      config: { ...manage, adds: { kind: 'credentials', present: credentialsPresent } },
      schema: {
        tags,
        summary: 'Enter a credential',
        description: 'Requests of the project then go to this provider on the project’s own account.',
        body: NewCredential,
        response: { 200: Credential },
      },
    },
    async ({ caller, body, db }) => {
      const entered = enterCredential(caller.project_id, body, clock.now())
      const { base_url = null, provider } = entered.credential
      const settings = settingsOf(entered.credential)
      const wrong = wrongTerm({ provider, base_url, settings, entered_by: entered.kind })
      if (wrong) throw new Refusal('invalid_request', `'${wrong.field}' must ${wrong.must}.`)
      await storeOn(db).insert(entered, clock.now())
      return entered.credential
    },
  )

  app.get(
    '/v2/provider-credentials',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List credentials, newest first',
        description: `Of those that are revoked, the ${REVOKED_MAX} that were entered last.`,
        response: { 200: listOf(Credential) },
      },
    },
    async ({ caller, db }, reply) => sendList(reply, storeOn(db).list(caller.project_id), Credential),
  )

  app.get(
    '/v2/provider-credentials/:credential_id',
    {
      config: watch,
      schema: { tags, summary: 'Retrieve a credential', params: Params, response: { 200: Credential } },
    },
    async ({ caller, params: { credential_id: id }, db }) =>
      found(await storeOn(db).find(caller.project_id, id), WHAT, id),
  )

  app.delete(
    '/v2/provider-credentials/:credential_id',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Revoke a credential',
        description: 'The secret is deleted at once; the credential stays in the list.',
        params: Params,
        response: { 200: RevokedCredential },
      },
    },
    async ({ caller, params: { credential_id: id }, db }) => {
      found((await storeOn(db).revoke(caller.project_id, id)) || undefined, WHAT, id)
      return { id, object: 'provider_credential.revoked' as const, revoked: true as const }
    },
  )

  app.post(
    '/v2/provider-credentials/:credential_id/verify',
    {
      // The provider is asked before anything is written, and no transaction waits for it.
      config: { ...manage, idempotency: 'outside' },
      schema: {
        tags,
        summary: 'Ask the provider whether it accepts a credential',
        description:
          'Sets `status` to `active` or `refused`, by what the provider says at the address that calls go to.',
        params: Params,
        response: { 200: Credential },
      },
    },
    async ({ caller: { project_id }, params: { credential_id: id }, db }) => {
      const credentials = storeOn(db)
      const credential = found(await credentials.find(project_id, id), WHAT, id)
      const secret = await credentials.secretOf(project_id, id)
      if (secret === undefined) throw new Refusal('invalid_request', `The ${WHAT} '${id}' is revoked.`)
      const verdict = await verify(credential, secret)
      return found(await credentials.recordVerdict(project_id, id, verdict, clock.now()), WHAT, id)
    },
  )
}
