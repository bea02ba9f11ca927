// A Stripe that keeps idempotency keys, on a free port of this machine alone; the first line is its address.
const { createExpressApp } = require("stripe-stateful-mock");

const server = createExpressApp().listen(0, "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${server.address().port}`);
});
