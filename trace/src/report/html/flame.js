// The flame graph: callers above their callees, width = time.
const HUES = [28, 44, 88, 142, 162, 180, 196, 210, 224, 240, 258];
const flame = { row: 21, zoom: 0, hover: -1, matches: null, canvas: null, holder: null, path: null, info: null };

function flamePanel() {
  flame.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": "Flame graph" });
  flame.holder = make("div", { id: "flame" }, flame.canvas);
  flame.path = make("div", { class: "path" });
  flame.info = make("span", { class: "faint" });
  flame.search = make("input", {
    type: "search", placeholder: "Highlight methods…", "aria-label": "Highlight methods",
    oninput: () => search(flame.search.value),
  });
  flame.canvas.addEventListener("mousemove", (event) => hover(nodeAt(event), event));
  flame.canvas.addEventListener("mouseleave", () => hover(-1));
  flame.canvas.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node >= 0) zoomTo(node === flame.zoom ? nodes.parent[node] : node);
  });
  flame.canvas.addEventListener("keydown", flameKey);
  flame.canvas.addEventListener("dblclick", (event) => {
    const node = nodeAt(event);
    if (node > 0) openMethod(nodes.frame[node]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !document.getElementById("method").open) resetFlame();
  });
  new ResizeObserver(drawFlame).observe(flame.holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawFlame);
  const reset = make("button", { onclick: resetFlame }, "Reset");
  const left = data.paths - nodes.parent.length;
  const pruned = left > 0 ? ` · shown: the ${count(nodes.parent.length)} call paths with the most time, ${count(left)} are left out` : "";
  const hint = make("span", { class: "faint" }, `Click to zoom, double-click for callers and callees${pruned}`);
  return make("div", { class: "panel" }, make("div", { class: "tools" }, flame.search, reset, flame.info, hint), flame.holder, flame.path);
}

function resetFlame() {
  flame.search.value = "";
  search("");
  zoomTo(0);
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  flame.matches = wanted ? frames.map((frame) => fullName(frame).toLowerCase().includes(wanted)) : null;
  flame.info.textContent = "";
  if (flame.matches) {
    // The time of matching methods, calls inside other matching ones left out.
    const inside = new Uint8Array(nodes.parent.length);
    let sum = 0;
    for (let node = 1; node < nodes.parent.length; node++) {
      const isMatch = flame.matches[nodes.frame[node]];
      if (isMatch && !inside[nodes.parent[node]]) sum += nodes.total[node];
      inside[node] = isMatch || inside[nodes.parent[node]] ? 1 : 0;
    }
    const found = flame.matches.filter(Boolean).length;
    flame.info.textContent = `${count(found)} methods, ${share(sum, data.total)} of the ${isMemory ? "memory" : "time"}`;
  }
  drawFlame();
}

function zoomTo(node) {
  flame.zoom = node;
  flame.path.replaceChildren();
  const path = [];
  for (let at = node; at !== 0; at = nodes.parent[at]) path.unshift(at);
  if (path.length) path.unshift(0);
  const shown = path.length > 9 ? [...path.slice(0, 2), null, ...path.slice(-6)] : path;
  for (const step of shown) {
    if (step === null) flame.path.append("…");
    else {
      const name = step === 0 ? "all threads" : `${simpleName(frames[nodes.frame[step]].class)}.${frames[nodes.frame[step]].method}`;
      flame.path.append(make("button", { onclick: () => zoomTo(step) }, name));
    }
  }
  drawFlame();
}

// Whether a node is the zoomed one or lies above it: then it takes the whole width.
function isAncestor(node) {
  return layout.depth[node] <= layout.depth[flame.zoom] &&
    layout.left[node] <= layout.left[flame.zoom] && layout.right[node] >= layout.right[flame.zoom] && onPath(node);
}

function onPath(node) {
  let at = flame.zoom;
  while (layout.depth[at] > layout.depth[node]) at = nodes.parent[at];
  return at === node;
}

function edges(node, width) {
  if (isAncestor(node)) return [0, width];
  const left = layout.left[flame.zoom];
  const scale = width / (layout.right[flame.zoom] - left || 1);
  return [(layout.left[node] - left) * scale, (layout.right[node] - left) * scale];
}

function hashOf(name) {
  let hash = 7;
  for (let index = 0; index < name.length; index++) hash = (hash * 31 + name.charCodeAt(index)) >>> 0;
  return hash;
}

function colour(frame, theme) {
  // One hue per package; none is near that of highlighted methods.
  const hue = HUES[hashOf(frame.class.split(".").slice(0, 3).join(".")) % HUES.length];
  // Classes of a package differ a little.
  const lightness = parseFloat(theme.lightness) + (hashOf(frame.class) % 7 - 3) * 1.8;
  return `hsl(${hue} ${theme.saturation} ${lightness}%)`;
}

