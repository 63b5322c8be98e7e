// One row a tool: what it has had.

import { h, name } from "./elements.js";

const body = document.getElementById("tools-rows");
const more = document.getElementById("tools-more");

const figure = (count) => h("td", { class: "n" }, count === null ? "–" : count.toLocaleString("en"));

export function show(tools) {
  body.replaceChildren(...tools.rows.map((row) =>
    h("tr", {},
      h("th", { scope: "row" }, name(row.tool)),
      ...[row.calls, row.flag, row.block, row.accept, row.waiting, row.genuine, row.fabricated].map(figure))));
  more.hidden = tools.more === 0;
  more.textContent = `and ${tools.more.toLocaleString("en")} more`;
}
