// A client of the SDK for TypeScript, 1.x or 2.x: does what standard input asks for, and prints what came of it as JSON.
const { createRequire } = require("module");
const { readFileSync } = require("fs");

const [, , folder, version] = process.argv;
const from = createRequire(`${folder}/`);
const sdk = version === "1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client, StreamableHTTPClientTransport: Http2 } = from(version === "1" ? `${sdk}/index.js` : sdk);
const { StdioClientTransport } = from(version === "1" ? `${sdk}/stdio.js` : `${sdk}/stdio`);
const Http = version === "1" ? from(`${sdk}/streamableHttp.js`).StreamableHTTPClientTransport : Http2;

async function main() {
  const plan = JSON.parse(readFileSync(0, "utf-8"));
  const { target } = plan;
  const client = new Client({ name: "test", version: "1" });
  const transport = target.url ? new Http(new URL(target.url)) : new StdioClientTransport({ ...target, stderr: "ignore" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const heard = [];
  const calls = [];
  for (const [name, args] of plan.calls) {
    const options = { onprogress: ({ progress, total }) => heard.push([progress, total]) };
    const params = { name, arguments: args };
    const made = version === "1" ? client.callTool(params, undefined, options) : client.callTool(params, options);
    calls.push(await made.catch((error) => `${error}`));
  }
  await client.close();
  console.log(JSON.stringify({ tools, calls, heard }));
}

main();
