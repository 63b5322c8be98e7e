// Lasting changes of tools. One that nobody has reviewed is a card of the queue, however many calls look like it; those
// that are decided stand below, where a decision shows on its button and the other one takes it back. While somebody is
// at a list nothing in it changes its place.

import { answered, card, count, isBusy, remove, whenLeft } from "./cards.js";
import { entry } from "./details.js";
import { h, name, time } from "./elements.js";
import * as server from "./server.js";

const ANSWERS = [["adopted", "Genuine"], ["fault", "Fabricated"]];
const WORDS = {
  open: "unreviewed",
  followed: "followed by the guard: taken as genuine",
  recovered: "over: ordinary calls came again",
  mode: "comes and goes: learned as a thing that this tool does",
  adopted: "genuine: learned, and ordinary from then on",
  fault: "a fault",
};
const TAKEN = ["followed", "mode", "adopted"]; // by the guard as genuine, which a reviewer may undo
const NEWS = { open: "A change", followed: "A change was followed" };
const list = document.getElementById("changes-list");
const more = document.getElementById("changes-more");
const decidedList = document.getElementById("decided-list");
const decidedEmpty = document.getElementById("decided-empty");
const decidedMore = document.getElementById("decided-more");

let tell = () => {};
let complain = () => {};
let state = { rows: [], more: 0, waiting: 0 }; // as the server told it last
let known = null; // states of those that were there before, to tell of what is new
let made = 0;
const waiting = new Map();
const decided = new Map();

const calls = (change) =>
  `${change.calls.toLocaleString("en")} ${change.calls === 1 ? "call" : "calls"}` +
  (change.blocked > 0 ? `, ${change.blocked.toLocaleString("en")} blocked` : "");

const verdictOf = (change) =>
  change.reviewed ? `reviewed: ${change.state === "fault" ? "fabricated" : "genuine"}` : WORDS[change.state];

// A few of its calls, asked for when somebody unfolds them.
function callsOf(change) {
  const body = h("div", { class: "inner" });
  const unfolded = h("details", {},
    h("summary", {}, "Its latest calls", h("span", { class: "unseen" }, ` of change ${change.id}`)), body);
  unfolded.addEventListener("toggle", async (event) => {
    if (event.target !== unfolded || !unfolded.open) return;
    body.replaceChildren(h("p", { class: "quiet" }, "Asking …"));
    try {
      const found = await server.callsOf(change.id);
      body.replaceChildren(found.length > 0 ? h("ol", { class: "feed" }, ...found.map((verdict) => entry(verdict)))
        : h("p", { class: "quiet" }, "None of them is among the newest on record."));
    } catch (error) {
      const said = error instanceof server.Refused ? `${error.message}.` : "The server cannot be reached.";
      body.replaceChildren(h("p", { class: "problem" }, said));
    }
  });
  return unfolded;
}

function parts() {
  made += 1;
  const item = { title: `change-${made}`, facts: h("div", { class: "line quiet" }), why: h("p", { class: "reasons" }) };
  item.text = h("h3", { id: item.title });
  item.body = h("div", {}, item.text, item.why, item.facts);
  return item;
}

function waitingItem(change) {
  const item = parts();
  const unfolded = callsOf(change);
  return Object.assign(item,
    card({}, item.title, item.body, unfolded, () => decide(item, "adopted"), () => decide(item, "fault")));
}

function decidedItem() {
  const item = parts();
  item.buttons = ANSWERS.map(([, said]) => h("button", { type: "button", "aria-describedby": item.title }, said));
  ANSWERS.forEach(([answer], k) => item.buttons[k].addEventListener("click", () => decide(item, answer)));
  item.element = h("li", { class: "card", "aria-labelledby": item.title },
    item.body, h("div", { class: "answers" }, ...item.buttons));
  return item;
}

