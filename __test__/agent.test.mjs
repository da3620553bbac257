// Runs the agent suite in every pi version.
import { agentSuite } from "./support/agent-suite.mjs";
import { forEachPi } from "./support/each-pi.mjs";

await forEachPi(agentSuite);
