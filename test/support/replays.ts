// Calls that are recorded, for suites of replay runs.
import type { Compared } from '../../src/replays/replay-comparison.ts'
import { noGateway } from '../../src/start/gateway-settings.ts'
import type { TestProject } from './service.ts'

/** Without any provider, and the operator lets projects record their calls. */
export function recordingSettings() {
  const settings = noGateway()
  return { ...settings, gateway: { ...settings.gateway, full_fidelity: true } }
}

const recording = new WeakSet<object>()

/** Makes a call, and has it recorded; its trace id. */
export async function record(project: Pick<TestProject, 'send'>, endpoint: string, body: object): Promise<string> {
  if (!recording.has(project)) await project.send('POST', '/v2/project/recordings', { body: { enabled: true } })
  recording.add(project)
  const { status, headers, ...told } = await project.send('POST', endpoint, { body })
  if (status !== 200) throw new Error(JSON.stringify(told.body))
  return headers['agent-trace-id'] as string
}

/** An item whose answer is as it was recorded, but for what is said. */
export function noDifference(arm: Compared['arm'], { text = true, charged_micros = 0 } = {}): Compared {
  const figures = { provider: 'p', model: 'm', input_tokens: 1, cached_tokens: 0, output_tokens: 1, duration_ms: 5 }
  const recorded = { ...figures, charged_micros: 0, ttft_ms: null }
  return {
    arm,
    recorded,
    result: {
      ...{ ...recorded, charged_micros, trace_id: 'trc_1', finish_reason: null, recorded_finish_reason: null },
      same: { text, json: null, tool_names: null, tool_arguments: null, finish_reason: true },
    },
  }
}
