// Reads one JSON value, and says what is wrong with it without quoting any of it.

/** The value of a JSON text, or one sentence that says why there is none. */
export function parsed(text, what) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const [, position] = /position (\d+)/.exec(error.message) ?? [];
    const isCut = /end of JSON|Unterminated/.test(error.message);
    const at = position === undefined || what === "file" ? "" : ` at column ${Number(position) + 1}`;
    const problem = isCut
      ? `The ${what} breaks off${at}, in the middle of a JSON value.`
      : `The ${what} is not valid JSON${at}.`;
    return { problem };
  }
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
