// Identity providers, where there are any: what speaks to them is loaded when somebody first signs in with one.
import type { IssuerClient } from '../accounts/issuer.ts'
import type { IssuerNeeds } from '../issuers/issuer-client.ts'

export function openIssuers(needs: IssuerNeeds): IssuerClient {
  let opened: Promise<IssuerClient> | undefined
  const client = () => {
    opened ??= import('../issuers/issuer-client.ts').then(({ issuerClient }) => issuerClient(needs))
    return opened
  }
  return {
    authorizationUrl: async (...asked) => (await client()).authorizationUrl(...asked),
    identityOf: async (...asked) => (await client()).identityOf(...asked),
    signOutUrl: async (...asked) => (await client()).signOutUrl(...asked),
  }
}