function fill(item, change) {
  item.change = change;
  item.element.dataset.state = change.state;
  item.text.replaceChildren(name(change.tool), ": ", name(change.what));
  item.why.hidden = change.why === "";
  item.why.replaceChildren(...(change.why === "" ? [] : ["Followed: ", name(change.why)]));
  item.facts.replaceChildren(
    h("span", { class: `state ${change.state}` }, change.state),
    h("span", {}, "since ", time(change.opened)), h("span", {}, calls(change)), h("span", {}, verdictOf(change)));
  if (change.reviewed) {
    item.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(change.state === ANSWERS[k][0])));
  } else {
    item.buttons[1].textContent = TAKEN.includes(change.state) ? "Undo" : "Fabricated";
  }
}

async function decide(item, answer) {
  const { change, element } = item;
  if (element.getAttribute("aria-busy") === "true" || (change.reviewed && change.state === answer)) return;
  element.setAttribute("aria-busy", "true");
  try {
    heard(await server.decide(change.id, answer, change.decided));
  } catch (error) {
    await refused(error);
  } finally {
    element.removeAttribute("aria-busy");
  }
}

function heard(now) {
  const before = state.rows.find((row) => row.id === now.id);
  const wasWaiting = before !== undefined && !before.reviewed;
  const rows = [...state.rows.filter((row) => row.id !== now.id), now];
  show({ ...state, rows, waiting: state.waiting - (wasWaiting ? 1 : 0) });
  complain(null);
  const other = now.state === "fault" ? "adopted" : "fault";
  tell(answered(`${now.tool}: ${now.what}`, now.state === "fault", async () => {
    try {
      heard(await server.decide(now.id, other, now.decided));
    } catch (error) {
      await refused(error);
    }
  }));
}

async function refused(error) {
  complain(error);
  if (error.status === 409 || error.status === 404) show(await server.changes().catch(() => state));
}

// Their order is that of the server, as soon as nobody is at the list.
function arrange(within, items, rows) {
  if (isBusy(within)) return;
  rows.forEach((row, k) => {
    const { element } = items.get(row.id);
    if (within.children[k] !== element) within.insertBefore(element, within.children[k] ?? null);
  });
}

function put(within, items, rows, make, drop) {
  const ids = new Set(rows.map((row) => row.id));
  for (const [id, item] of items) {
    if (!ids.has(id)) {
      items.delete(id);
      drop(item.element);
    }
  }
  for (const row of rows) {
    if (!items.has(row.id)) {
      items.set(row.id, make(row));
      within.append(items.get(row.id).element);
    }
    fill(items.get(row.id), row);
  }
  arrange(within, items, rows);
}

const rowsThat = (are) => state.rows.filter((row) => row.reviewed === are);

export function show(changes) {
  state = changes;
  const fresh = state.rows.filter((row) => row.state in NEWS && known !== null && known.get(row.id) !== row.state);
  known = new Map(state.rows.map((row) => [row.id, row.state]));
  put(list, waiting, rowsThat(false), waitingItem, remove);
  put(decidedList, decided, rowsThat(true), decidedItem, (element) => element.remove());
  const left = Math.max(state.waiting - waiting.size, 0);
  more.hidden = left === 0;
  more.textContent = `and ${left.toLocaleString("en")} more changes, as soon as one of these is decided`;
  decidedEmpty.hidden = decided.size > 0;
  decidedMore.hidden = state.more <= left;
  decidedMore.textContent = `and ${(state.more - left).toLocaleString("en")} more; "agentguard changes list --all" has them`;
  count("changes", state.waiting);
  if (fresh.length > 0) tell(`${NEWS[fresh[0].state]}: ${fresh[0].tool}: ${fresh[0].what}`);
}

export function begin(changes, on) {
  ({ tell, complain } = on);
  show(changes);
}

whenLeft(list, () => arrange(list, waiting, rowsThat(false)));
whenLeft(decidedList, () => arrange(decidedList, decided, rowsThat(true)));
