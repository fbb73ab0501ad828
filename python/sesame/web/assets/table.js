// Sorts a table by a click on a title, or Enter on it; empty cells stay last.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent;
  };
  const compare = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return a - b;
  };
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const body = table.tBodies[0];
      const rows = [...body.rows];
      const isText = rows.length > 0 && typeof key(rows[0], column) === "string";
      const last = head.getAttribute("aria-sort");
      const up = last ? last === "descending" : isText;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        if (Number.isNaN(x) || Number.isNaN(y)) return compare(x, y);
        return up ? compare(x, y) : compare(y, x);
      });
      body.append(...rows);
    });
  });
}
