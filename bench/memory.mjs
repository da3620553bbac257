// `node --expose-gc bench/memory.mjs [calls]`: resident memory over a million calls of the hook, after warm-up.

import { residentGrowth } from "../__test__/support/memory.mjs";

const calls = Number(process.argv[2] ?? 1_000_000);
const { before, after, growth } = await residentGrowth({ calls, warmUp: Math.min(50_000, calls) });
const mb = (value) => `${value.toFixed(1)} MB`;
console.log(`${calls} calls: ${mb(before)} after warm-up, ${mb(after)} at the end, growth ${mb(growth)}`);
