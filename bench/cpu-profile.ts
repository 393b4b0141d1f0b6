// Where the time of a V8 CPU profile went: what ran, on whose account, and in which functions. Pure.

export interface CpuProfile {
  nodes: ProfileNode[]
  samples: number[]
  timeDeltas: number[]
}

export interface ProfileNode {
  id: number
  callFrame: CallFrame
  children?: number[]
}

export interface CallFrame {
  functionName: string
  url: string
  lineNumber: number
}

export interface Share {
  name: string
  /** Of the time in which the process was not idle. */
  share: number
}

export interface Attribution {
  /** Self time by what the code is: a room of ours, a library, a part of Node, the collector. */
  ran: Share[]
  /** All time below the nearest of our frames, by file. */
  account: Share[]
  functions: Share[]
}

const OURS = /\/dist\/(src|cli)\/(.+)\.js$/
const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//
const FASTIFY = /^(@?fastify(\/.*)?|find-my-way|avvio|fast-.*|ajv|reusify|toad-cache|secure-json-parse)$/
const PINO = /^(pino|sonic-boom|thread-stream|quick-format-unescaped|safe-stable-stringify)$/
const NODE_PARTS: [RegExp, string][] = [
  [/^node:(_http|http|internal\/http)/, 'node:http'],
  [
    /^node:(net|stream|events|internal\/(streams|stream_base_commons|js_stream|net|event))/,
    'node: sockets, streams, events',
  ],
  [/^node:(timers|internal\/(timers|process|async_hooks|promise|abort))/, 'node: timers, ticks, promises'],
  [/^node:(crypto|internal\/crypto)/, 'node:crypto'],
  [/^node:(buffer|internal\/buffer|string_decoder)/, 'node:buffer'],
]

export function attribute(profile: CpuProfile): Attribution {
  const stacks = stacksOf(profile)
  const [ran, account, functions] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()]
  const add = (to: Map<string, number>, name: string, time: number) => to.set(name, (to.get(name) ?? 0) + time)
  let total = 0
  for (const [at, id] of profile.samples.entries()) {
    const stack = stacks.get(id) ?? []
    const time = profile.timeDeltas[at] ?? 0
    const [leaf] = stack
    if (!leaf || leaf.functionName === '(idle)' || isProfiler(stack)) continue
    total += time
    const kind = kindOf(stack)
    add(ran, kind, time)
    add(account, ourFile(stack) ?? `(${kind})`, time)
    add(functions, nameOf(leaf, stack), time)
  }
  const shares = (of: Map<string, number>): Share[] =>
    [...of].map(([name, time]) => ({ name, share: time / (total || 1) })).sort((a, b) => b.share - a.share)
  return { ran: shares(ran), account: shares(account), functions: shares(functions) }
}

/** Starting and stopping the profiler takes long, and is no part of a request. */
const isProfiler = (stack: readonly CallFrame[]) => stack.some(({ url }) => url.startsWith('node:inspector'))

/** For each node its frames, innermost first. */
function stacksOf({ nodes }: CpuProfile): Map<number, CallFrame[]> {
  const parents = new Map<number, number>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node.id)
  return new Map(
    nodes.map((node) => {
      const frames: CallFrame[] = []
      for (let id: number | undefined = node.id; id !== undefined; id = parents.get(id)) {
        const frame = byId.get(id)?.callFrame
        if (frame && frame.functionName !== '(root)') frames.push(frame)
      }
      return [node.id, frames]
    }),
  )
}

/** What the innermost frame is; a native one counts as what called it, save SQLite's, which our own files call. */
function kindOf(stack: readonly CallFrame[]): string {
  const [leaf] = stack
  if (leaf?.functionName === '(garbage collector)') return 'garbage collection'
  if (leaf?.functionName === '(program)') return 'native: system calls, event loop'
  const at = stack.findIndex((frame) => frame.url !== '')
  const caller = stack[at]
  if (!caller) return 'native: system calls, event loop'
  if (at > 0 && OURS.test(caller.url)) return ofSqlite(caller)
  return kindOfUrl(caller.url)
}

/** Its functions have no names, and those that call them may be part of their own callers by now; these are not. */
const ofSqlite = ({ functionName }: CallFrame) =>
  /^(begin|commit|commitTogether)$/.test(functionName) ? 'SQLite: begin and commit' : 'SQLite: statements'

function kindOfUrl(url: string): string {
  const ours = OURS.exec(url)
  if (ours) return roomOf(ours[2] ?? '')
  const name = PACKAGE.exec(url)?.[1]
  if (name) {
    if (FASTIFY.test(name)) return 'fastify'
    if (PINO.test(name)) return 'pino'
    return name === '@photostructure/sqlite' ? 'SQLite: statements' : name
  }
  return NODE_PARTS.find(([pattern]) => pattern.test(url))?.[1] ?? (url.startsWith('node:') ? 'node: other' : url)
}

function roomOf(path: string): string {
  const [room = '', file] = path.split('/')
  if (file === undefined) return 'switchyard: app and main'
  return room === 'providers' ? 'switchyard: providers (upstream client)' : `switchyard: ${room}`
}

function ourFile(stack: readonly CallFrame[]): string | undefined {
  for (const { url } of stack) {
    const ours = OURS.exec(url)
    if (ours) return `${ours[2]}.ts`
  }
  return undefined
}

/** A native function is told with who called it. */
function nameOf(leaf: CallFrame, stack: readonly CallFrame[]): string {
  const name = leaf.functionName || '(anonymous)'
  if (leaf.url !== '') return `${name} ${place(leaf)}`
  const caller = stack.find((frame) => frame.url !== '')
  return caller ? `${name} (native) from ${caller.functionName || '(anonymous)'} ${place(caller)}` : name
}

function place({ url, lineNumber }: CallFrame): string {
  const short = OURS.exec(url)?.[2] ?? (PACKAGE.exec(url)?.[1] ? url.replace(/^.*\/node_modules\//, '') : url)
  return `${short}:${lineNumber + 1}`
}
