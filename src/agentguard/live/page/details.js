// One call, in a line and opened up: the sum behind its verdict, what it belongs to, and the call itself where the engine keeps it.
// It is asked for when somebody opens it, so that a call's content is sent to nobody who has not.

import { h, ids, labelTag, name, nats, reasons, share, time, verdictTag } from "./elements.js";
import * as server from "./server.js";

const ROUNDING = 0.005; // nats of a remainder that are not worth a row
const COLUMNS = ["Signal", "Nats", "Sum", "P so far", "What it found"];

const logOdds = (p) => Math.log(p) - Math.log1p(-p);
const probability = (x) => 1 / (1 + Math.exp(-x));
const sum = (x) => (Number.isFinite(x) ? nats(x) : x > 0 ? "∞" : "−∞");

function row(cells) {
  const made = cells.map((cell, k) => {
    const attributes = { "data-label": COLUMNS[k], class: k > 0 && k < 4 ? "n" : null };
    return k === 0 ? h("th", { scope: "row", class: "head" }, cell) : h("td", attributes, cell);
  });
  return h("tr", {}, ...made);
}

function sumOf(verdict, title) {
  let running = logOdds(verdict.prior);
  const rows = [row(["prior", "", sum(running), share(verdict.prior), ""])];
  for (const signal of verdict.signals) {
    running += signal.nats;
    const called = `${signal.name}${signal.declared ? " (declared)" : ""}`;
    const made = row([called, nats(signal.nats), sum(running), share(probability(running)), signal.said === "" ? "" : name(signal.said)]);
    made.className = signal.fired ? "fired" : "";
    rows.push(made);
  }
  const total = logOdds(verdict.posterior);
  if (Number.isFinite(total) && Math.abs(total - running) > ROUNDING) {
    rows.push(row(["bound on the posterior", nats(total - running), sum(total), share(verdict.posterior), ""]));
  }
  rows.push(row([h("strong", {}, "posterior"), "", sum(total), h("strong", {}, share(verdict.posterior)), ""]));
  const head = h("tr", {}, ...COLUMNS.map((said, k) => h("th", { scope: "col", class: k > 0 && k < 4 ? "n" : null }, said)));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title },
    h("table", { class: "stacked" }, h("thead", {}, head), h("tbody", {}, ...rows)));
}

function facts({ verdict, change }) {
  const found = [
    ["call", verdict.call_id === null ? null : name(verdict.call_id)],
    ["session", verdict.session_id === null ? null : name(verdict.session_id)],
    ["judged", time(verdict.at)],
    ["looks like", change === null ? null : h("span", {}, name(change.what), ` (${change.state}, since `, time(change.opened), ")")],
    ["asked before", verdict.asked === 0 ? null : `${verdict.asked.toLocaleString("en")} times, with this very result`],
    ["false alarms", verdict.false_block_p === null ? null
      : `${(100 * verdict.false_block_p).toPrecision(2)}% of this tool's genuine calls score at least as high`],
    ["label", verdict.label === null ? "none yet" : labelTag(verdict.label)],
  ].filter(([, said]) => said !== null);
  return h("dl", { class: "facts" }, ...found.flatMap(([what, said]) => [h("dt", {}, what), h("dd", {}, said)]));
}

function kept(found) {
  if (found === null) {
    return [h("p", { class: "quiet" },
      "What the tool was asked and what it answered was not kept. ",
      h("code", {}, 'VerificationEngine(keep_reviewed="redacted")'),
      " keeps both, without personal data and credentials; until then, look the call up by its id in your own logs.")];
  }
  return [["What it was asked", found.args], ["What it answered", found.result]].flatMap(([said, text]) =>
    [h("h4", {}, said), text === null ? h("p", { class: "quiet" }, "Not kept.")
      : h("pre", { tabindex: "0", role: "group", "aria-label": said }, text)]);
}

async function fill(body, sequence) {
  body.replaceChildren(h("p", { class: "quiet" }, "Asking …"));
  try {
    const found = await server.call(sequence);
    body.replaceChildren(
      facts(found), h("h4", {}, "The sum behind the verdict"),
      h("p", { class: "quiet" }, "In nats of log-odds: above zero, fabricated is the more likely."),
      sumOf(found.verdict, `The sum behind verdict ${sequence}`), ...kept(found.kept));
  } catch (error) {
    const said = error instanceof server.Refused ? `${error.message}.` : "The server cannot be reached.";
    body.replaceChildren(h("p", { class: "problem" }, said));
  }
}

export function details(verdict) {
  const body = h("div", { class: "inner" });
  const made = h("details", {}, h("summary", {}, "Details", h("span", { class: "unseen" }, ` of call ${verdict.call_id ?? verdict.sequence}`)), body);
  made.addEventListener("toggle", () => made.open && fill(body, verdict.sequence));
  return made;
}

// A call in a list: its line, what was found, and its details.
export function entry(verdict, isNew = false) {
  return h("li", { "data-sequence": verdict.sequence, class: isNew ? "new" : null },
    h("div", { class: "line" },
      verdictTag(verdict), name(verdict.tool, { class: "tool" }), h("span", { class: "number" }, `P ${share(verdict.posterior)}`),
      time(verdict.at), ...ids(verdict), ...(verdict.label === null ? [] : [labelTag(verdict.label)])),
    verdict.verdict === "accept" && verdict.signals.every((signal) => !signal.fired) ? null : reasons(verdict),
    details(verdict));
}
