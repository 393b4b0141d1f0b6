// The tools of Messages as functions of chat (R81).
import { cannotSay, isObject, type Json, wrong } from './chat-blocks.ts'
import { TOOL_FIELDS } from './chat-fields.ts'

export function chatTools(tools: unknown): Json[] | undefined {
  if (tools === undefined || tools === null) return undefined
  if (!Array.isArray(tools)) throw wrong('tools', 'be an array')
  return tools.length > 0 ? tools.map((tool, at) => chatTool(tool, `tools[${at}]`)) : undefined
}

function chatTool(tool: unknown, at: string): Json {
  if (!isObject(tool)) throw wrong(at, 'be an object')
  const { name, description, input_schema, strict, type = 'custom' } = tool
  if (type !== 'custom' && type !== null)
    throw cannotSay(`${at}.type`, `'${type}' is run by the upstream or known to its vendor's models alone`)
  if (typeof name !== 'string') throw wrong(`${at}.name`, 'be a string')
  for (const [field, value] of Object.entries(tool))
    if (isRefused(field, value)) throw cannotSay(`${at}.${field}`, 'chat has no such field')
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      parameters: input_schema ?? { type: 'object', properties: {} },
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

function isRefused(field: string, value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false
  if (field === 'allowed_callers' && Array.isArray(value) && value.every((one) => one === 'direct')) return false
  return (TOOL_FIELDS[field]?.fate ?? 'refused') === 'refused'
}

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' }

export function chatChoice(choice: unknown): Json {
  if (choice === undefined || choice === null) return {}
  const { type, name, disable_parallel_tool_use } = isObject(choice) ? choice : ({} as Json)
  const alone = disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}
  if (type === 'tool' && typeof name === 'string')
    return { tool_choice: { type: 'function', function: { name } }, ...alone }
  const translated = CHOICES[String(type)]
  if (!translated) throw wrong('tool_choice.type', "be 'auto', 'any', 'none' or 'tool' with a name")
  return { tool_choice: translated, ...alone }
}
