// The frontier of the public recordings: what a policy costs against how much of what answers copy it keeps in view.

import { scatterPlot } from "../plot.mjs";

/** An SVG, of the rows of `bench:economy -- --public --uncompacted` and of `bench:needs`, joined by their policies. */
export function frontierPlot(economy, needs) {
  const copied = new Map(
    needs.filter(({ session }) => session === "all").map(({ policy, shares }) => [policy, shares.copied]),
  );
  const points = economy
    .filter(({ session, policy }) => session === "all" && copied.has(policy))
    .map(({ policy, dollarsWithRereads }) => ({
      label: policy,
      x: dollarsWithRereads,
      y: 100 * copied.get(policy),
      kind: "policy",
    }));
  return scatterPlot({
    title: "Dollars and copied text, public recordings",
    xLabel: "dollars, with what reading again after blind edits would cost",
    yLabel: "of the text that answers copy, in view, %",
    points,
  });
}
