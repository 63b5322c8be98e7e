// Lasting changes of tools, the open ones first, each with two buttons that say what it is. A decision shows on its
// button, and the other one takes it back. While somebody is at the list nothing in it changes its place.

import { h, name, time } from "./elements.js";
import * as server from "./server.js";

const ANSWERS = [["adopted", "Genuine"], ["fault", "Fault"]];
const WORDS = {
  open: "unreviewed",
  recovered: "over: ordinary calls came again",
  mode: "comes and goes: learned as a thing that this tool does",
  adopted: "learned, after so many calls like it",
  fault: "a fault",
};
const list = document.getElementById("changes-list");
const empty = document.getElementById("changes-empty");
const more = document.getElementById("changes-more");
const count = document.getElementById("changes-open");

let tell = () => {};
let complain = () => {};
let rows = []; // as the server told them last
let known = null; // ids of those that were there before, to tell of new ones
const items = new Map();

const isBusy = () => list.matches(":hover") || list.contains(document.activeElement);

function item(change) {
  const title = `change-${items.size}`;
  const made = {
    change,
    text: h("h3", { id: title }),
    facts: h("div", { class: "line quiet" }),
    buttons: ANSWERS.map(([, said]) => h("button", { type: "button", "aria-describedby": title }, said)),
  };
  made.element = h("li", { class: "card", "aria-labelledby": title },
    h("div", {}, made.text, made.facts), h("div", { class: "answers" }, ...made.buttons));
  ANSWERS.forEach(([state], k) => made.buttons[k].addEventListener("click", () => decide(made, state)));
  return made;
}

const calls = (change) =>
  `${change.calls.toLocaleString("en")} ${change.calls === 1 ? "call" : "calls"}` +
  (change.blocked > 0 ? `, ${change.blocked.toLocaleString("en")} blocked` : "");

const verdictOf = (change) =>
  change.reviewed ? `reviewed: ${change.state === "fault" ? "a fault" : "genuine"}` : WORDS[change.state];

function fill(made, change) {
  made.change = change;
  made.element.dataset.state = change.state;
  made.text.replaceChildren(name(change.tool), ": ", name(change.what));
  made.facts.replaceChildren(
    h("span", { class: `state ${change.state}` }, change.state),
    h("span", {}, "since ", time(change.since)), h("span", {}, calls(change)), h("span", {}, verdictOf(change)));
  made.buttons.forEach((button, k) =>
    button.setAttribute("aria-pressed", String(change.reviewed && change.state === ANSWERS[k][0])));
}

async function decide(made, state) {
  const { change, element } = made;
  if (element.getAttribute("aria-busy") === "true" || (change.reviewed && change.state === state)) return;
  element.setAttribute("aria-busy", "true");
  try {
    const now = await server.decide(change.id, state, change.decided);
    rows = rows.map((row) => (row.id === now.id ? now : row));
    fill(made, now);
    complain(null);
    tell(`${now.tool}: ${verdictOf(now)}`);
  } catch (error) {
    complain(error);
    if (error.status === 409 || error.status === 404) show(await server.changes().catch(() => ({ rows, more: 0, open: 0 })));
  } finally {
    element.removeAttribute("aria-busy");
  }
}

// Their order is that of the server, as soon as nobody is at the list.
function arrange() {
  const ids = new Set(rows.map((row) => row.id));
  for (const [id, made] of items) {
    if (!ids.has(id)) {
      made.element.remove();
      items.delete(id);
    }
  }
  rows.forEach((row, k) => {
    const { element } = items.get(row.id);
    if (list.children[k] !== element) list.insertBefore(element, list.children[k] ?? null);
  });
}

export function show(changes) {
  const fresh = changes.rows.filter((row) => row.state === "open" && known !== null && !known.has(row.id));
  known = new Set(changes.rows.map((row) => row.id));
  rows = changes.rows;
  for (const row of rows) {
    if (!items.has(row.id)) {
      items.set(row.id, item(row));
      if (isBusy()) list.append(items.get(row.id).element);
    }
    fill(items.get(row.id), row);
  }
  if (!isBusy()) arrange();
  empty.hidden = rows.length > 0;
  count.textContent = changes.open.toLocaleString("en");
  more.hidden = changes.more === 0;
  more.textContent = `and ${changes.more.toLocaleString("en")} more; "agentguard changes list --all" has them`;
  if (fresh.length > 0) tell(`A change: ${fresh[0].tool}: ${fresh[0].what}`);
}

export function begin(changes, on) {
  ({ tell, complain } = on);
  show(changes);
}

// When the pointer or the focus has left: nobody is at it any more, or somebody still is in the other way.
const left = () => setTimeout(() => isBusy() || arrange());
list.addEventListener("pointerleave", left);
list.addEventListener("focusout", left);
