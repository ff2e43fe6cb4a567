// Keys, and the choices: light or dark, calls, samples or allocations.

// `/` goes to the search of the view; arrow keys go from tab to tab.
function keyboard() {
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.tagName === "INPUT" || document.getElementById("method").open) return;
    const field = [...document.querySelectorAll('#panels > :not([hidden]) input[type="search"]')][0];
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
  document.getElementById("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const tabs = [...event.currentTarget.children];
    const next = tabs[tabs.indexOf(document.activeElement) + step];
    if (step && next) {
      next.focus();
      next.click();
    }
  });
}

// In the call tree: up and down from line to line, right opens, left closes or goes to the caller.
function treeKey(event) {
  const toggles = [...event.currentTarget.querySelectorAll("button.toggle")];
  const at = toggles.indexOf(document.activeElement);
  if (at < 0) return;
  const isOpen = toggles[at].getAttribute("aria-expanded") === "true";
  const caller = () => event.currentTarget.querySelector(`[data-node="${nodes.parent[toggles[at].dataset.node]}"]`);
  const actions = {
    ArrowUp: () => toggles[at - 1]?.focus(), ArrowDown: () => toggles[at + 1]?.focus(),
    ArrowRight: () => (isOpen ? toggles[at + 1]?.focus() : toggles[at].click()),
    ArrowLeft: () => (isOpen ? toggles[at].click() : caller()?.focus()),
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

// As the system says, unless the button was used. A page that may not store anything forgets the choice.
function themeButton() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const redraw = () => { if (flame.holder) drawFlame(); if (axis.holder) drawTimeline(); };
  try { root.dataset.theme = localStorage.getItem("instr-theme") || ""; } catch { /* nothing is stored */ }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("instr-theme", root.dataset.theme); } catch { /* nothing is stored */ }
    show();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { show(); redraw(); });
  show();
}

// A recording may hold several: the button goes from one to the next.
function sourceButton() {
  const button = document.getElementById("source");
  const next = sources[(sources.indexOf(source) + 1) % sources.length];
  button.hidden = sources.length < 2;
  button.textContent = `Show ${next}`;
  button.addEventListener("click", () => { location.search = `?${next}`; });
}
