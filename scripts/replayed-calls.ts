// The transcript of a replay: recorded calls, a plan, the run, the comparison, and a release with its evidence.
import { commandsOf } from './transcript-commands.ts'
import type { Section, TranscriptScene } from './transcript-scene.ts'

const CALLS = 20
const FROM = 'gpt-4o-mini'
const TO = 'reader'

export const REPLAYED_CALLS: Section = {
  title: 'From recorded calls to a release with evidence',
  says:
    `The project records its calls, and agents make ${CALLS} of them. Then: what would change at another model? The plan ` +
    'calls nobody. The control arm asks each call again as it was, so what it differs in differs by itself. Times are ' +
    'left out here: they differ from run to run.',
  async take({ live }: TranscriptScene) {
    const recording = await live.curl({ quiet: true, path: '/v2/project/recordings', body: { enabled: true } })
    const ask = { model: FROM, messages: [{ role: 'user', content: 'Where is my order?' }], max_tokens: 200 }
    for (let n = 0; n < CALLS; n++) await live.post('/v1/chat/completions', { ...ask, user: `customer ${n}` })
    await live.post('/v2/project/recordings', { enabled: false })
    const cli = commandsOf(live)
    const planned = await cli(`switchyard replay plan --of-model ${FROM} --sample ${CALLS} --model ${TO} --control`)
    const id = /\brpl_\w+/.exec(planned)?.[0] ?? ''
    return [
      recording.replace(/\{.*\n$/, '…\n'),
      planned,
      await cli(`switchyard replay run ${id} --max-cost 0.05`),
      await cli(`switchyard replay compare ${id} | grep -v _ms`),
      await cli(`switchyard alias create support --target openai=${FROM}`),
      await cli(`switchyard alias release support --target openai=${TO} --replay-run ${id}`),
    ].join('\n')
  },
}
