// What each entry of the audit log says in words: who did it stands before, and `{}` is the thing that it was done to.
// What is not listed here is told as the endpoint that was called. Pure.

const KEYS = {
  'POST /v2/api-keys': 'created the key {}',
  'PATCH /v2/api-keys/{key_id}': 'edited the key {}',
  'DELETE /v2/api-keys/{key_id}': 'revoked the key {}',
  'POST /v2/api-keys/{key_id}/budget': 'set the spending limit of {}',
  'POST /v2/api-keys/{key_id}/limits': 'set the rate limits of {}',
  'POST /v2/api-keys/{key_id}/rotate': 'rotated the secret of {}',
  'POST /v2/api-keys/{key_id}/children': 'created the child key {}',
  'POST /v2/tag-budgets': 'set the budget {} for a tag',
  'PATCH /v2/tag-budgets/{tag_budget_id}': 'changed the budget {} of a tag',
  'DELETE /v2/tag-budgets/{tag_budget_id}': 'lifted the budget {} of a tag',
}

const PROJECT = {
  'POST /v2/project/name': 'renamed the project',
  'POST /v2/project/cap': 'set the spending cap of the project',
  'POST /v2/project/regions': 'set the regions that requests may go to',
  'POST /v2/project/boundary': 'set whether calls may leave own capacity',
  'POST /v2/project/recordings': 'turned recordings on or off',
  'POST /v2/project/second-factor': 'set whether people need a second step to sign in',
  'POST /v2/members/invitations': 'invited {}',
  'POST /v2/members/{person_id}/role': 'changed the role of {}',
  'DELETE /v2/members/{person_id}': 'removed {} from the project',
  'POST /v2/provider-credentials': 'entered the credential {}',
  'POST /v2/provider-credentials/{credential_id}/verify': 'verified the credential {}',
  'DELETE /v2/provider-credentials/{credential_id}': 'revoked the credential {}',
  'POST /v2/subscriptions': 'added the subscription {}',
  'POST /v2/subscriptions/{subscription_id}/cancel': 'canceled the subscription {}',
}

const ROUTING = {
  'POST /v2/byoc/clusters': 'registered the cluster {}',
  'DELETE /v2/byoc/clusters/{cluster_id}': 'deregistered the cluster {}',
  'POST /v2/aliases': 'created the alias {}',
  'DELETE /v2/aliases/{name}': 'deleted the alias {}',
  'POST /v2/aliases/{name}/boundary': 'set where calls of the alias {} may go',
  'POST /v2/aliases/{name}/releases': 'added the release {}',
  'POST /v2/alias-releases/{release_id}/activate': 'activated a release of the alias {}',
}

const JOBS = {
  'POST /v2/purge-jobs': 'planned the purge {}',
  'POST /v2/purge-jobs/{purge_job_id}/erase': 'began to erase what the purge {} names',
  'POST /v2/purge-jobs/{purge_job_id}/cancel': 'canceled the purge {}',
  'POST /v2/replay-runs': 'planned the replay {}',
  'POST /v2/replay-runs/{replay_run_id}/execute': 'executed the replay {}',
  'POST /v2/replay-runs/{replay_run_id}/pause': 'paused the replay {}',
  'POST /v2/replay-runs/{replay_run_id}/resume': 'resumed the replay {}',
  'POST /v2/replay-runs/{replay_run_id}/cancel': 'canceled the replay {}',
}

const CHANNELS = {
  'POST /v2/notification-channels': 'added the channel {}',
  'PATCH /v2/notification-channels/{channel_id}': 'edited the channel {}',
  'DELETE /v2/notification-channels/{channel_id}': 'deleted the channel {}',
  'POST /v2/notification-channels/{channel_id}/rotate-secret': 'rotated the secret of the channel {}',
  'POST /v2/notification-channels/{channel_id}/test': 'sent a test, {}',
  'POST /v2/notification-channels/{channel_id}/deliveries/{delivery_id}/redeliver': 'sent {} again',
}

