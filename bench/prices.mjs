// The prices that benches reckon by: Claude Opus 4.5 with a five-minute cache, in dollars per million tokens.

export const PRICES = { unit: "dollars", input: 5, read: 0.5, write: 6.25, ttlSeconds: 300 };
