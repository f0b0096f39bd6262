// An OpenAI-compatible endpoint over a small language model on this machine, for one smoke test.
//   node server.mjs MODEL.gguf      with node-llama-cpp installed in the folder that NODE_LLAMA names
// Prints its port. A request with a function is answered by a call of it, held to its parameters by a grammar.
import http from "node:http";
import path from "node:path";
import {pathToFileURL} from "node:url";

const home = path.join(process.env.NODE_LLAMA, "node_modules/node-llama-cpp/dist/index.js");
const {getLlama, LlamaCompletion} = await import(pathToFileURL(home));
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath: process.argv[2]});
const context = await model.createContext({contextSize: 4096});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});

const textOf = (content) => typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

// Grammars know a part of JSON Schema; the model is too small to be trusted with more than a few items.
function simple(schema) {
    if (schema.enum) return {enum: schema.enum};
    if (schema.type === "array") return {type: "array", maxItems: 2, items: simple(schema.items ?? {type: "string"})};
    if (schema.type !== "object") return {type: schema.type ?? "string"};
    const fields = Object.entries(schema.properties ?? {}).filter(([name]) => name !== "replaces");
    return {type: "object", properties: Object.fromEntries(fields.map(([name, field]) => [name, simple(field)]))};
}

async function answer(request) {
    const said = request.messages.map((message) => textOf(message.content)).join("\n\n");
    const tool = request.tools?.[0]?.function;
    const grammar = tool && await llama.createGrammarForJsonSchema(simple(tool.parameters));
    const prompt = said + (tool ? "\n\nJSON:\n" : "\n\nAnswer:\n");
    const text = await completion.generateCompletion(prompt, {maxTokens: 160, temperature: 0, grammar});
    const call = {id: "call_1", type: "function", function: {name: tool?.name, arguments: text}};
    return tool ? {role: "assistant", content: null, tool_calls: [call]} : {role: "assistant", content: text};
}

let last = Promise.resolve();
const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (data) => body += data);
    request.on("end", () => {
        last = last.then(async () => {
            const message = await answer(JSON.parse(body));
            const choice = {index: 0, message, finish_reason: message.tool_calls ? "tool_calls" : "stop"};
            const usage = {prompt_tokens: 0, completion_tokens: 0, total_tokens: 0};
            response.setHeader("content-type", "application/json");
            response.end(JSON.stringify({id: "1", object: "chat.completion", created: 0, model: "small", choices: [choice], usage}));
        }).catch((error) => {
            response.statusCode = 500;
            response.end(JSON.stringify({error: {message: String(error)}}));
        });
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
