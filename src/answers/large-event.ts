// What an event tells that is too large to be parsed while everybody waits (R77): the same fields as of any other, as
// far as they are small themselves.
import { BUDGETS, toldBounds } from '../core/foreign.ts'
import { Outline } from '../core/json-outline.ts'
import { surveyInSteps } from '../core/json-survey.ts'
import { atOnce } from '../core/turns.ts'
import { UpstreamError } from '../providers/provider.ts'

type Fields = Record<string, unknown>

const FIELDS = new Set(['type', 'object', 'error', 'usage', 'choices', 'response', 'item', 'message', 'code'])

/** As if it had been parsed, without what nobody looks at. An error that is too large to be told is an empty one. */
export function readLargeEvent(json: Buffer): Fields {
  const outline = outlineOf(json)
  const fields = smallFields(outline)
  const choices = outline.list('choices')
  if (choices !== 'none') fields.choices = choices === 'empty' ? [] : [{}]
  for (const name of ['response', 'item']) {
    const within = outline.objectAt(name)
    if (within && fields[name] === undefined) fields[name] = smallFields(outlineOf(within))
  }
  return fields
}

function smallFields(outline: Outline): Fields {
  const fields: Fields = {}
  for (const name of FIELDS) {
    const value = outline.value(name)
    if (value !== undefined) fields[name] = value
  }
  if (fields.error === undefined && outline.isSomething('error')) fields.error = {}
  return fields
}

function outlineOf(json: Buffer): Outline {
  const outline = new Outline(json, FIELDS)
  const surveyed = atOnce(surveyInSteps(BUDGETS.event, json, outline))
  if (surveyed === 'beyond') throw new UpstreamError('too_many_parts', new Error(toldBounds(BUDGETS.event)))
  return outline
}
