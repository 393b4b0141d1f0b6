// 0361: which paths of the API are one resource of the Terraform provider, and what the OpenAPI document cannot say of
// its fields. Shapes, texts and bounds come from the document: see write-terraform.ts.

export interface ResourceTable {
  about: string
  /** Attributes that only stand in paths, and name what the resource belongs to. */
  parents?: Record<string, string>
  /** Of what is made: `POST` that makes it. Left out: it is settings of something that is there. */
  create?: string
  /** The second is asked for by a field of the first, and only `take` is read of it. */
  reads: { path: string; take?: readonly string[]; list?: boolean }[]
  updates?: Update[]
  delete?: string
  /** Of settings, where there is nothing to delete: those that were set become null again. */
  reset?: boolean
  /** Said when it is destroyed, where that is not the end of it. */
  left?: string
  /** What it is imported by, joined by `/`. */
  import: readonly string[]
  /** It is there no more where a field of it has this value. */
  gone?: Record<string, string>
  /** Where this field is there, somebody knows the thing: an apply that was cut did not leave it behind. */
  used?: string
  /** Names that Terraform keeps for itself, and what they are called instead. */
  renamed?: Record<string, string>
  /** Where an answer has a field, if not under its own name. `-`: nowhere. Of `…_micros`, millionths. */
  from?: Record<string, string>
  /** It is read only where another field has this value. */
  when?: Record<string, Record<string, string>>
  /** Shown in one answer alone, the one that makes it. */
  once?: Record<string, string>
  /** Told by the answer, and never sent. */
  shown?: readonly string[]
  /** Of those, what may be another after a change. */
  moving?: readonly string[]
  /** Yes or no, told by a field that has this value. */
  flags?: Record<string, { about: string; field: string; value: string; on: string; off: string }>
  /** Secrets that are not told back: write-only, so neither plan nor state holds them. */
  secrets?: readonly string[]
  /** They go in and may be told to others; state holds them, marked as sensitive. */
  sensitive?: readonly string[]
  /** What cannot be changed without a new one, and a new one is never wanted by accident. */
  fixed?: readonly string[]
  /** What a field is where nobody says it, as the server has it. */
  defaults?: Record<string, unknown>
  without?: readonly string[]
  /** Lists whose order counts. Others are sets. */
  ordered?: readonly string[]
}

export interface Update {
  call: string
  /** The change says which version it was made from. */
  version?: boolean
  /** A new thing is made, which this puts in force. `{answer.…}` is what was answered. */
  activate?: string
  /** The field of state that tells one making from the next. */
  makes?: string
}

