// Runs the agent suite in every pi version.
import { agentSuite } from "./support/agent-suite.mjs";
import { forEachPi } from "./support/on-node22.mjs";

await forEachPi(agentSuite, { file: import.meta.url, minPassed: 9 });
