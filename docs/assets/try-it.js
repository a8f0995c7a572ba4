// The page "Try it": the released encoder in the browser. Texts are data: they are set as text, never as HTML.

(() => {
  const at = (id) => document.getElementById(id);
  const place = new URL("try-it/", document.currentScript.src); // encoder, model and passages
  const SHOWN = 8;
  const EXAMPLES = {
    pages: ["how do I make the model smaller?", "which teacher should I take", "does it run offline?"],
    own: ["weather at sea", "money"],
  };
  const SAMPLE = [
    "The storm closed the port.", "A gale shut the harbour.", "Shares fell in London.",
    "The stock market dropped sharply.", "A dog runs on the beach.", "The court rejected the appeal.",
  ];
  const sources = { pages: null, own: null }; // of each: entries and their vectors
  let encoder = null;
  let similarity = null;

  function element(name, text = "", attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    return made;
  }

  const say = (text) => (at("try-state").textContent = text);
  const number = (value) => value.toLocaleString("en");
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  const chosen = () => document.querySelector("[name=try-source]:checked").value;

  async function load() {
    at("try-load").disabled = true;
    at("try-bar").hidden = false;
    try {
      const library = await import(new URL("sentence-distillery.js", place).href);
      similarity = library.similarity;
      const found = await fetch(new URL("passages.json", place));
      const entries = (await found.json()).map(([title, address, text]) => ({ title, address, text }));
      encoder = await library.load(new URL("model/", place), { lexicalWeight: 1.2, progress: show });
      at("try-load").hidden = at("try-bar").hidden = true;
      at("try-what").disabled = false;
      sources.pages = encoded(entries);
      own();
      say("The encoder is here. You may cut the network now.");
      examples();
      search();
    } catch (error) {
      at("try-load").disabled = false;
      at("try-bar").hidden = true;
      say(error instanceof TypeError ? "This copy of the site has no encoder, or the network is cut." : error.message);
    }
  }

  function show({ loaded, total }) {
    at("try-bar").value = loaded / total;
    say(`${megabytes(loaded)} of ${megabytes(total)} MB`);
  }

  function encoded(entries) {
    const start = performance.now();
    const vectors = encoder.encode(entries.map((entry) => (entry.title ? `${entry.title}. ${entry.text}` : entry.text)));
    return { entries, vectors, milliseconds: performance.now() - start };
  }

  function own() {
    const lines = at("try-texts").value.split("\n").map((line) => line.trim()).filter(Boolean);
    sources.own = encoded(lines.map((text) => ({ text })));
  }

  function search() {
    const { entries, vectors, milliseconds } = sources[chosen()];
    const query = at("try-query").value.trim();
    const start = performance.now();
    const scores = query ? similarity(encoder.encode(query), vectors) : [];
    const best = [...scores.keys()].sort((one, other) => scores[other] - scores[one] || one - other);
    const hits = best.filter((index) => scores[index] > 0).slice(0, SHOWN * 3);
    const spent = performance.now() - start;
    at("try-hits").replaceChildren(...once(hits.map((index) => ({ ...entries[index], score: scores[index] }))).map(item));
    at("try-facts").textContent =
      `${number(entries.length)} texts, encoded in ${milliseconds.toFixed(0)} ms` +
      (query ? `; encoded the query and compared it with all in ${spent.toFixed(1)} ms` : "") +
      (query && !hits.length ? ". No word of the query is in the vocabulary, or there is no text." : ".");
  }

  // Of each section of the site only the closest passage; of one's own texts all.
  function once(hits) {
    const seen = new Set();
    return hits.filter(({ address }) => !address || (!seen.has(address) && seen.add(address))).slice(0, SHOWN);
  }

  function item({ title, address, text, score }) {
    const box = element("li");
    const words = element("div");
    if (address) words.append(element("a", title, { href: new URL(`../../${address}`, place).href }));
    words.append(element("p", text.length > 300 ? `${text.slice(0, 300)}…` : text));
    box.append(element("span", score.toFixed(2), { title: "cosine" }), words);
    return box;
  }

  function examples() {
    const buttons = EXAMPLES[chosen()].map((text) => {
      const button = element("button", text, { type: "button" });
      button.addEventListener("click", () => {
        at("try-query").value = text;
        search();
      });
      return button;
    });
    at("try-examples").replaceChildren("For example: ", ...buttons);
  }

  for (const radio of document.querySelectorAll("[name=try-source]")) {
    radio.addEventListener("change", () => {
      at("try-texts").hidden = chosen() !== "own";
      at("try-query").value = "";
      examples();
      search();
    });
  }
  at("try-texts").value = SAMPLE.join("\n");
  at("try-texts").addEventListener("input", () => {
    own();
    search();
  });
  at("try-query").addEventListener("input", search);
  at("try-load").addEventListener("click", load);

  async function isKept() {
    const cache = globalThis.caches && (await caches.has("sentence-distillery")) && (await caches.open("sentence-distillery"));
    return cache && (await cache.match(new URL("model/model.safetensors", place), { ignoreSearch: true })) !== undefined;
  }

  if (location.protocol === "file:") {
    at("try-load").disabled = true;
    say("A page that is opened from a disk cannot load the encoder. Serve the folder: python -m http.server");
  } else {
    isKept().then((kept) => kept && load(), () => {});
  }
})();
