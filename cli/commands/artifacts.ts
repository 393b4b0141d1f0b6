// `switchyard artifact`: §4.13 over HTTP.
import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { basename, extname } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Artifact, ArtifactKind } from '../../src/artifacts/artifact.ts'
import {
  existingFile,
  idOf,
  type Printing,
  print,
  service,
  wholeNumber,
  withExample,
  withJson,
} from '../command-line.ts'
import { card, table, when } from '../table.ts'

const KINDS: readonly ArtifactKind[] = ['text', 'image', 'document', 'tools']
const ID = 'begins art_'

export function addArtifact(program: Command): void {
  const artifact = program.command('artifact').description('content that prompts share, uploaded once')

  const uploading = withJson(artifact.command('upload'))
    .description('upload a file; the same bytes again return the artifact that exists')
    .argument('<file>', 'what to upload', existingFile)
    .addOption(new Option('--kind <kind>', 'what it is; without it, by the name of the file').choices(KINDS))
    .option('--name <name>', 'what people call it; without it, the name of the file')
    .option('--expires <seconds>', 'when it goes by itself, 3600 to 31536000', wholeNumber)
    .action(upload)
  withExample(
    uploading,
    'switchyard artifact upload handbook.md',
    'switchyard artifact upload tools.json --kind tools --expires 86400',
  )

  const listing = withJson(artifact.command('list'))
    .description('list artifacts, newest first')
    .option('--sha256 <digest>', 'only those of these bytes', digestIn)
    .action(list)
  withExample(listing, 'switchyard artifact list')

  const showing = withJson(artifact.command('show'))
    .description('show an artifact')
    .argument('<artifact>', ID, idOf('art'))
    .action(show)
  withExample(showing, 'switchyard artifact show art_1b2c3d4e5f6g7h8i9j0k')

  const deleting = withJson(artifact.command('delete'))
    .description('delete an artifact; what refers to it is refused from then on')
    .argument('<artifact>', ID, idOf('art'))
    .action(remove)
  withExample(deleting, 'switchyard artifact delete art_1b2c3d4e5f6g7h8i9j0k')
}

function digestIn(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('It must be 64 hexadecimal digits.')
  return text
}

const IMAGES = ['.png', '.jpg', '.jpeg', '.gif', '.webp']
const DOCUMENTS = ['.pdf', '.docx', '.pptx', '.xlsx']

function kindOf(file: string): ArtifactKind {
  const extension = extname(file).toLowerCase()
  if (IMAGES.includes(extension)) return 'image'
  return DOCUMENTS.includes(extension) ? 'document' : 'text'
}

type Uploading = Printing & { kind?: ArtifactKind; name?: string; expires?: number }

/** The digest goes along, so that what arrived is what was read here. */
async function upload(file: string, { kind = kindOf(file), name, expires, json }: Uploading): Promise<void> {
  const form = new FormData()
  form.set('kind', kind)
  form.set('sha256', await digestOf(file))
  if (name !== undefined) form.set('name', name)
  if (expires !== undefined) form.set('expires_after_seconds', String(expires))
  form.set('file', await openAsBlob(file), basename(file))
  const { body, text } = await service().postForm<Artifact>('/v2/artifacts', form)
  print(json ? text : describe(body))
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of createReadStream(file)) hash.update(part)
  return hash.digest('hex')
}

async function list({ sha256, json }: Printing & { sha256?: string }): Promise<void> {
  const query = sha256 === undefined ? '' : `?sha256=${sha256}`
  const { body, text } = await service().get<{ data: Artifact[] }>(`/v2/artifacts${query}`)
  if (json) return print(text)
  const rows = body.data.map((one) => [
    one.id,
    one.kind,
    one.name ?? '-',
    String(one.bytes),
    String(one.tokens_est),
    one.last_used_at === null ? '-' : when(one.last_used_at),
  ])
  print(table(['ID', 'KIND', 'NAME', 'BYTES', 'TOKENS', 'LAST USED'], rows))
}

async function show(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<Artifact>(`/v2/artifacts/${id}`)
  print(json ? text : describe(body))
}

async function remove(id: string, { json }: Printing): Promise<void> {
  const { text } = await service().delete(`/v2/artifacts/${id}`)
  print(json ? text : `Deleted ${id}.`)
}

const describe = (one: Artifact) =>
  card({
    Artifact: one.id,
    Kind: one.kind,
    Name: one.name ?? '-',
    Type: one.media_type,
    Bytes: String(one.bytes),
    SHA256: one.sha256,
    Tokens: `about ${one.tokens_est}`,
    Created: when(one.created_at),
    Expires: one.expires_at === null ? 'never' : when(one.expires_at),
    'Last used': one.last_used_at === null ? '-' : when(one.last_used_at),
  })
