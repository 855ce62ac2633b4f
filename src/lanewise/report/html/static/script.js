"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  for (const element of all("[hidden]")) element.hidden = false;

  const scheme = document.getElementById("scheme");
  const key = "lanewise-colours";
  const apply = (value) => { document.documentElement.style.colorScheme = value; };
  try { scheme.value = localStorage.getItem(key) || scheme.value; } catch { /* files may have no storage */ }
  if (!scheme.value) scheme.selectedIndex = 0;
  apply(scheme.value);
  scheme.addEventListener("change", () => {
    apply(scheme.value);
    try { localStorage.setItem(key, scheme.value); } catch { /* as above */ }
  });

  const setOpen = (selector, open) => { for (const details of all(selector)) details.open = open; };
  for (const button of all("[data-open]")) button.addEventListener("click", () => setOpen(button.dataset.open, true));
  for (const button of all("[data-close]")) button.addEventListener("click", () => setOpen(button.dataset.close, false));

  for (const button of all(".sortable thead button")) button.addEventListener("click", () => {
    const head = button.closest("th");
    const column = head.cellIndex;
    const body = head.closest("table").tBodies[0];
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of all("th[aria-sort]", head.parentElement)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (row) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
    };
    const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
    const rows = [...body.rows].sort((a, b) => (ascending ? 1 : -1) * order(value(a), value(b)));
    body.append(...rows);
  });

  // Only what scrolls needs to be reached by the keyboard.
  const reach = () => {
    for (const box of all(".scroll")) box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  };
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();

  // A link into a closed part opens it.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
    const focus = target.tagName === "DETAILS" ? target.querySelector("summary") : target;
    if (!focus.matches("a, button, summary, [tabindex]")) focus.tabIndex = -1;
    focus.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Paper shows every kernel; what stood open before stands open after.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details.kernel:not([open])");
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
})();
