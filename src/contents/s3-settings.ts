// Which object storage large contents lie in, as switchyard.yaml names it.
import { type Static, Type } from 'typebox'

export const S3Shape = Type.Object(
  {
    endpoint: Type.String({ minLength: 1, maxLength: 2_048 }),
    bucket: Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' }),
    region: Type.String({ minLength: 1, maxLength: 64, default: 'us-east-1' }),
    prefix: Type.String({ pattern: '^[a-zA-Z0-9/_.-]{0,256}$', default: 'artifacts/' }),
    access_key_id: Type.String({ minLength: 1, maxLength: 256 }),
    secret_access_key: Type.String({ minLength: 1, maxLength: 256 }),
  },
  { additionalProperties: false },
)
export type S3Settings = Static<typeof S3Shape>
