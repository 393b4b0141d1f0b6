// What a restore would leave behind on PostgreSQL: pg_restore drops what is in the backup, and nothing else.
import { type Db, sql } from '../storage/db.ts'
import { OperationError } from './operate.ts'

const NAMED_MAX = 10

/** As pg_restore lists it, such as TABLE or FUNCTION. */
export interface Piece {
  kind: string
  name: string
}

/**
 * What of the schema is ours to drop. Partitions go with their table, as indexes and triggers do; what an extension
 * made is the extension's.
 */
export function piecesOf(db: Db, schema: string): Promise<Piece[]> {
  return db.rows<Piece>(sql`
    SELECT name, kind FROM (
      SELECT tableoid AS catalog, oid, relname AS name, relowner AS owner, relnamespace AS namespace,
        CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind
      FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition
      UNION ALL
      SELECT tableoid, oid, proname, proowner, pronamespace, 'FUNCTION' FROM pg_proc WHERE prokind = 'f'
    ) piece
    WHERE namespace = (SELECT oid FROM pg_namespace WHERE nspname = ${schema}) AND pg_has_role(owner, 'USAGE')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = catalog AND objid = piece.oid AND deptype = 'e')
    ORDER BY kind DESC, name`)
}

/**
 * A table that a newer version added holds on to those it refers to, so that they cannot be dropped; one that refers
 * to nothing stays, and the next upgrade stops at it. `contents`: what pg_restore lists of the file.
 */
export function assertNothingLeft(pieces: readonly Piece[], contents: string, schema: string, file: string): void {
  const left = pieces.filter(({ kind, name }) => {
    const end = kind === 'FUNCTION' ? '(' : ' '
    return !contents.includes(` ${kind} ${schema} ${name}${end}`)
  })
  if (left.length === 0) return
  const named = left.slice(0, NAMED_MAX).map(({ kind, name }) => `${kind.toLowerCase()} ${name}`)
  if (left.length > NAMED_MAX) named.push(`${left.length - NAMED_MAX} more`)
  throw new OperationError(
    `The schema '${schema}' has what ${file} has not: ${named.join(', ')}. It would stay, in the way of this restore ` +
      `or of the next upgrade. Nothing was changed. Move the schema aside first (ALTER SCHEMA "${schema}" RENAME TO ` +
      `before_restore; CREATE SCHEMA "${schema}";), or restore into an empty database.`,
  )
}
