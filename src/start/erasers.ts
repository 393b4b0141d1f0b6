// What purge jobs can erase, in the order in which they do. A further kind is an eraser of its room and a line here.
import { artifactEraser } from '../artifacts/artifact-eraser-store.ts'
import type { KeptArtifacts } from '../artifacts/kept-artifact-store.ts'
import { bundleEraser } from '../bundles/bundle-eraser-store.ts'
import type { BundleQuota } from '../bundles/bundle-routes.ts'
import { keptAnswerEraser } from '../idempotency/kept-answer-eraser-store.ts'
import type { KeptRecordings } from '../recordings/kept-recording-store.ts'
import { recordingEraser } from '../recordings/recording-eraser-store.ts'
import { refusedCallEraser } from '../refusals/refused-call-eraser-store.ts'
import type { OutputQuota } from '../replays/replay-item-store.ts'
import { replayOutputEraser } from '../replays/replay-output-eraser-store.ts'
import { responseEraser } from '../responses/response-eraser-store.ts'
import { prefixEraser } from '../reuse/prefix-eraser-store.ts'
import { sessionEraser, sessionEventEraser } from '../sessions/session-eraser-store.ts'
import type { Eraser } from '../storage/erasing.ts'
import { traceEraser } from '../usage/trace-eraser-store.ts'

interface Needs {
  artifacts: KeptArtifacts
  bundles: Pick<BundleQuota, 'giveBack'>
  recordings: KeptRecordings
  replay_outputs: Pick<OutputQuota, 'giveBack'>
}

/** Bundles before the artifacts that they are made of. */
export const erasers = ({ artifacts, bundles, recordings, replay_outputs }: Needs): readonly Eraser[] => [
  responseEraser,
  keptAnswerEraser,
  sessionEventEraser,
  sessionEraser,
  bundleEraser(bundles),
  artifactEraser({ artifacts, giveBackBundle: bundles.giveBack }),
  recordingEraser(recordings),
  replayOutputEraser(replay_outputs),
  refusedCallEraser,
  traceEraser,
  prefixEraser,
]
