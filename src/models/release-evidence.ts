// §9.4: what a replay run found, as a release shows it. It is kept with the release: runs are forgotten, releases are
// not.
import { type Static, Type } from 'typebox'
import { orNull, time } from '../core/shapes.ts'
import { Rate } from '../replays/intervals.ts'

export const ReleaseEvidence = Type.Object(
  {
    replay_run_id: Type.String({ description: 'Begins `rpl_`. The run itself is forgotten after 30 days.' }),
    finished_at: time(),
    compared: Type.Integer({ description: 'Calls that were asked again and answered.' }),
    control_compared: orNull(Type.Integer()),
    differences: Type.Array(Type.String(), { description: 'Measures that differ by more than the control arm does.' }),
    different_text: Rate,
    recorded_micros: Type.Integer({ description: 'What these calls cost when they were recorded.' }),
    charged_micros: Type.Integer({ description: 'And what they cost where the run asked them.' }),
  },
  { title: 'ReleaseEvidence' },
)
export type ReleaseEvidence = Static<typeof ReleaseEvidence>
