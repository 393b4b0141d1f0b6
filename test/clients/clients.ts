// How each client is started, and the tool of its own that it is to run.

export interface Where {
  model: string
  key: string
  origin: string
  /** An empty folder, which is its home. */
  home: string
  /** A Python that has the clients which are Python's. */
  python: string
}

export interface Client {
  name: string
  over: readonly ('messages' | 'chat')[]
  tool: { name: string; arguments: string }
  start(where: Where): { command: string; args: string[]; env: Record<string, string> }
  /** What prints its version. */
  version(python: string): { command: string; args: string[] }
}

const SHELL = JSON.stringify({ command: 'echo from-the-tool', description: 'says something' })
const WEATHER = { name: 'weather', arguments: '{"city":"Ulm"}' }
const BOTH = ['messages', 'chat'] as const

const anthropicEnv = ({ key, origin }: Where) => ({
  ANTHROPIC_BASE_URL: `${origin}/anthropic`,
  ANTHROPIC_API_KEY: key,
})

/** One that npx brings, unless a setting names where it is. */
const fromNpm = (name: string, at: string | undefined, args: string[]) =>
  at ? { command: at, args } : { command: 'npx', args: ['--yes', name, ...args] }
const claude = (args: string[]) => fromNpm('@anthropic-ai/claude-code', process.env.CLAUDE, args)
const codexCli = (args: string[]) => fromNpm('@openai/codex', process.env.CODEX, args)

const claudeCode: Client = {
  name: 'claude-code',
  over: BOTH,
  tool: { name: 'Bash', arguments: SHELL },
  start: (where) => ({
    ...claude(['-p', 'Run the tool.', '--allowedTools', 'Bash', '--model', where.model]),
    env: { ...anthropicEnv(where), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
  }),
  version: () => claude(['--version']),
}

const fromPyPI = (name: string, packaged: string, script: string): Client => ({
  name,
  over: BOTH,
  tool: WEATHER,
  start: (where) => ({
    command: where.python,
    args: ['-c', script],
    env: { ...anthropicEnv(where), MODEL: where.model },
  }),
  version: (python) => ({
    command: python,
    args: ['-c', `import importlib.metadata as m; print("${packaged}", m.version("${packaged}"))`],
  }),
})

const SDK = `
import os, anthropic
client = anthropic.Anthropic(max_retries=0)
tools = [{"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
turns = [{"role": "user", "content": "What is the weather?"}]
asked = dict(model=os.environ["MODEL"], max_tokens=200, tools=tools)
with client.messages.stream(messages=turns, **asked) as stream:
    first = stream.get_final_message()
use = next(block for block in first.content if block.type == "tool_use")
assert use.input == {"city": "Ulm"}, use
turns += [{"role": "assistant", "content": first.content},
          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}]}]
print(client.messages.create(messages=turns, **asked).content[0].text)
`

const LANGCHAIN = `
import os
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
@tool
def weather(city: str) -> str:
    "The weather of a city."
    return "sunny"
model = ChatAnthropic(model=os.environ["MODEL"], max_tokens=200).bind_tools([weather])
turns = [HumanMessage("What is the weather?")]
first = model.invoke(turns)
turns += [first] + [ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"]) for call in first.tool_calls]
print(model.invoke(turns).text)
`

const codex: Client = {
  name: 'codex',
  over: BOTH,
  tool: { name: 'exec_command', arguments: '{"cmd":"echo from-the-tool"}' },
  start: ({ model, key, origin }) => ({
    ...codexCli([
      ...['exec', '--skip-git-repo-check', '--model', model],
      ...['-c', 'model_provider="switchyard"', '-c', 'model_providers.switchyard.name="Switchyard"'],
      ...['-c', `model_providers.switchyard.base_url="${origin}/v1"`],
      ...['-c', 'model_providers.switchyard.env_key="SWITCHYARD_KEY"'],
      ...['-c', 'model_providers.switchyard.wire_api="responses"', 'Run the tool.'],
    ]),
    env: { SWITCHYARD_KEY: key },
  }),
  version: () => codexCli(['--version']),
}

export const CLIENTS: readonly Client[] = [
  claudeCode,
  fromPyPI('anthropic-python', 'anthropic', SDK),
  fromPyPI('langchain-anthropic', 'langchain-anthropic', LANGCHAIN),
  codex,
]
