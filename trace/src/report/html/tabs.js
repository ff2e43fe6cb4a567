// The tabs of the page, and its beginning.
const panels = new Map();

function showTab(name) {
  const view = views.find(([key]) => key === name) || views[0];
  if (!panels.has(view[0])) {
    const panel = view[2]();
    panel.setAttribute("role", "tabpanel");
    panels.set(view[0], panel);
    document.getElementById("panels").append(panel);
  }
  for (const [key, panel] of panels) panel.hidden = key !== view[0];
  for (const tab of document.getElementById("tabs").children) tab.setAttribute("aria-selected", String(tab.dataset.view === view[0]));
  if (location.hash.slice(1) !== view[0]) history.replaceState(null, "", `#${view[0]}`);
  if (view[0] === "flame" && flame.canvas) drawFlame();
  if (view[0] === "timeline") drawTimeline();
}

document.getElementById("tabs").append(...views.map(([key, title, , rows]) => make("button",
  { role: "tab", "data-view": key, onclick: () => showTab(key) }, title, rows === null ? null : make("small", {}, count(rows)))));
head();
keyboard();
sourceButton();
themeButton();
showTab(location.hash.slice(1));
addEventListener("hashchange", () => showTab(location.hash.slice(1)));
