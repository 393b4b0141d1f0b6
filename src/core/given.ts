// A field of foreign JSON that is null says as little as one that is not there.

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null
