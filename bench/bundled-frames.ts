// Which source a function of the built server came from. The build puts hundreds of files into a few, and names each in
// a comment before its code. Pure.
import type { CallFrame, CpuProfile } from './cpu-profile.ts'

const BUNDLE = /^(.*\/dist)\/cli\/[^/]+\.js$/
const SOURCE = /^\/\/ ((?:src|cli|node_modules)\/\S+?)\.([cm]?[jt]s)$/

/** The profile as if each source had been a file of its own. `read`: the text of a bundle. */
export function unbundled(profile: CpuProfile, read: (url: string) => string): CpuProfile {
  const sources = new Map<string, Source[]>()
  const frameOf = (frame: CallFrame): CallFrame => {
    const dist = BUNDLE.exec(frame.url)?.[1]
    if (dist === undefined) return frame
    const known = sources.get(frame.url) ?? sourcesIn(read(frame.url))
    sources.set(frame.url, known)
    const source = known.findLast(({ line }) => line <= frame.lineNumber)
    return source ? { ...frame, url: `${dist}/${source.path}.js` } : frame
  }
  return { ...profile, nodes: profile.nodes.map((node) => ({ ...node, callFrame: frameOf(node.callFrame) })) }
}

interface Source {
  line: number
  path: string
}

const sourcesIn = (text: string): Source[] =>
  text.split('\n').flatMap((code, line) => {
    const path = SOURCE.exec(code)?.[1]
    return path === undefined ? [] : [{ line, path }]
  })
