// Whose a leaked secret is, without sending it: hashed here, asked by the hash (decision 0281).
import { type ApiKey, keysOfSecret } from '../api/key-calls.ts'

/**
 * A key's secret in whatever was pasted: alone, in a line of a log, in a configuration. Keys that an operator chose
 * have other signs than letters and digits, and those of another gateway (0333) begin otherwise.
 */
export const secretIn = (text: string): string | undefined =>
  (/^(svc_live_|sk-)[^\s"'`,;]{16,}$/.exec(text.trim()) ?? /(svc_live_|\bsk-)[\w-]{16,}/.exec(text))?.[0]

/** Browsers hash on secure pages only: over HTTPS, or on this machine. */
export const canHash = () => globalThis.isSecureContext === true

/** Undefined where no key of the project has it, or no longer. */
export async function keyWithSecret(secret: string, signal?: AbortSignal): Promise<ApiKey | undefined> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)))
  const sha256 = base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return (await keysOfSecret(sha256, signal))[0]
}
