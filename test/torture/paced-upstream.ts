// An upstream as a program that does the same to every call: what it was told.
import { type Behaviour, startUpstream } from '../support/upstream.ts'
import { readyHere, toldHere } from './told-here.ts'

const upstream = await startUpstream(toldHere<Behaviour>())
readyHere({ base_url: upstream.base_url })
