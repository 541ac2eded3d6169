// The official TypeScript client with its tasks package: calls that wait for a person are tasks, and their ends are
// fetched by the package's own means. The person is whoever reads this program's words: `approve` and `deny` ask for one.
//
//     typescript_tasks.mjs check stdio|http client CASES

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { check, must, say, texts } from "./say.mjs";

const [, over, , casesFile] = process.argv.slice(2);
const { CALLGATE, CALLGATE_HOME, CALLGATE_URL, CALLGATE_TOKEN, CALLGATE_NPM } = process.env;
const { held, calls } = JSON.parse(readFileSync(casesFile, "utf8"));
// The package is for `import` only, and stands in a folder of its own.
const entry = (name) => pathToFileURL(`${CALLGATE_NPM}/node_modules/@modelcontextprotocol/${name}`).href;
const { createTaskSessionFromClient, resultFromTaskOutcome } = await import(entry("ext-tasks/dist/client/index.js"));
const { Client, StreamableHTTPClientTransport } = await import(entry("client/dist/index.mjs"));
const { StdioClientTransport } = await import(entry("client/dist/stdio.mjs"));

const info = { name: "typescript-tasks", version: "1" };
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Requests whose wire shapes the client does not know, over the client's own transport and under ids of their own. */
class Raw {
  open = new Map();
  asked = [];

  constructor(transport) {
    this.transport = transport;
    const heard = transport.onmessage;
    transport.onmessage = (message, extra) => {
      const settle = message.method === undefined && this.open.get(message.id);
      if (!settle) return heard(message, extra);
      this.open.delete(message.id);
      settle(message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result });
    };
  }

  dispatch = async (request) => {
    const id = `raw:${this.asked.length}`;
    this.asked.push(request.method);
    const answer = new Promise((settle) => this.open.set(id, settle));
    await this.transport.send({ jsonrpc: "2.0", id, ...request });
    return answer;
  };

  count(method) {
    return this.asked.filter((it) => it === method).length;
  }
}

const client = new Client(info, { versionNegotiation: { mode: "auto" }, capabilities });
const transport = over === "stdio"
  ? new StdioClientTransport({ command: CALLGATE, args: ["stdio", "--host", "tasks"], env: { CALLGATE_HOME, PATH: process.env.PATH } })
  : new StreamableHTTPClientTransport(new URL(CALLGATE_URL), { requestInit: { headers: { Authorization: `Bearer ${CALLGATE_TOKEN}` } } });
await client.connect(transport);
const raw = new Raw(transport);
const session = createTaskSessionFromClient(client, {
  endpointId: CALLGATE_URL,
  rawDispatch: raw.dispatch,
  v2RequestFraming: { protocolVersion: client.getNegotiatedProtocolVersion(), clientInfo: info, clientCapabilities: capabilities },
  onError: (error) => say("failed", "nothing goes wrong beside the calls", String(error.stack ?? error).slice(0, 900)),
});

/** A call that waits. */
async function begin(mark) {
  const execution = await session.callTool(held.tool, { entities: [{ ...held.entity, name: `${mark}-${over}` }] });
  must(execution.kind === "task", `it is ${execution.kind}`);
  return execution;
}

await check("what needs no person is answered at once", async () => {
  const { tool, arguments: args, text } = calls[0];
  const execution = await session.callTool(tool, args);
  must(execution.kind === "immediate", execution.kind);
  const result = resultFromTaskOutcome((await execution.settle()).outcome);
  must(texts(result.content).includes(text), result);
});
await check("a call that waits is a task, and its result is fetched when it was approved", async () => {
  const execution = await begin("asked");
  say("approve", "");
  const { outcome, lastTask } = await execution.settle();
  must(texts(resultFromTaskOutcome(outcome).content).includes(`asked-${over}`), outcome);
  must(lastTask.status === "completed" && raw.count("tasks/get") > 0, lastTask);
});
await check("whoever listens is told, without asking for it", async () => {
  const execution = await begin("told");
  const subscription = await client.listen({ taskIds: [execution.handle.taskId] });
  const seen = [];
  const settled = execution.settle({ onEvent: (event) => { if (event.type === "task") seen.push(event.task.statusMessage); } });
  say("approve", "");
  const { outcome } = await settled;
  must(texts(resultFromTaskOutcome(outcome).content).includes(`told-${over}`), outcome);
  must(seen.some((it) => it?.startsWith("Waiting for a person")), seen);
  // Only whoever is told hears of the moment in which it runs; asking every two seconds misses it.
  must(seen.some((it) => it === "It is running." || it?.startsWith("Approved")), seen);
  await subscription.close();
});
await check("a denied task ends with the person's reason", async () => {
  const execution = await begin("denied");
  say("deny", "");
  const result = resultFromTaskOutcome((await execution.settle()).outcome);
  must(result.isError && texts(result.content).includes(held.reason), result);
});
await check("a task that is taken back is cancelled", async () => {
  const execution = await begin("back");
  await execution.cancel();
  const { outcome } = await execution.settle();
  must(outcome.status === "cancelled", outcome);
});
await check("a task is taken up again by its reference", async () => {
  const execution = await begin("later");
  let reference;
  await execution.handoff((it) => { reference = it; });
  say("approve", "");
  // It lets go of a task one turn after it says so.
  await new Promise(setImmediate);
  const resumed = await session.resumeTask(reference);
  must(texts(resultFromTaskOutcome((await resumed.settle()).outcome).content).includes(`later-${over}`), reference);
});
await session.close();
await client.close();
process.exit(0);
