// Calls of no change that wait for a reviewer, the worst first. While somebody is at the list nothing in it changes its
// place: what comes then is put where it belongs when the list is left.

import { answered, card, count, isBusy, remove as removeCard, whenLeft } from "./cards.js";
import { details } from "./details.js";
import { h, ids, name, reasons, share, time, verdictTag } from "./elements.js";
import * as server from "./server.js";

const MOST = 10;
const REFILL_BELOW = 6;
const SEVERITY = { accept: 0, flag: 1, block: 2 };
const list = document.getElementById("queue-list");

let waiting = 0;
let tell = () => {};
let complain = () => {};
let filling = false;
let isStale = false; // a call came that belongs above one that is shown, while somebody was at the list
const reviewedNow = new Set(); // since the page was begun
const shown = new Map(); // verdicts of the cards

const cardOf = (sequence) => list.querySelector(`li[data-sequence="${Number(sequence)}"]`);

// As the server orders them: by posterior, blocked before flagged, then the oldest.
const isBefore = (one, other) =>
  (other.posterior - one.posterior || SEVERITY[other.verdict] - SEVERITY[one.verdict] || one.sequence - other.sequence) < 0;

function cardFor(verdict) {
  const title = `review-${Number(verdict.sequence)}`;
  const body = h("div", {},
    h("h3", { class: "line", id: title },
      verdictTag(verdict), name(verdict.tool), h("span", { class: "number" }, `P(fabricated) ${share(verdict.posterior)}`)),
    reasons(verdict),
    h("div", { class: "line quiet" }, time(verdict.at), ...ids(verdict)));
  return card({ "data-sequence": verdict.sequence }, title, body, details(verdict),
    () => review(verdict, false), () => review(verdict, true)).element;
}

function show() {
  count("calls", waiting);
  if (waiting > list.children.length && list.children.length < REFILL_BELOW) refill();
}

function put(verdict, before = null) {
  shown.set(verdict.sequence, verdict);
  list.insertBefore(cardFor(verdict), before);
}

function remove(element) {
  shown.delete(Number(element.dataset.sequence));
  removeCard(element);
}

async function refill() {
  if (filling) return;
  filling = true;
  try {
    // All that are shown are waiting too: so many of the worst hold as many others as there is room for.
    const found = await server.queue(0, MOST + list.children.length);
    found.verdicts
      // Some may have been reviewed while this was asked for.
      .filter((verdict) => !reviewedNow.has(verdict.sequence) && !shown.has(verdict.sequence))
      .slice(0, MOST - list.children.length)
      .forEach((verdict) => put(verdict));
  } catch (error) {
    complain(error);
  } finally {
    filling = false;
  }
}

function take(sequence) {
  const gone = cardOf(sequence);
  if (gone === null) return;
  remove(gone);
  waiting -= 1;
}

async function review(verdict, wasHallucination) {
  const element = cardOf(verdict.sequence);
  if (element === null || element.getAttribute("aria-busy") === "true") return;
  element.setAttribute("aria-busy", "true");
  try {
    said(await server.review(verdict.sequence, wasHallucination));
    reviewedNow.add(verdict.sequence);
    take(verdict.sequence);
  } catch (error) {
    element.removeAttribute("aria-busy");
    if (error.status === 409 || error.status === 404) take(verdict.sequence);
    complain(error);
  }
}

function said(verdict) {
  const was = verdict.label.was_hallucination;
  complain(null);
  tell(answered(`${verdict.tool}, call ${verdict.call_id}`, was, async () => {
    try {
      said(await server.review(verdict.sequence, !was, verdict.label.sequence));
    } catch (error) {
      complain(error);
    }
  }));
}

function fill(verdicts) {
  const focused = document.activeElement?.closest("#queue-list .card")?.dataset.sequence;
  shown.clear();
  list.replaceChildren();
  verdicts.forEach((verdict) => put(verdict));
  if (focused !== undefined) (cardOf(focused) ?? document.getElementById("queue")).focus();
  isStale = false;
}

export function begin(queue, on) {
  ({ tell, complain } = on);
  waiting = queue.waiting;
  reviewedNow.clear();
  fill(queue.verdicts);
  show();
}

// A verdict that has just come: put where it belongs, unless that would move what somebody is about to click.
export function add(verdict) {
  if (verdict.call_id === null || verdict.label !== null || verdict.has_card) return;
  const allShown = waiting <= list.children.length;
  waiting += 1;
  const next = [...list.children].find((each) => isBefore(verdict, shown.get(Number(each.dataset.sequence)))) ?? null;
  if (next === null) {
    if (allShown && list.children.length < MOST) put(verdict);
  } else if (isBusy(list)) {
    isStale = true;
  } else {
    put(verdict, next);
    if (list.children.length > MOST) remove(list.lastElementChild);
  }
}

export function label(of) {
  reviewedNow.add(of);
  take(of);
}

// Calls that look like one of these changes are reviewed with it.
export function fold(changes) {
  const onCards = new Set(changes.map((change) => change.id));
  for (const [sequence, verdict] of [...shown]) {
    if (onCards.has(verdict.change)) take(sequence);
  }
}

export function total(now) {
  waiting = now;
  show();
}

// Nobody is at the list any more: the worst come first again.
async function settle() {
  if (!isStale || isBusy(list)) return;
  isStale = false;
  try {
    const found = await server.queue(0, MOST);
    if (!isBusy(list)) fill(found.verdicts.filter((verdict) => !reviewedNow.has(verdict.sequence)));
    else isStale = true;
    show();
  } catch (error) {
    complain(error);
  }
}

whenLeft(list, settle);
