// Calls that wait for a reviewer, the oldest first: new ones come below, so nothing moves under anybody's hand.
// With a card in focus A accepts, R rejects, and the arrows go to its neighbours.

import { h, ids, name, share, signals, time, verdictTag } from "./elements.js";
import * as server from "./server.js";

const MOST = 10;
const REFILL_BELOW = 6;
const list = document.getElementById("queue-list");
const empty = document.getElementById("queue-empty");
const count = document.getElementById("waiting");
const last = document.getElementById("last");
const lastText = document.getElementById("last-text");
const change = document.getElementById("last-change");

let waiting = 0;
let tell = () => {};
let complain = () => {};
let filling = false;
let reviewed = null;
const reviewedNow = new Set(); // since the page was begun

const cardOf = (sequence) => list.querySelector(`li[data-sequence="${Number(sequence)}"]`);
const lastShown = () => Number(list.lastElementChild?.dataset.sequence ?? 0);

function card(verdict) {
  const title = `review-${Number(verdict.sequence)}`;
  const accept = h("button", { type: "button", "aria-describedby": title }, "Accept");
  const reject = h("button", { type: "button", "aria-describedby": title }, "Reject");
  const made = h("li", { class: "card", tabindex: "0", "data-sequence": verdict.sequence, "aria-labelledby": title },
    h("div", {},
      h("h3", { class: "line", id: title },
        verdictTag(verdict), name(verdict.tool), h("span", { class: "number" }, `P(fabricated) ${share(verdict.posterior)}`)),
      h("div", { class: "line quiet" }, time(verdict.at), ...ids(verdict)),
      signals(verdict, false)),
    h("div", { class: "answers" }, accept, reject));
  accept.addEventListener("click", () => review(verdict, false));
  reject.addEventListener("click", () => review(verdict, true));
  made.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const answer = { a: false, r: true }[event.key.toLowerCase()];
    if (step !== undefined && made[step] !== null) {
      event.preventDefault();
      made[step].focus();
    } else if (answer !== undefined) {
      event.preventDefault();
      review(verdict, answer);
    }
  });
  return made;
}

function show() {
  empty.hidden = list.children.length > 0 || waiting > 0;
  count.textContent = waiting.toLocaleString("en");
  if (waiting > list.children.length && list.children.length < REFILL_BELOW) refill();
}

async function refill() {
  if (filling) return;
  filling = true;
  try {
    const found = await server.queue(lastShown(), MOST - list.children.length);
    // Some may have been reviewed while this was asked for.
    found.verdicts.filter((verdict) => !reviewedNow.has(verdict.sequence)).forEach(append);
  } catch (error) {
    complain(error);
  } finally {
    filling = false;
  }
}

function append(verdict) {
  if (verdict.sequence > lastShown()) list.append(card(verdict));
}

function take(sequence) {
  const gone = cardOf(sequence);
  if (gone === null) return;
  const next = gone.nextElementSibling ?? gone.previousElementSibling;
  const hadFocus = gone.contains(document.activeElement);
  gone.remove();
  waiting -= 1;
  if (hadFocus) (next ?? document.getElementById("queue")).focus();
}

async function review(verdict, wasHallucination) {
  const shown = cardOf(verdict.sequence);
  if (shown === null || shown.getAttribute("aria-busy") === "true") return;
  shown.setAttribute("aria-busy", "true");
  try {
    said(await server.review(verdict.sequence, wasHallucination));
    reviewedNow.add(verdict.sequence);
    take(verdict.sequence);
  } catch (error) {
    shown.removeAttribute("aria-busy");
    if (error.status === 409 || error.status === 404) take(verdict.sequence);
    complain(error);
  }
}

function said(verdict) {
  reviewed = verdict;
  const was = verdict.label.was_hallucination;
  lastText.textContent = `${verdict.tool}, call ${verdict.call_id}: ${was ? "rejected" : "accepted"}.`;
  change.textContent = was ? "Accept it after all" : "Reject it after all";
  last.hidden = false;
  complain(null);
  tell(lastText.textContent);
}

change.addEventListener("click", async () => {
  try {
    said(await server.review(reviewed.sequence, !reviewed.label.was_hallucination, reviewed.label.sequence));
  } catch (error) {
    complain(error);
  }
});

export function begin(queue, on) {
  ({ tell, complain } = on);
  waiting = queue.waiting;
  reviewedNow.clear();
  const focused = document.activeElement?.closest(".card")?.dataset.sequence;
  list.replaceChildren(...queue.verdicts.map(card));
  if (focused !== undefined) (cardOf(focused) ?? document.getElementById("queue")).focus();
  show();
}

// A verdict that has just come: shown where all before it are, else with them when there is room.
export function add(verdict) {
  if (verdict.call_id === null || verdict.label !== null) return;
  const isNext = waiting <= list.children.length;
  waiting += 1;
  if (isNext && list.children.length < MOST) append(verdict);
}

export function label(of) {
  reviewedNow.add(of);
  take(of);
}

export function total(now) {
  waiting = now;
  show();
}
