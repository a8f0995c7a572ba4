// Encodes the texts of a JSON file, for the tests: node encode_core.mjs LIBRARY TASK.json
// A task has the model's directory, the texts, the options of load and of encode, and the file for the vectors.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [library, source] = process.argv.slice(2);
const { load } = await import(pathToFileURL(library));
const tasks = JSON.parse(readFileSync(source, "utf8"));
for (const { model, texts, loading, encoding, target } of tasks) {
  const encoder = await load(model, loading);
  const vectors = encoder.encode(texts, encoding);
  writeFileSync(target, texts.length ? new Uint8Array(vectors[0].buffer) : new Uint8Array());
}
