// Runs the search of the site as a browser does: node search_site.js SITE < ["words", ...]
// Prints the pages of the hits for each query, best first.
const fs = require("fs"), path = require("path"), vm = require("vm");

const site = process.argv[2];
const folder = path.join(site, "assets", "javascripts", "workers");
const script = fs.readdirSync(folder).find(name => /^search\..*\.js$/.test(name));
let receive, reply;
const worker = {
  addEventListener: (_, listener) => receive = listener,
  postMessage: message => reply(message),
  importScripts: () => {},
  console,
};
worker.self = worker;
vm.runInNewContext(fs.readFileSync(path.join(folder, script), "utf8"), worker);
const send = data => new Promise(resolve => { reply = resolve; receive({data}); });

(async () => {
  // the file that pages opened from disk load
  const context = {};
  vm.runInNewContext(fs.readFileSync(path.join(site, "search", "search_index.js"), "utf8"), context);
  await send({type: 0, data: {...context.__index, options: {suggest: false}}});
  const pages = {};
  for (const words of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const {data} = await send({type: 2, data: words});
    pages[words] = data.items.map(([first]) => first.location.split("#")[0]);
  }
  console.log(JSON.stringify(pages));
})();
