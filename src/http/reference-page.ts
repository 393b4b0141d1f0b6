// GET /docs: the OpenAPI document as one page of HTML. It can be read without a script, and loads nothing of others.
import { code, escaped, example, fields, prose, row, type Schema } from './reference-schema.ts'

interface Parameter {
  $ref?: string
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

type Content = Record<string, { schema: Schema } | undefined>

interface Answer {
  description: string
  content?: Content
  headers?: Record<string, unknown>
}

export interface Operation {
  summary?: string
  description?: string
  tags?: readonly string[]
  security?: readonly unknown[]
  parameters?: readonly Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, Answer>
}

export interface ReferenceDocument {
  info: { title: string; version: string; description?: string }
  tags?: readonly { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    headers?: Record<string, { description?: string }>
    parameters?: Record<string, Parameter>
  }
}

/** Where an operation stands: its address in the page, and what one types to call it. */
interface Entry {
  id: string
  method: string
  path: string
  tag: string
  operation: Operation
}

export function referencePage(document: ReferenceDocument): string {
  const { info } = document
  const sections = byTag(document)
  const navigation = sections.map(([tag, entries]) => navigationOf(tag, entries)).join('')
  const content = sections.map(([tag, entries]) => sectionOf(tag, entries, document)).join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(info.title)}: reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/reference.css">
<script type="module" src="/docs/reference-filter.js"></script>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<nav aria-label="Operations">
<p class="brand">${escaped(info.title)} <span>${escaped(info.version)}</span></p>
<label class="filter" hidden>Filter
<input type="search" autocomplete="off" placeholder="path or words, or press /"></label>
<p class="none" role="status" hidden>Nothing has these words.</p>
${navigation}
<section><h2>Everywhere</h2>
<ul><li><a href="#errors">Errors</a></li><li><a href="#headers">Headers</a></li></ul></section>
</nav>
<main id="content">
<header><h1>${escaped(info.title)}</h1>
${paragraphs(info.description)}
<p><a href="/openapi.json">openapi.json</a> is this page for programs.
<a href="/console">The console</a> has a playground.</p>
</header>
${content}
${errorsOf(document)}
${headersOf(document)}
</main>
</body>
</html>
`
}

/** In the order of the document's tags; what has another one comes after them. */
function byTag({ tags = [], paths }: ReferenceDocument): [string, Entry[]][] {
  const sections = new Map<string, Entry[]>(tags.map(({ name }) => [name, []]))
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? 'Others'
      const id = `${method}${path}`.replace(/[^a-z0-9]+/gi, '-').replace(/-$/, '')
      const entry = { id, method: method.toUpperCase(), path, tag, operation }
      sections.set(tag, [...(sections.get(tag) ?? []), entry])
    }
  return [...sections].filter(([, entries]) => entries.length > 0)
}

const badge = (method: string) => `<span class="method ${method.toLowerCase()}">${method}</span>`

const paragraphs = (text = '') =>
  text
    .split(/\n{2,}/)
    .filter((part) => part !== '')
    .map((part) => `<p>${prose(part)}</p>`)
    .join('')

function navigationOf(tag: string, entries: readonly Entry[]): string {
  const links = entries.map(({ id, method, path, operation }) => {
    const title = escaped(operation.summary ?? path)
    return `<li data-for="${id}"><a href="#${id}" title="${method} ${escaped(path)}">${title}</a></li>`
  })
  return `<section><h2>${escaped(tag)}</h2><ul>${links.join('')}</ul></section>`
}

function sectionOf(tag: string, entries: readonly Entry[], document: ReferenceDocument): string {
  const articles = entries.map((entry) => articleOf(entry, document))
  return `<section class="tag"><h2>${escaped(tag)}</h2>${articles.join('\n')}</section>`
}

function articleOf(entry: Entry, document: ReferenceDocument): string {
  const { id, method, path, operation } = entry
  const parameters = (operation.parameters ?? []).map((one) => resolved(one, document))
  const body = operation.requestBody?.content['application/json']?.schema
  return `<article id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title"><a href="#${id}">${escaped(operation.summary ?? path)}</a></h3>
<p class="call">${badge(method)} ${code(path)}${isOpen(operation) ? ' <span class="open">needs no key</span>' : ''}</p>
${paragraphs(operation.description)}
<pre tabindex="0"><code>${escaped(curl(entry, body))}</code></pre>
${['path', 'query', 'header'].map((place) => parametersOf(place, parameters)).join('')}
${body ? `<h4>Body</h4>${fields(body, 'request')}` : ''}
${answersOf(operation)}
</article>`
}

const isOpen = ({ security }: Operation) => security?.length === 0

function resolved(parameter: Parameter, { components }: ReferenceDocument): Parameter {
  const name = parameter.$ref?.split('/').at(-1)
  return (name !== undefined && components.parameters?.[name]) || parameter
}

const PLACES: Record<string, string> = { path: 'In the path', query: 'In the query', header: 'Headers' }

function parametersOf(place: string, parameters: readonly Parameter[]): string {
  const here = parameters.filter((one) => one.in === place)
  if (here.length === 0) return ''
  const rows = here.map(({ name, required, description, schema }) =>
    row(name, description === undefined ? schema : { ...schema, description }, {
      required: required ?? false,
      side: 'request',
      depth: 0,
    }),
  )
  return `<h4>${PLACES[place]}</h4><ul class="fields">${rows.join('')}</ul>`
}

/** Refusals are alike everywhere, and stand once at the end of the page. */
function answersOf({ responses }: Operation): string {
  return Object.entries(responses)
    .filter(([status]) => /^2/.test(status))
    .map(([status, { description, content = {}, headers = {} }]) => {
      const forms = Object.entries(content).map(
        ([type, form]) => `<p>${code(type)}</p>${form ? fields(form.schema, 'answer') : ''}`,
      )
      const names = Object.keys(headers).map((name) => `<a href="#header-${escaped(name)}">${code(name)}</a>`)
      const told = description === 'Default Response' ? '' : `<p>${prose(description)}</p>`
      return `<details class="answer"><summary>Answer ${escaped(status)}</summary>${told}${forms.join('')}
<p class="headers">Headers: ${names.join(' ')}</p></details>`
    })
    .join('')
}

function curl({ method, path, operation }: Entry, body: Schema | undefined): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}"$SWITCHYARD_URL${path}"`]
  if (!isOpen(operation)) lines.push('-H "Authorization: Bearer $SWITCHYARD_KEY"')
  if (body) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(example(body))}'`)
  return lines.join(' \\\n  ')
}

function errorsOf({ paths }: ReferenceDocument): string {
  const refusals = Object.values(paths).flatMap((operations) => Object.values(operations))
  const schema = refusals.map(({ responses }) => responses['4XX']?.content?.['application/json']?.schema)[0]
  return `<section class="tag" id="errors"><h2>Errors</h2>
<p>Every answer that is not 2xx, of every operation, has this shape. Branch on <code>type</code>.</p>
${schema ? fields(schema, 'answer') : ''}</section>`
}

function headersOf({ components }: ReferenceDocument): string {
  const rows = Object.entries(components.headers ?? {}).map(
    ([name, { description = '' }]) =>
      `<li id="header-${escaped(name)}"><p>${code(name)} <span class="said">${prose(description)}</span></p></li>`,
  )
  return `<section class="tag" id="headers"><h2>Headers</h2><ul class="fields">${rows.join('')}</ul></section>`
}
