// Cards that wait for a reviewer's answer: their buttons and keys, where the focus goes, and the answer given last. With
// a card in focus G says genuine, F fabricated, D opens it up, and the arrows go to its neighbours.

import { h } from "./elements.js";

const section = document.getElementById("queue");
const empty = document.getElementById("queue-empty");
const total = document.getElementById("waiting");
const last = document.getElementById("last");
const lastText = document.getElementById("last-text");
const takeBack = document.getElementById("last-change");

const waiting = { changes: 0, calls: 0 };
let again = () => {};

const cards = () => [...section.querySelectorAll(".card")];

export const isBusy = (list) =>
  list.matches(":hover") || list.contains(document.activeElement) || list.querySelector("details[open]") !== null;

// What is to be done when the pointer or the focus has left: nobody is at the list any more, or still in another way.
export function whenLeft(list, work) {
  for (const event of ["pointerleave", "focusout"]) list.addEventListener(event, () => setTimeout(work));
  list.addEventListener("toggle", () => setTimeout(work), true);
}

// `genuine` and `fabricated` are called with the buttons of these names, and with G and F.
export function card(attributes, title, body, opened, genuine, fabricated) {
  const buttons = ["Genuine", "Fabricated"].map((said) => h("button", { type: "button", "aria-describedby": title }, said));
  const element = h("li", { class: "card", tabindex: "0", "aria-labelledby": title, ...attributes },
    body, h("div", { class: "answers" }, ...buttons), opened);
  buttons[0].addEventListener("click", genuine);
  buttons[1].addEventListener("click", fabricated);
  element.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const act = { g: genuine, f: fabricated, d: () => (opened.open = !opened.open) }[event.key.toLowerCase()];
    if (step !== undefined && event.target === element) {
      event.preventDefault();
      const all = cards();
      all[all.indexOf(element) + step]?.focus();
    } else if (act !== undefined) {
      event.preventDefault();
      act();
    }
  });
  return { element, buttons };
}

export function remove(element) {
  const all = cards();
  const at = all.indexOf(element);
  const hadFocus = element.contains(document.activeElement);
  element.remove();
  if (hadFocus) (all[at + 1] ?? all[at - 1] ?? section).focus();
}

export function count(what, number) {
  waiting[what] = number;
  const both = waiting.changes + waiting.calls;
  total.textContent = both.toLocaleString("en");
  empty.hidden = both > 0 || cards().length > 0;
}

// The answer that was given last, and the other one, which takes it back.
export function answered(said, wasFabricated, otherwise) {
  lastText.textContent = `${said}: ${wasFabricated ? "fabricated" : "genuine"}.`;
  takeBack.textContent = wasFabricated ? "No, it was genuine" : "No, it was fabricated";
  again = otherwise;
  last.hidden = false;
  return lastText.textContent;
}

takeBack.addEventListener("click", () => again());
