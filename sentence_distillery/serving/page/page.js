// The page: a search, the texts that are alike, and the map. Texts are data: they are set as text, never as HTML.

const at = (id) => document.getElementById(id);
const key = decodeURIComponent(location.hash.slice(1)); // the address that the server prints ends with it
if (key) history.replaceState(null, "", location.pathname);

const SVG = "http://www.w3.org/2000/svg";
let radius = 0.01; // of a text on the map, which is 2 wide
let latest = 0; // only the answer to the latest question is shown

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

async function ask(path, parameters = {}) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const answer = await fetch(`${path}?${new URLSearchParams(parameters)}`, { headers });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error.message);
  return body;
}

async function show(question, asked) {
  const mine = ++latest;
  try {
    const found = await question();
    if (mine !== latest) return;
    at("problem").hidden = true;
    showWords(found.words);
    showLists(found, asked);
  } catch (error) {
    if (mine !== latest) return;
    at("problem").textContent = error.message;
    at("problem").hidden = false;
    at("results").hidden = true;
  }
}

function showWords(words) {
  const line = at("words");
  line.replaceChildren();
  if (!words) return;
  const unknown = words.filter((word) => word.reading === "unknown");
  const cut = words.filter((word) => word.reading === "cut");
  if (unknown.length) {
    line.append("Unknown words: ");
    unknown.forEach((word, place) => line.append(place ? ", " : "", element("mark", word.text)));
    line.append(". ");
  }
  if (cut.length) {
    line.append("Not in the vocabulary, read as word pieces: ");
    cut.forEach((word, place) => {
      line.append(place ? ", " : "", element("mark", word.text), " (", element("code", word.pieces.join(" ")), ")");
    });
    line.append(". ");
  }
  if (!unknown.length && !cut.length) line.append(words.length ? "Every word is in the vocabulary." : "The query has no word.");
}

function showLists(found, asked) {
  at("asked").textContent = found.text ? `Texts like “${found.text}”` : "Closest texts";
  const inBoth = new Set(found.teacher ? found.student.filter((s) => found.teacher.some((t) => t.index === s.index)).map((s) => s.index) : []);
  const lists = [list(found.teacher ? `Student, ${inBoth.size} of ${found.student.length} as the teacher` : "", found.student, inBoth)];
  if (found.teacher) lists.push(list("Teacher", found.teacher, inBoth));
  at("lists").replaceChildren(...lists);
  at("results").hidden = false;
  at("marks").replaceChildren(...found.student.map((row) => dot(row, "near")));
  if (found.place) at("marks").append(dot({ ...found, index: asked }, "asked"));
}

function list(title, rows, inBoth) {
  const box = element("div");
  if (title) box.append(element("h3", title));
  if (!rows.length) box.append(element("p", "None: the student does not know any of its words."));
  const items = element("ol");
  for (const row of rows) {
    const item = element("li", "", inBoth.has(row.index) ? { class: "both" } : {});
    const text = element("button", row.text, { class: "text", type: "button" });
    text.addEventListener("click", () => alike(row.index));
    item.append(element("span", row.score.toFixed(3), { class: "score", title: "cosine" }), text);
    items.append(item);
  }
  box.append(items);
  return box;
}

function dot(row, name) {
  const circle = document.createElementNS(SVG, "circle");
  const [x, y] = row.place;
  for (const [attribute, value] of Object.entries({ cx: x, cy: -y, r: radius * (name === "point" ? 1 : 2), class: name })) {
    circle.setAttribute(attribute, value);
  }
  circle.addEventListener("pointerenter", () => (at("pointed").textContent = row.text));
  circle.addEventListener("click", () => alike(row.index));
  return circle;
}

const alike = (index) => show(() => ask("/api/alike", { index }), index);

async function showMap() {
  const map = await ask("/api/map");
  radius = map.points.length > 500 ? 0.009 : 0.016;
  at("points").replaceChildren(...map.points.map((point) => dot(point, "point")));
  const share = (100 * map.explained).toFixed(0);
  at("map-note").textContent =
    `The two leading principal components (PCA) of ${map.points.length.toLocaleString("en")} texts: ${share}% of their variance. ` +
    "Neighbours on the map may differ in meaning; the cosines in the list measure similarity. Click a point for its neighbours.";
}

async function start() {
  const about = await ask("/api/about");
  document.title = `Explore ${about.name}`;
  at("name").textContent = about.name;
  const left = about.left_out ? `; ${about.left_out.toLocaleString("en")} more were left out` : "";
  at("facts").textContent =
    `${about.texts.toLocaleString("en")} texts${left} · ${about.dimension} dimensions · ${about.tokens.toLocaleString("en")} tokens` +
    (about.teacher ? " · with the teacher’s vectors of the texts" : "");
  await showMap();
}

at("pointed").textContent = "Point at a dot to read its text.";
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = at("query").value;
  show(() => ask("/api/search", { q }));
});
start().catch((error) => {
  at("problem").textContent = error.message;
  at("problem").hidden = false;
});
