// Node-RED with one flow file, without its editor, on a free port of this machine; the first line is its address.
const http = require("http");
const express = require("express");
const RED = require("node-red");

const [flowFile, userDir] = process.argv.slice(2);
const app = express();
const server = http.createServer(app);
RED.init(server, {
    flowFile, userDir, httpAdminRoot: false, httpNodeRoot: "/", disableEditor: true, telemetry: { enabled: false },
    logging: { told: { level: "info", handler: () => ({ msg }) => console.error(msg) } },
});
app.use("/", RED.httpNode);
RED.events.once("flows:started", () => {
    server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
});
RED.start();
