// Everything that the fixture offers, asked by the official TypeScript SDK over stdio: one JSON line for each thing, so
// that two runs can be compared. The suite itself only speaks HTTP.
//
//     stdio_door.mjs NPM_FOLDER sdk|client COMMAND ARGS…

import { createRequire } from "node:module";

const [npm, line, command, ...args] = process.argv.slice(2);
const load = createRequire(`${npm}/package.json`);
const at = "@modelcontextprotocol/";
const { Client, StdioClientTransport } = line === "client"
  ? { ...load(`${at}client`), ...load(`${at}client/stdio`) }
  : { ...load(`${at}sdk/client/index.js`), ...load(`${at}sdk/client/stdio.js`) };

const VALUES = { prompt: "p", message: "m", region: "eu", arg1: "one", arg2: "two", resourceUri: "test://static-text" };
const ARGUMENTS = { json_schema_2020_12_tool: { email: "a@example.com" } };
// What the hub adds under names of its own is left out of the comparison.
const isOwn = (key) => key.startsWith("dev.callgate/");
const plain = (key, value) => (isOwn(key) || (key === "_meta" && Object.keys(value ?? {}).every(isOwn)) ? undefined : value);

async function tell(what, step) {
  let outcome;
  try {
    outcome = { result: await step() };
  } catch (error) {
    outcome = { error: { code: error.code, message: String(error.message ?? error) } };
  }
  console.log(JSON.stringify({ what, ...outcome }, plain));
  return outcome.result;
}

const required = (schema) => Object.fromEntries((schema.required ?? []).map((name) => [name, VALUES[name] ?? "x"]));

const client = new Client({ name: "stdio-door", version: "1" }, line === "client" ? { versionNegotiation: { mode: "auto" } } : {});
const env = { CALLGATE_HOME: process.env.CALLGATE_HOME ?? "", PATH: process.env.PATH };
await client.connect(new StdioClientTransport({ command, args, env }));

// All lists first: some tools change them.
const { tools } = await tell("list:tools", () => client.listTools());
const { resources } = await tell("list:resources", () => client.listResources());
const { resourceTemplates } = await tell("list:templates", () => client.listResourceTemplates());
const { prompts } = await tell("list:prompts", () => client.listPrompts());
for (const { name, inputSchema } of tools) {
  const given = ARGUMENTS[name] ?? required(inputSchema);
  await tell(`tool:${name}`, () => client.callTool({ name, arguments: given }));
}
const filled = resourceTemplates.map(({ uriTemplate }) => uriTemplate.replace(/\{[^}]*\}/g, "7"));
for (const uri of [...resources.map(({ uri }) => uri), ...filled]) {
  await tell(`resource:${uri}`, () => client.readResource({ uri }));
}
for (const { name, arguments: wanted = [] } of prompts) {
  const given = Object.fromEntries(wanted.map(({ name }) => [name, VALUES[name] ?? "x"]));
  await tell(`prompt:${name}`, () => client.getPrompt({ name, arguments: given }));
  for (const { name: argument } of wanted) {
    const ref = { type: "ref/prompt", name };
    await tell(`completion:${name}:${argument}`, () => client.complete({ ref, argument: { name: argument, value: "t" } }));
  }
}
await client.close();
