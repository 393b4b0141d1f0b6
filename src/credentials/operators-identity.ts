// Who the operator's server is, where no keys are given: what its platform lends it for a while (0349). It says where
// to ask, and with which files; only settings of the operator's are ever read as this.
export type OperatorsIdentity =
  /** AWS: a token of the cluster for keys of a role. */
  | { kind: 'web_identity'; role_arn: string; token_file: string; session_name: string; sts_url: string }
  /** AWS: ECS tasks, and EKS Pod Identity. */
  | { kind: 'container'; url: string; token?: string; token_file?: string }
  /** AWS: the metadata service of a machine (IMDSv2). */
  | { kind: 'instance'; url: string }
  /** Microsoft Entra ID: a secret of an application, or a token of the cluster in its place. */
  | EntraIdentity

export interface EntraIdentity {
  kind: 'entra'
  tenant_id: string
  client_id: string
  client_secret?: string
  token_file?: string
  authority: string
  scope: string
}

const MARK = '{"identity":'

/** One text, as all that a provider is entered with. */
export const identityText = (identity: OperatorsIdentity) => JSON.stringify({ identity })

/** Undefined where it is a key, or keys. Never asked of what a project entered: it would name places to fetch from. */
export const identityIn = (secret: string | undefined): OperatorsIdentity | undefined =>
  secret?.startsWith(MARK) ? (JSON.parse(secret).identity as OperatorsIdentity) : undefined

/** What of it is secret itself. */
export function partsOfIdentity(identity: OperatorsIdentity): readonly string[] {
  const { client_secret, token } = identity as { client_secret?: string; token?: string }
  return [client_secret, token].filter((one) => one !== undefined)
}
