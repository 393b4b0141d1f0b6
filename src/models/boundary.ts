// R73: whether a model that the project's own clusters or credentials serve may go elsewhere.
import { type Static, Type } from 'typebox'

export const Boundary = Type.Enum(['own_first', 'own_only'], {
  description:
    '`own_first`: where own clusters and credentials cannot take a call, it goes elsewhere, as a failover. ' +
    '`own_only`: a model that they serve goes nowhere else.',
})
export type Boundary = Static<typeof Boundary>