function drawFlame() {
  const canvas = flame.canvas;
  const width = flame.holder.clientWidth;
  if (!width) return;
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  const theme = { saturation: value("--flame-saturation"), lightness: value("--flame-lightness") };
  const [ink, match, soft] = ["--flame-ink", "--match", "--soft"].map(value);
  let deepest = 0;
  for (let node = 0; node < nodes.parent.length; node++) {
    const [left, right] = edges(node, width);
    if (right - left >= 0.4 && right > 0 && left < width && layout.depth[node] > deepest) deepest = layout.depth[node];
  }
  // Browsers limit the height of a canvas; what is deeper shows when zoomed.
  const height = Math.min(deepest + 1, 700) * flame.row;
  const context = prepared(canvas, width, height);
  const colours = new Map();
  for (let node = 0; node < nodes.parent.length; node++) {
    const [left, right] = edges(node, width);
    const top = layout.depth[node] * flame.row;
    if (right - left < 0.4 || right <= 0 || left >= width || top >= height) continue;
    const frame = nodes.frame[node];
    if (!colours.has(frame)) colours.set(frame, frame < 0 ? soft : colour(frames[frame], theme));
    const isMatch = flame.matches && frame >= 0 && flame.matches[frame];
    context.globalAlpha = node !== flame.zoom && isAncestor(node) ? 0.55 : flame.matches && !isMatch ? 0.45 : 1;
    const usual = data.diff ? differenceColour(node, theme) : colours.get(frame);
    context.fillStyle = isMatch ? match : usual;
    context.fillRect(left, top, Math.max(right - left - 0.6, 0.4), flame.row - 1);
    if (node === flame.hover) {
      context.strokeStyle = ink;
      context.strokeRect(left + 0.5, top + 0.5, Math.max(right - left - 1.6, 0.4), flame.row - 2);
    }
    if (right - left > 36) drawLabel(context, node, Math.max(left, 0), Math.min(right, width), top, ink);
  }
}

// A canvas of this size, with what its texts look like.
function prepared(canvas, width, height) {
  const density = Math.min(window.devicePixelRatio || 1, height > 6000 ? 1 : 2);
  canvas.width = width * density;
  canvas.height = height * density;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(density, density);
  context.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  return context;
}

function drawLabel(context, node, left, right, top, ink) {
  const room = right - left - 10;
  const frame = frames[nodes.frame[node]];
  const names = frame ? [fullName(frame), `${simpleName(frame.class)}.${methodName(frame)}`, methodName(frame)] : ["all threads"];
  let name = names.find((candidate) => context.measureText(candidate).width <= room) || names[names.length - 1];
  if (context.measureText(name).width > room) {
    const letters = Math.floor(name.length * room / context.measureText(name).width) - 1;
    if (letters < 3) return;
    name = `${name.slice(0, letters)}…`;
  }
  context.fillStyle = ink;
  context.fillText(name, left + 5, top + flame.row / 2);
}

function nodeAt(event) {
  const box = flame.canvas.getBoundingClientRect();
  const depth = Math.floor((event.clientY - box.top) / flame.row);
  const x = event.clientX - box.left;
  for (let node = 0; node < nodes.parent.length; node++) {
    if (layout.depth[node] !== depth) continue;
    const [left, right] = edges(node, box.width);
    if (x >= left && x < right && right - left >= 0.4) return node;
  }
  return -1;
}

function hover(node, event) {
  const tooltip = document.getElementById("tooltip");
  if (node !== flame.hover) {
    flame.hover = node;
    drawFlame();
    tooltip.hidden = node < 0;
    if (node >= 0) tooltip.replaceChildren(...nodeFacts(node));
  }
  if (node >= 0 && event) placeTooltip(tooltip, event);
}

function placeTooltip(tooltip, event) {
  const box = tooltip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const below = event.clientY + 18;
  const y = below + box.height > innerHeight ? event.clientY - box.height - 12 : below;
  tooltip.style.left = `${Math.max(x, 8)}px`;
  tooltip.style.top = `${Math.max(y, 8)}px`;
}

function factList(rows) {
  return make("dl", {}, ...rows.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
}

// Arrow keys move from box to box, Enter zooms, Space opens callers and callees.
function flameKey(event) {
  const node = Math.max(flame.hover, flame.zoom);
  const siblings = children[nodes.parent[node]];
  const beside = (step) => (node === 0 ? node : siblings[siblings.indexOf(node) + step] ?? node);
  const actions = {
    ArrowUp: () => keyHover(nodes.parent[node]), ArrowDown: () => keyHover(children[node][0] ?? node),
    ArrowLeft: () => keyHover(beside(-1)), ArrowRight: () => keyHover(beside(1)),
    Enter: () => zoomTo(node), " ": () => node > 0 && openMethod(nodes.frame[node]),
  };
  if (actions[event.key] && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    actions[event.key]();
  }
}

function keyHover(node) {
  const box = flame.canvas.getBoundingClientRect();
  const [left, right] = edges(node, box.width);
  const clientX = box.left + Math.min(Math.max((left + right) / 2, 0), box.width - 40);
  hover(node, { clientX, clientY: box.top + (layout.depth[node] + 1) * flame.row });
}

function nodeFacts(node) {
  if (data.diff) return differenceFacts(node);
  const frame = frames[nodes.frame[node]];
  const isEstimate = nodes.estimated[node] === 1;
  const rows = [
    ["total", `${estimate(isEstimate, amount(nodes.total[node]))} · ${share(nodes.total[node], data.total)} of all, ${share(nodes.total[node], nodes.total[nodes.parent[node]])} of the caller`],
    ["own", `${estimate(isEstimate, amount(nodes.own[node]))} · ${share(nodes.own[node], data.total)}`],
    isSampled ? ["samples", count(nodes.calls[node])]
      : ["calls", count(nodes.calls[node]) + (isEstimate ? "" : ` · ${time(Math.round(nodes.total[node] / Math.max(nodes.calls[node], 1)))} on average`)],
  ];
  if (frame) rows.push(["signature", frame.method + frame.descriptor]);
  if (frame && frame.template) rows.push(["template", frame.template]);
  if (isEstimate) rows.push(["~", isSampled ? "estimated from samples" : "level watch: estimated from ticks"]);
  return [make("b", {}, nodeName(node)), factList(rows)];
}