export const RESOURCES: Record<string, ResourceTable> = {
  project: {
    about:
      'A project and its owner, by a key of the operator. Destroying it suspends it: what it spent stays on record.',
    create: 'POST /v2/operator/projects',
    reads: [{ path: '/v2/operator/projects/{id}' }],
    updates: [{ call: 'POST /v2/operator/projects/{id}/cap' }, { call: 'POST /v2/operator/projects/{id}/share' }],
    delete: 'POST /v2/operator/projects/{id}/suspend',
    left: 'The project was suspended, and keeps its name: projects are never deleted, since what they spent stays on record.',
    import: ['id'],
    from: { limit_usd: 'operator_cap_micros', verified: 'owner_verified' },
    once: { admin_key_id: 'api_key.id', admin_key: 'api_key.key' },
    sensitive: ['admin_key'],
    shown: ['id', 'created_at'],
    flags: {
      suspended: {
        about: 'Whether it is served nothing. Left out: as it is.',
        ...{ field: 'status', value: 'suspended' },
        ...{ on: '/v2/operator/projects/{id}/suspend', off: '/v2/operator/projects/{id}/resume' },
      },
    },
    fixed: ['name', 'owner_email', 'verified'],
  },
  project_quotas: {
    about:
      'How many of each thing a project may have, by a key of the operator. What is left out is as for every project.',
    parents: { project_id: 'The project: begins `prj_`.' },
    reads: [{ path: '/v2/operator/projects/{project_id}/quotas' }],
    updates: [{ call: 'POST /v2/operator/projects/{project_id}/quotas' }],
    reset: true,
    import: ['project_id'],
  },
  project_settings: {
    about: 'The settings of the project that the key belongs to. What is left out is left alone.',
    reads: [{ path: '/v2/project' }],
    updates: ['name', 'cap', 'regions', 'boundary', 'recordings'].map((part) => ({ call: `POST /v2/project/${part}` })),
    left: 'The settings of the project stay as they are: a cap or a boundary is not lifted by leaving Terraform.',
    import: ['id'],
    renamed: { recordings_enabled: 'enabled' },
    from: { limit_usd: 'cap_micros', recordings_enabled: 'recordings_enabled' },
    shown: ['id'],
  },
  subscription: {
    about: 'A subscription of a project, by a key of the operator. Destroying it cancels it.',
    parents: { project_id: 'The project: begins `prj_`.' },
    create: 'POST /v2/operator/projects/{project_id}/subscriptions',
    reads: [{ path: '/v2/operator/projects/{project_id}/subscriptions', list: true }],
    delete: 'POST /v2/operator/projects/{project_id}/subscriptions/{id}/cancel',
    import: ['project_id', 'id'],
    gone: { status: 'canceled' },
    renamed: { provider_id: 'provider' },
    shown: ['id', 'created_at'],
  },
  provider: {
    about: 'A provider of this server, by a key of the operator. Changes take effect without a restart.',
    create: 'POST /v2/operator/providers',
    reads: [{ path: '/v2/operator/providers/{id}' }],
    updates: [{ call: 'PATCH /v2/operator/providers/{id}', version: true }],
    delete: 'DELETE /v2/operator/providers/{id}',
    import: ['id'],
    from: { '*': 'entered.*', id: 'id' },
    shown: ['version'],
    moving: ['version'],
    flags: {
      draining: {
        about: 'Whether it takes no new calls. Left out: as it is.',
        ...{ field: 'status', value: 'draining' },
        ...{ on: '/v2/operator/providers/{id}/drain', off: '/v2/operator/providers/{id}/resume' },
      },
    },
    secrets: ['api_key', 'access_key_id', 'secret_access_key', 'session_token', 'service_account', 'client_secret'],
  },
  provider_credential: {
    about: 'A credential of the project’s own at a provider. It cannot be changed: a change replaces it.',
    create: 'POST /v2/provider-credentials',
    reads: [{ path: '/v2/provider-credentials/{id}' }],
    delete: 'DELETE /v2/provider-credentials/{id}',
    import: ['id'],
    gone: { status: 'revoked' },
    renamed: { provider_id: 'provider' },
    from: { aws: '-', service_account: '-' },
    shown: ['id', 'masked', 'created_at'],
    secrets: ['secret', 'aws.secret_access_key', 'aws.session_token', 'service_account.private_key'],
  },
  api_key: {
    about: 'An API key of the project. Destroying it revokes it.',
    create: 'POST /v2/api-keys',
    reads: [{ path: '/v2/api-keys/{id}' }],
    updates: [{ call: 'PATCH /v2/api-keys/{id}' }, { call: 'POST /v2/api-keys/{id}/budget' }],
    delete: 'DELETE /v2/api-keys/{id}',
    import: ['id'],
    gone: { status: 'revoked' },
    used: 'last_used_at',
    from: { limit_usd: 'budget_micros', 'window.limit_usd': 'limit_micros' },
    once: { key: 'key' },
    sensitive: ['key'],
    shown: ['id', 'masked', 'created_at'],
  },
  api_key_limits: {
    about: 'A key’s own rates. What is left out is as for every key.',
    parents: { key_id: 'The key: begins `key_`.' },
    reads: [{ path: '/v2/api-keys/{key_id}/limits' }],
    updates: [{ call: 'POST /v2/api-keys/{key_id}/limits' }],
    reset: true,
    import: ['key_id'],
    without: ['max_parallel_requests'],
  },
  alias: {
    about:
      'A name for a model, and the targets of the release that is active. New targets are a new release, activated.',
    create: 'POST /v2/aliases',
    reads: [
      { path: '/v2/aliases/{name}' },
      { path: '/v2/alias-releases/{current_release_id}', take: ['targets', 'version'] },
    ],
    updates: [
      {
        call: 'POST /v2/aliases/{name}/releases',
        ...{ activate: '/v2/alias-releases/{answer.id}/activate', makes: 'current_release_id' },
      },
      { call: 'POST /v2/aliases/{name}/boundary' },
    ],
    delete: 'DELETE /v2/aliases/{name}',
    import: ['name'],
    shown: ['id', 'current_release_id', 'version', 'created_at'],
    moving: ['current_release_id', 'version'],
    defaults: { 'targets.weight': 1 },
    ordered: ['targets'],
    without: ['replay_run_id'],
  },
  cluster: {
    about: 'A cluster of the project’s own (BYOC). It cannot be changed: a change replaces it.',
    create: 'POST /v2/byoc/clusters',
    reads: [{ path: '/v2/byoc/clusters/{id}' }],
    delete: 'DELETE /v2/byoc/clusters/{id}',
    import: ['id'],
    used: 'last_heartbeat_at',
    shown: ['id', 'created_at'],
  },
  tag_budget: {
    about: 'The most that calls with a tag may spend.',
    create: 'POST /v2/tag-budgets',
    reads: [{ path: '/v2/tag-budgets/{id}' }],
    updates: [{ call: 'PATCH /v2/tag-budgets/{id}' }],
    delete: 'DELETE /v2/tag-budgets/{id}',
    import: ['id'],
    from: { limit_usd: 'limit_micros' },
    shown: ['id', 'created_at'],
  },
  notification_channel: {
    about: 'Where the project is told of events: a webhook, Slack, or mail.',
    create: 'POST /v2/notification-channels',
    reads: [{ path: '/v2/notification-channels/{id}' }],
    updates: [{ call: 'PATCH /v2/notification-channels/{id}' }],
    delete: 'DELETE /v2/notification-channels/{id}',
    import: ['id'],
    from: { url: 'target', email: 'target' },
    when: { url: { kind: 'webhook' }, email: { kind: 'mail' } },
    once: { secret: 'secret' },
    sensitive: ['url', 'secret'],
    shown: ['id', 'created_at'],
  },
}
