"use strict";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function theme(printing) {
  const ink = printing ? "#1c2024" : colour("--soft");
  const rule = printing ? "#dfe2e6" : colour("--rule");
  const panel = printing ? "#f6f7f8" : colour("--panel");
  return {
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    // On a touch screen a drag scrolls the page.
    "dragmode": window.matchMedia("(pointer: coarse)").matches ? false : "zoom",
    "font.color": ink,
    "font.family": getComputedStyle(document.body).fontFamily,
    "font.size": 12.5,
    "xaxis.gridcolor": rule,
    "yaxis.gridcolor": rule,
    "hoverlabel.bgcolor": panel,
    "hoverlabel.bordercolor": rule,
    "hoverlabel.font.color": printing ? ink : colour("--ink"),
  };
}

const figures = [...document.querySelectorAll(".figure")];

async function draw() {
  for (const place of figures) {
    const figure = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    await Plotly.newPlot(place, figure.data, figure.layout, {
      responsive: true, displaylogo: false, displayModeBar: false,
    });
    await paint(place, false);
    if (figure.layout.meta) {
      place.before(switcher(place, figure.layout.meta.views));
    }
  }
}

// Buttons that exchange the heights of the measurements together with the axis they belong to.
function switcher(place, views) {
  const row = document.createElement("div");
  row.className = "views";
  const points = place.data.findIndex((trace) => trace.name === "measurements");
  views.forEach((view, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = view.label;
    button.setAttribute("aria-pressed", index === 0);
    button.addEventListener("click", () => {
      row.querySelectorAll("button").forEach((other) => {
        other.setAttribute("aria-pressed", other === button);
      });
      Plotly.update(place, { y: [view.y] }, {
        "yaxis.type": view.type, "yaxis.range": view.range,
      }, [points]);
    });
    row.append(button);
  });
  return row;
}

function paint(place, printing) {
  const look = theme(printing);
  return Plotly.relayout(place, look);
}

function paintAll(printing) {
  figures.forEach((place) => paint(place, printing));
}

// On paper a figure is as wide as its place there: it is scaled as a whole, letters included.
function scale(place, printing) {
  place.querySelectorAll(".main-svg").forEach((drawing) => {
    const size = [drawing.getAttribute("width"), drawing.getAttribute("height")];
    if (printing) drawing.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
    else drawing.removeAttribute("viewBox");
    place.style.aspectRatio = printing ? size.join(" / ") : "";
  });
}

function print(printing) {
  figures.forEach((place) => scale(place, printing));
  paintAll(printing);
}

function sortable(table) {
  const body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button) => {
    const head = button.closest("th");
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[head.cellIndex].dataset.key;
      const rows = [...body.rows].sort((one, two) => compare(key(one), key(two), up));
      body.append(...rows);
    });
  });
}

// Empty cells stay last in both directions.
function compare(one, two, up) {
  if (one === "" || two === "") return (one === "") - (two === "");
  const numeric = one !== "" && two !== "" && !isNaN(one) && !isNaN(two);
  const order = numeric ? Number(one) - Number(two) : one.localeCompare(two);
  return up ? order : -order;
}

document.querySelectorAll("table.sortable").forEach(sortable);
dark.addEventListener("change", () => paintAll(false));
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
draw();
