// Models that reason before they speak, by their names wherever they are served: o1, o3-mini, openai/gpt-5.4, ft:o4:…
const REASONING = /(?:^|[/:])(?:o[1-9]\d*|gpt-[5-9]|gpt-[1-9]\d)(?![a-z0-9])/i

export const isReasoningName = (model: string) => REASONING.test(model)
