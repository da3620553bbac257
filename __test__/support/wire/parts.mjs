// What the checkers of several wire formats share. A rule is a function `(payload, unedited) -> subjects`: what it
// objects to, one string each, named so that the same objection to another payload of the session reads the same.
// `unedited` is the payload of the same request without the hook, for the rules that only memory can judge.

/** The values that occur again. */
export function repeated(values) {
  return values.filter((value, i) => values.indexOf(value) !== i);
}

/** Those of `wanted` that `given` lacks. */
export function missing(wanted, given) {
  const has = new Set(given);
  return wanted.filter((value) => !has.has(value));
}

export const isBlank = (text) => typeof text !== "string" || text.trim() === "";

/** A8: half a surrogate pair anywhere in the request makes it no JSON for the provider. */
export function surrogatesPaired(payload) {
  const broken = [];
  const open = [payload];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") {
      if (!value.isWellFormed()) broken.push("a lone surrogate");
    } else if (typeof value === "object" && value !== null) {
      for (const [key, part] of Object.entries(value)) open.push(key, part);
    }
  }
  return broken;
}

/** False where the provider could not read the arguments of a call. */
export function isJsonObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