const OPERATOR = {
  'POST /v2/operator/projects': 'created the project {}',
  'POST /v2/operator/projects/{project_id}/cap': 'set the operator’s cap of {}',
  'POST /v2/operator/projects/{project_id}/share': 'set the share of {}',
  'POST /v2/operator/projects/{project_id}/suspend': 'suspended {}',
  'POST /v2/operator/projects/{project_id}/resume': 'resumed {}',
  'POST /v2/operator/projects/{project_id}/quotas': 'set the quotas of {}',
  'POST /v2/operator/projects/{project_id}/subscriptions': 'added the subscription {}',
  'POST /v2/operator/projects/{project_id}/subscriptions/{subscription_id}/cancel': 'canceled the subscription {}',
  'POST /v2/operator/providers': 'added the provider {}',
  'PATCH /v2/operator/providers/{provider_id}': 'edited the provider {}',
  'DELETE /v2/operator/providers/{provider_id}': 'removed the provider {}',
  'POST /v2/operator/providers/{provider_id}/models': 'set the models of the provider {}',
  'POST /v2/operator/providers/{provider_id}/drain': 'drained the provider {}',
  'POST /v2/operator/providers/{provider_id}/resume': 'resumed the provider {}',
  'POST /v2/operator/providers/{provider_id}/restore': 'restored the provider {} as it was',
  'POST /v2/operator/providers/test': 'tested a provider before adding it',
  'POST /v2/operator/providers/{provider_id}/test': 'tested the provider {}',
  'switchyard operator project cap': 'set the operator’s cap of {} on the machine',
  'switchyard operator project share': 'set the share of {} on the machine',
  'switchyard operator project suspend': 'suspended {} on the machine',
  'switchyard operator project resume': 'resumed {} on the machine',
  'switchyard operator project quota': 'set the quotas of {} on the machine',
  'switchyard operator subscription create': 'added the subscription {} on the machine',
  'switchyard operator subscription cancel': 'canceled the subscription {} on the machine',
  'switchyard second-factor remove': 'removed the second step of {} on the machine',
  'switchyard project create': 'created the project {} on the machine',
  'switchyard key create': 'created the key {} on the machine',
  'switchyard owner-link': 'made a link that makes an owner of {}',
  'switchyard import': 'imported a set-up',
}

const ACCOUNTS = {
  'POST /auth/signup': 'signed up',
  'POST /auth/login': 'signed in',
  'GET /auth/oidc/{issuer_id}/callback': 'signed in by an identity provider',
  'link identity': 'linked their account to an identity provider',
  'role by claims: owner': 'became owner, as the identity provider says',
  'role by claims: member': 'became member, as the identity provider says',
  'role by claims: viewer': 'became viewer, as the identity provider says',
  'role by claims: none': 'left the project, as the identity provider says',
  'POST /auth/second-factor/confirm': 'set up a second step',
  'POST /auth/second-factor/remove': 'removed their second step',
  'POST /auth/verify-email': 'confirmed their address',
  'POST /auth/password-reset/confirm': 'chose a new password',
  'POST /auth/accept-invitation': 'accepted an invitation',
  'POST /auth/become-owner': 'became the owner, by a link of the operator’s',
}

export const SENTENCES: Readonly<Record<string, string>> = {
  ...KEYS,
  ...PROJECT,
  ...ROUTING,
  ...JOBS,
  ...CHANNELS,
  ...OPERATOR,
  ...ACCOUNTS,
}

export interface AuditSentence {
  /** Before and after the thing. */
  before: string
  after: string
  /** Undefined where the sentence says it all. */
  thing: string | undefined
}

/** Whatever is not known is told as it is. */
export function sentenceOf(action: string, target: string | undefined): AuditSentence {
  const words = SENTENCES[action]
  if (words === undefined) return { before: `called ${action}${target ? ' on ' : ''}`, after: '', thing: target }
  const [before = '', after] = words.split('{}')
  if (after === undefined) return { before, after: '', thing: undefined }
  return { before, after, thing: target ?? 'something' }
}

/** As a choice among others: `Created the key`. */
export function deedName(action: string): string {
  const words = (SENTENCES[action] ?? action).replace(/ ?\{\}/, '')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const PLACES: Readonly<Record<string, (id: string) => string>> = {
  key: (id) => `/keys/${id}`,
  byc: (id) => `/clusters/${id}`,
  nch: (id) => `/alerts/${id}`,
  rpl: (id) => `/replays/${id}`,
  als: () => '/routing',
  alr: () => '/routing',
  usr: () => '/settings/members',
  inv: () => '/settings/members',
  pcr: () => '/settings/credentials',
  sub: () => '/settings/subscriptions',
  tbg: () => '/settings/tags',
  prg: () => '/settings/purges',
}

/** Where a thing is shown, by how its id begins; undefined where it has no page. */
export const pageOfThing = (id: string) => PLACES[id.split('_')[0] ?? '']?.(id)
