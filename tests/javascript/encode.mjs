// Encodes the texts of a JSON file with a student's directory, in two ways: by the model, and by the pipeline.
// node encode.mjs DIRECTORY TEXTS.json VECTORS.json
import { readFileSync, writeFileSync } from "node:fs";
import { AutoModel, AutoTokenizer, env, pipeline } from "@huggingface/transformers";

env.allowRemoteModels = false;
const [directory, source, target] = process.argv.slice(2);
const texts = JSON.parse(readFileSync(source, "utf8"));

const tokenizer = await AutoTokenizer.from_pretrained(directory);
const model = await AutoModel.from_pretrained(directory);
const byModel = [];
for (let start = 0; start < texts.length; start += 100) {
  const { sentence_embedding } = await model(tokenizer(texts.slice(start, start + 100), { padding: true }));
  byModel.push(...sentence_embedding.tolist());
}
const extract = await pipeline("feature-extraction", directory);
const byPipeline = (await extract(texts.slice(0, 20), { pooling: "mean", normalize: true })).tolist();
writeFileSync(target, JSON.stringify({ byModel, byPipeline }));
