// A number that somebody typed. The service judges its bounds; that it is a number at all is judged here.
import { ApiError } from '../api/api-client.ts'

/** Undefined where nothing was typed. Thousands may be set apart. */
export function typedNumber(field: string, text: string): number | undefined {
  const digits = text.trim().replaceAll(',', '')
  if (digits === '') return undefined
  if (/^\d+(\.\d+)?$/.test(digits)) return Number(digits)
  throw new ApiError(0, { type: 'invalid_request_error', message: `'${field}' must be a number.` })
}
