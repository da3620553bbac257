// The messages of the session benches: code, English and Chinese, about 100 characters.

export const text = (n) =>
  `Message ${n}: please look at src/module_${n % 97}.rs, 然后修复第 ${n} 个错误 and run the tests again.`;

export const message = (n) => ({ role: n % 2 === 0 ? "user" : "assistant", content: text(n) });

/** As the manager hands it to a store. */
export function row(id, n) {
  return { id, body: JSON.stringify({ ...message(n), timestamp: new Date(0).toISOString() }), text: text(n) };
}
