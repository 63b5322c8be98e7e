// Elements out of what the server tells. A string becomes text, whatever is in it: nothing here reads HTML.

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Names come from agents and tools. Isolated, a name in another direction of writing does not turn its neighbours round.
export const name = (text, attributes = {}) => h("bdi", attributes, text);

export const share = (p) =>
  (p > 0 && p < 0.0005) || (p < 1 && p > 0.9995) ? String(Number(p.toPrecision(4))) : p.toFixed(3);

export const nats = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);

export function time(seconds) {
  const at = new Date(seconds * 1000);
  if (Number.isNaN(at.getTime())) return h("span", {}, "at an unknown time");
  const isToday = at.toDateString() === new Date().toDateString();
  const said = isToday ? at.toLocaleTimeString() : at.toLocaleString();
  return h("time", { datetime: at.toISOString(), class: "number" }, said);
}

export const verdictTag = (verdict) => h("span", { class: `verdict ${verdict.verdict}` }, verdict.verdict);

export function labelTag(label) {
  const said = label.was_hallucination ? "fabricated" : "genuine";
  return h("span", { class: `label ${said}` }, `reviewed: ${said}`);
}

export function ids(verdict) {
  const parts = [];
  if (verdict.call_id !== null) parts.push(h("span", {}, "call ", name(verdict.call_id)));
  if (verdict.session_id !== null) parts.push(h("span", {}, "session ", name(verdict.session_id)));
  return parts;
}

// Why: what each signal that fired has found, in its own words; of records that have none, its name and its weight.
export function reasons(verdict) {
  const fired = verdict.signals.filter((signal) => signal.fired);
  if (fired.length === 0) {
    const said = verdict.verdict === "accept" ? "Accepted; one of a sample." : "No signal stands out: it is their sum.";
    return h("p", { class: "reasons quiet" }, said);
  }
  const items = fired.map((signal) => {
    const called = `${signal.name}${signal.declared ? " (declared)" : ""}`;
    return signal.said === ""
      ? h("li", {}, `${called} `, h("span", { class: "number" }, nats(signal.nats)))
      : h("li", {}, name(signal.said), " ", h("span", { class: "signal quiet" }, called));
  });
  return h("ul", { class: "reasons" }, ...items);
}
