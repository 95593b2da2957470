// What the theme leaves out: wide tables and code scroll by keyboard, and landmarks have names.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  setTimeout(() => {
    for (const box of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .md-sidebar__scrollwrap"))
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    document.querySelectorAll(".md-code__nav").forEach((nav, i) => nav.setAttribute("aria-label", `Code ${i + 1}`));
  }, 500);
});
