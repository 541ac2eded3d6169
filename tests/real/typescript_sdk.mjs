// The official TypeScript SDKs as hosts: `sdk` (1.x, stateful) and `client` (2.x, which tries the stateless revision
// first). `check` goes through all cases; `hold` stays attached and calls when it is told to.
//
//     typescript_sdk.mjs check|hold stdio|http sdk|client CASES

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { check, must, say, texts } from "./say.mjs";

const [mode, over, line, casesFile] = process.argv.slice(2);
const { CALLGATE, CALLGATE_HOME, CALLGATE_URL, CALLGATE_TOKEN, CALLGATE_NPM } = process.env;
const cases = JSON.parse(readFileSync(casesFile, "utf8"));
const load = createRequire(`${CALLGATE_NPM}/package.json`);
const info = { name: "typescript", version: "1" };

/** The classes of one line of the SDK. */
function classes() {
  const at = "@modelcontextprotocol/";
  if (line === "client") {
    const { Client, StreamableHTTPClientTransport } = load(`${at}client`);
    return { Client, StreamableHTTPClientTransport, StdioClientTransport: load(`${at}client/stdio`).StdioClientTransport };
  }
  return {
    ...load(`${at}sdk/client/index.js`),
    ...load(`${at}sdk/client/stdio.js`),
    ...load(`${at}sdk/client/streamableHttp.js`),
  };
}

async function connect(server) {
  const { Client, StdioClientTransport, StreamableHTTPClientTransport } = classes();
  const client = new Client(info, line === "client" ? { versionNegotiation: { mode: "auto" } } : {});
  const view = server ? ["--server", server] : [];
  const env = { CALLGATE_HOME, PATH: process.env.PATH };
  const headers = { Authorization: `Bearer ${CALLGATE_TOKEN}` };
  const transport = over === "stdio"
    ? new StdioClientTransport({ command: CALLGATE, args: ["stdio", "--host", "typescript", ...view], env })
    : new StreamableHTTPClientTransport(new URL(CALLGATE_URL + (server ? `/s/${server}` : "")), { requestInit: { headers } });
  await client.connect(transport);
  return client;
}

async function called(client, { tool, arguments: args, text, error = false, structured = false }) {
  const result = await client.callTool({ name: tool, arguments: args });
  const heard = texts(result.content);
  must(heard.includes(text), heard.slice(0, 300));
  must(Boolean(result.isError) === error, heard.slice(0, 300));
  must(!structured || result.structuredContent, "no structured content");
}

async function checkAll() {
  const client = await connect();
  if (line === "client") {
    const version = client.getNegotiatedProtocolVersion();
    await check("speaks the stateless revision", async () => must(version === "2026-07-28", version));
  }
  await check("lists every tool once", async () => {
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    must(new Set(names).size === names.length && names.length >= cases.least_tools, `${names.length} tools`);
    const missing = cases.calls.map((it) => it.tool).filter((name) => !names.includes(name));
    must(missing.length === 0, missing);
  });
  for (const it of cases.calls) {
    await check(`calls ${it.tool}${it.error ? ", which fails" : ""}`, () => called(client, it));
  }
  await check("lists resources and templates", async () => {
    const { resources } = await client.listResources();
    must(resources.some((it) => it.uri === cases.resources[0].uri), resources);
    const { resourceTemplates } = await client.listResourceTemplates();
    must(resourceTemplates.some((it) => it.uriTemplate === cases.template), resourceTemplates);
  });
  for (const { uri, text } of cases.resources) {
    await check(`reads ${uri}`, async () => {
      const { contents } = await client.readResource({ uri });
      must(texts(contents).includes(text), contents);
    });
  }
  for (const it of cases.prompts) {
    await check(`gets the prompt ${it.name}`, async () => {
      const { prompts } = await client.listPrompts();
      must(prompts.some((prompt) => prompt.name === it.name), prompts);
      const { messages } = await client.getPrompt({ name: it.name, arguments: it.arguments });
      must(texts(messages.map((message) => message.content)).includes(it.text), messages);
    });
  }
  await check("completes an argument", async () => {
    const { prompt, argument, value, hears } = cases.completion;
    const { completion } = await client.complete({ ref: { type: "ref/prompt", name: prompt }, argument: { name: argument, value } });
    must(completion.values.includes(hears), completion);
  });
  await check("hears progress in order", async () => {
    const seen = [];
    const request = { name: cases.progress.tool, arguments: cases.progress.arguments };
    const options = { onprogress: ({ progress }) => seen.push(progress) };
    await (line === "client" ? client.callTool(request, options) : client.callTool(request, undefined, options));
    const sorted = seen.every((it, at) => at === 0 || it > seen[at - 1]);
    // Both lines hand a notice on one turn later than a result that came in the same read: they may miss the last one.
    must(sorted && seen.length >= cases.progress.steps - 1 && seen.length <= cases.progress.steps, seen);
  });
  await client.close();
  await check("sees one server under its own names", async () => {
    const own = await connect("everything");
    const names = (await own.listTools()).tools.map((tool) => tool.name);
    must(names.includes("echo") && !names.some((name) => name.includes("__")), names);
    must(texts((await own.callTool({ name: "echo", arguments: { message: "own name" } })).content).includes("own name"), "echo");
    await own.close();
  });
}

/** Ten at once: each answer belongs to its own question. */
async function tenCalls(client) {
  const echo = async (n) => {
    const message = `${process.pid}-${n}`;
    const heard = texts((await client.callTool({ name: "everything__echo", arguments: { message } })).content);
    must(heard === `Echo: ${message}`, heard);
  };
  const others = cases.calls.filter((it) => !it.error && it.tool !== "everything__echo").slice(0, 5);
  await Promise.all([...[0, 1, 2, 3, 4].map(echo), ...others.map((it) => called(client, it))]);
}

/** Leaves a call open: it will be lost, which must be said and not hang. */
async function openCall(client) {
  const name = "everything__trigger-long-running-operation";
  const call = client.callTool({ name, arguments: { duration: 60, steps: 2 } }).then((result) => result.isError, () => true);
  await client.callTool({ name: "everything__echo", arguments: { message: "sent after it" } });
  say("open", "");
  const late = new Promise((done) => setTimeout(done, 20_000, "it hangs"));
  await check("a call lost with its hub is told", async () => must((await Promise.race([call, late])) === true, "it hangs"));
}

async function hold() {
  const client = await connect();
  await client.listTools();
  say("attached", "");
  for await (const word of createInterface({ input: process.stdin })) {
    if (word === "go") await check("ten calls at once", () => tenCalls(client));
    else await openCall(client);
  }
  await client.close();
}

await (mode === "check" ? checkAll() : hold());
process.exit(0);
