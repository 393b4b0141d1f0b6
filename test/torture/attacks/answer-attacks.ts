// Attacks by what the attacker's own cluster answers: large, absurd or without end.
import { type Arms, type Attack, CHAT, chat, newCluster, newKey, paced } from './attack.ts'

const toCluster = (arms: Arms, model: string, more: object = {}, key = arms.key) =>
  arms.ask({ method: 'POST', path: CHAT, key, body: chat(arms, { model, ...more }) })

const giantAnswer: Attack = {
  does: 'Its cluster answers `{"choices":[[],[],…]}` of 8 and 63 MB: whole, as one event, and as an error.',
  guard: 'R77: at most 16 MiB, 1 MiB an event, 250,000 objects, arrays and members',
  async run(arms) {
    const models = ['giant-8', 'giant-event', 'giant-error', 'giant-63']
    await newCluster(arms, models)
    await paced(
      arms,
      1,
      async (n) => {
        const model = models[n % models.length] as string
        await toCluster(arms, model, { stream: model === 'giant-event' })
      },
      2,
    )
  },
}

const absurdCounts: Attack = {
  does: 'Its cluster says that calls took 2^53−1 tokens, which no sum of two can hold.',
  guard: 'R77, R78: such counts are not used, and a project’s events hold up nobody else’s',
  async run(arms) {
    await newCluster(arms, ['absurd'])
    await paced(arms, 60, async () => toCluster(arms, 'absurd', {}, (await newKey(arms)).key)) // one has its rate used up
  },
}

const interimFlood: Attack = {
  does: 'Its cluster sends interim answers (1xx) by the hundred thousand before the real one.',
  guard: 'R77: their number and bytes are bounded',
  async run(arms) {
    await newCluster(arms, ['interim'])
    await paced(arms, 2, () => toCluster(arms, 'interim'), 4)
  },
}

const answerHeaders: Attack = {
  does: 'Its cluster answers with a head of many megabytes.',
  guard: 'R77: a head has at most 32 KB',
  async run(arms) {
    await newCluster(arms, ['header-flood'])
    await paced(arms, 2, () => toCluster(arms, 'header-flood'), 4)
  },
}

export const ANSWER_ATTACKS = {
  'giant-answer': giantAnswer,
  'absurd-counts': absurdCounts,
  'interim-flood': interimFlood,
  'answer-headers': answerHeaders,
}
